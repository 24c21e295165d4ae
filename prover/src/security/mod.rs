//! How secure a proof is: three figures, each with the term that binds it and the regime it holds in.
//!
//! - *naive*: `log_blowup × queries + query grinding`, what most tools print. Its conjecture was refuted
//!   in the form that goes up to capacity (eprint 2025/2010, 2025/2046).
//! - *conjectured*: round-by-round soundness with the random-words heuristic for the queries (eprint
//!   2025/2010 §1.5) and lists of one element, as `p3-security` composes it.
//! - *proven*: round-by-round soundness by theorems, in the unique-decoding or in the Johnson regime,
//!   whichever gives more.
//!
//! Attained is the least of all rounds (eprint 2024/1553 §2) and, of a recursive proof, the least of all
//! proofs below it: whoever forges one of them has forged the statement. [`mod@terms`] has an equation
//! and a source for every round, and says where it is more careful than `p3-security` 0.8.0.
//!
//! All of it takes Poseidon2 for a random oracle, inside of circuits too, and stands for the protocol
//! as designed: nobody has audited the code.

mod forecast;
mod layers;
mod policy;
mod reach;
mod regimes;
mod report;
mod sizes;
pub mod soundcalc;
pub mod terms;

use std::sync::Arc;

pub use forecast::forecast;
pub use policy::{DEFAULT_MIN_PROVEN_BITS, Policy};
pub(crate) use reach::reach;
pub use report::{Figure, LayerSecurity, Regime, RegimeTerms, SecurityReport, Term, TermBits};
pub use sizes::{Openings, Round, Sizes};

use crate::cache::Cache;
use crate::error::ProverError;
use crate::observer::Observer;
use crate::tree::{PreparedProof, ProofSpec};

/// The report of a proof that may not exist yet. Prepares the circuits that are not in `cache`, whose
/// heights the figures depend on, and leaves them there; proves nothing.
///
/// Errors: refused parameters, a circuit that cannot be built, or the observer's wish to stop.
pub fn report(
    spec: &ProofSpec,
    cache: &Cache,
    observer: &Arc<dyn Observer>,
) -> Result<SecurityReport, ProverError> {
    PreparedProof::prepare(spec, cache, observer).map(|prepared| SecurityReport::of(&prepared))
}
