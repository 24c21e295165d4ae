//! Base proofs, chains of recursion layers, proof files and their verification.
//!
//! A [`Job`] says what is wanted and leaves most of it to a [`Preset`]; resolving it gives a
//! [`ChainSpec`], which determines every circuit and every key. [`chain::prove`] makes the proof,
//! [`ChainProof::write`] the file, and [`verify_bytes`] checks one from its bytes alone.

pub mod base;
pub mod budget;
pub mod cache;
pub mod chain;
pub mod clock;
pub mod error;
pub mod estimate;
pub mod format;
pub mod fri;
pub mod job;
mod json;
pub mod key;
pub mod memory;
pub mod observer;
pub mod params;
pub mod preset;
pub mod proof;
pub mod report;
pub mod security;
pub mod statement;
mod step;
pub mod tree;
pub mod verify;
pub mod work;

pub use cache::{Cache, CacheStats};
pub use chain::{ChainProof, PreparedChain};
pub use error::{ParamError, ProverError};
pub use estimate::{Estimate, available_memory, check_memory, estimate};
pub use format::{FORMAT_VERSION, FormatError, Header, Limits, ProofFile};
pub use job::{BaseJob, FriOverrides, Job, LastJob, Leaf, Recursion};
pub use observer::{Observer, PhaseName, PreparedInfo, Silent};
pub use params::{BaseSpec, ChainSpec, Program};
pub use preset::{BasePresets, Preset};
pub use proof::FinalProof;
pub use report::{LayerKind, LayerReport, TableReport, Timings};
pub use security::{Figure, LayerSecurity, Policy, SecurityReport};
pub use statement::{BaseStatement, Claimed, Expected, StatedFri, Statement};
pub use step::Proved;
pub use verify::{FailureClass, Verified, VerifyFailure, VerifyOptions, verify_bytes};
pub use work::{Work, WorkKind, WorkNode};
