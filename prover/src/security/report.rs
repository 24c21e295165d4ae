//! The report: figures of every distinct proof, and the least of each over all of them.

use std::fmt;

use arbor_circuits::config::FriConfig;
use serde::Serialize;

use super::sizes::Sizes;

/// What soundness is argued from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// Queries times the log of the blowup: refuted up to capacity, for comparison with other tools only.
    Naive,
    /// The random-words heuristic for queries, lists of one element.
    Conjectured,
    /// Theorems, up to half the minimum distance of the code.
    UniqueDecoding,
    /// Theorems, up to the Johnson radius.
    Johnson,
}

impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Naive => "naive",
            Self::Conjectured => "conjectured",
            Self::UniqueDecoding => "unique decoding",
            Self::Johnson => "Johnson",
        })
    }
}

/// A round of the protocol that a forger can attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// The challenge that batches the constraints.
    Constraints,
    /// The out-of-domain point; grinding: `ood_pow_bits`.
    OutOfDomain,
    /// The challenges of the LogUp lookups; grinding: `lookup_pow_bits`.
    Lookup,
    /// The challenge that batches the openings; grinding: `batch_pow_bits`.
    Batching,
    /// The folding challenges of FRI; grinding: `commit_pow_bits`.
    Folding,
    /// The queries of FRI; grinding: `query_pow_bits`.
    Queries,
    /// Collisions of the hash.
    Hash,
}

impl Term {
    /// Field of the FRI parameters with the grinding of this round; none if nothing is ground there.
    #[must_use]
    pub const fn grinding_site(self) -> Option<&'static str> {
        match self {
            Self::OutOfDomain => Some("ood_pow_bits"),
            Self::Lookup => Some("lookup_pow_bits"),
            Self::Batching => Some("batch_pow_bits"),
            Self::Folding => Some("commit_pow_bits"),
            Self::Queries => Some("query_pow_bits"),
            Self::Constraints | Self::Hash => None,
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constraints => "constraints",
            Self::OutOfDomain => "out-of-domain point",
            Self::Lookup => "lookups",
            Self::Batching => "batching",
            Self::Folding => "folding",
            Self::Queries => "queries",
            Self::Hash => "hash collisions",
        })
    }
}

/// Bits of security, and what they hang on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Bits, rounded down to one decimal.
    pub bits: f64,
    /// What they are argued from.
    pub regime: Regime,
    /// The round that binds.
    pub term: Term,
    /// The proof that binds: `base`, `layer 2`, or `node 3/0` of a tree. A finished proof inside of a
    /// tree is named by its leaf first: `node 0/2, layer 1`.
    pub layer: String,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bits, regime, term, layer } = self;
        write!(f, "{bits:.1} bits ({regime}; bound by {term} of {layer})")
    }
}

/// Bits of one round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TermBits {
    /// The round.
    pub term: Term,
    /// Bits, not rounded.
    pub bits: f64,
}

/// Every round in one regime.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegimeTerms {
    /// The regime.
    pub regime: Regime,
    /// Multiplicity of the Johnson regime, chosen for the most bits: agreement is
    /// `(1 + 1/2m)·√rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub m: Option<usize>,
    /// The rounds.
    pub terms: Vec<TermBits>,
}

impl RegimeTerms {
    /// The least of all rounds, rounded down.
    #[must_use]
    pub fn figure(&self, layer: &str) -> Figure {
        let least = self.terms.iter().min_by(|a, b| a.bits.total_cmp(&b.bits));
        let TermBits { term, bits } =
            least.copied().unwrap_or(TermBits { term: Term::Queries, bits: 0.0 });
        let bits = round_down(bits);
        Figure { bits, regime: self.regime, term, layer: layer.to_owned() }
    }

    /// The least of all rounds, not rounded.
    #[must_use]
    pub fn bits(&self) -> f64 {
        self.terms.iter().map(|term| term.bits).fold(f64::INFINITY, f64::min)
    }

    /// Bits of one round, if the proof has it.
    #[must_use]
    pub fn term(&self, term: Term) -> Option<f64> {
        self.terms.iter().find(|bits| bits.term == term).map(|bits| bits.bits)
    }
}

/// The figures of one proof, and of all with the same circuit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSecurity {
    /// The first proof of this circuit, named as in [`Figure::layer`].
    pub layer: String,
    /// How many proofs have it.
    pub proofs: usize,
    /// By the usual count.
    pub naive: Figure,
    /// With the random-words heuristic.
    pub conjectured: Figure,
    /// By theorems: the better of two regimes.
    pub proven: Figure,
    /// FRI parameters and grinding.
    pub fri: FriConfig,
    /// What else the figures depend on.
    pub sizes: Sizes,
    /// Every round: conjectured, unique decoding and, unless the trace is too short for it, Johnson.
    pub regimes: Vec<RegimeTerms>,
}

impl LayerSecurity {
    /// The rounds in `regime`.
    #[must_use]
    pub fn regime(&self, regime: Regime) -> Option<&RegimeTerms> {
        self.regimes.iter().find(|terms| terms.regime == regime)
    }
}

/// The security of a proof with everything below it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecurityReport {
    /// The least by the usual count.
    pub naive: Figure,
    /// The least with the random-words heuristic.
    pub conjectured: Figure,
    /// The least by theorems.
    pub proven: Figure,
    /// Every distinct circuit below, bases and finished proofs included, the lowest first.
    pub layers: Vec<LayerSecurity>,
}

impl SecurityReport {
    /// The report over `layers`, which are all proofs there are, at least one.
    pub(super) fn over(layers: Vec<LayerSecurity>) -> Self {
        let least = |of: fn(&LayerSecurity) -> &Figure| {
            let figures = layers.iter().map(of);
            figures.min_by(|a, b| a.bits.total_cmp(&b.bits)).cloned()
        };
        let (naive, conjectured, proven) = (
            least(|layer| &layer.naive),
            least(|layer| &layer.conjectured),
            least(|layer| &layer.proven),
        );
        match (naive, conjectured, proven) {
            (Some(naive), Some(conjectured), Some(proven)) => {
                Self { naive, conjectured, proven, layers }
            }
            _ => unreachable!("a proof has at least one circuit"),
        }
    }

    /// The figures in words, one a line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        vec![
            format!("proven security {}", self.proven),
            format!("conjectured security {}", self.conjectured),
            format!("naive count {}", self.naive),
        ]
    }
}

/// Down to one decimal.
pub(super) fn round_down(bits: f64) -> f64 {
    (bits * 10.0).floor() / 10.0
}
