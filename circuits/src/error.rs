//! What can go wrong between a child proof and a layer over it.

use thiserror::Error;

/// A shape or a parameter set for which no circuit can be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    /// A parameter is outside what the circuits support.
    #[error("{parameter} = {got} is not supported: {allowed}")]
    Unsupported {
        /// The parameter, as in a job.
        parameter: &'static str,
        /// Its value.
        got: usize,
        /// What would be allowed, in words.
        allowed: String,
    },
    /// A table would be taller than the field has roots of unity for.
    #[error(
        "table {table} needs 2^{log_height} rows; with log_blowup {log_blowup} the field allows 2^{maximum}"
    )]
    TooTall {
        /// The table.
        table: &'static str,
        /// Log of the rows it needs.
        log_height: usize,
        /// Log of the blowup.
        log_blowup: usize,
        /// Log of the rows that would fit.
        maximum: usize,
    },
    /// A batch child whose public values would shift what follows them out of every window that the
    /// hash table provides.
    #[error("the {got} public values of a batch child must be a multiple of 4 in all")]
    PublicValueAlignment {
        /// Their number.
        got: usize,
    },
    /// The lookups of a child could balance by wrapping around the field.
    #[error("the lookups are not sound at these heights: {reason}")]
    Multiplicities {
        /// What Plonky3 said.
        reason: String,
    },
    /// The compiled program breaks a rule that the tables rely on: an error of ours.
    #[error("row {row} of the program breaks a rule: {rule}")]
    Malformed {
        /// The row of the hash table.
        row: usize,
        /// What it breaks.
        rule: &'static str,
    },
    /// More values on the bus than it has addresses for.
    #[error("the circuit needs {got} bus addresses, there are {maximum}")]
    Addresses {
        /// Values that the program writes.
        got: usize,
        /// Addresses below those of indexed tables.
        maximum: usize,
    },
    /// The commitment scheme refused the preprocessed columns.
    #[error("the preprocessed columns cannot be committed: {reason}")]
    Preprocessed {
        /// What it said.
        reason: String,
    },
}

/// A child proof that a layer cannot be filled from, or a proof that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProveError {
    /// Another number of children than the layer was prepared for.
    #[error("the layer verifies {expected} proofs, got {got}")]
    ChildCount {
        /// As prepared.
        expected: usize,
        /// As given.
        got: usize,
    },
    /// The proof has not the shape that the layer was prepared for.
    #[error("child {child}: {what}: expected {expected}, got {got}")]
    Shape {
        /// Which child.
        child: usize,
        /// Which length or value.
        what: &'static str,
        /// As prepared.
        expected: usize,
        /// As given.
        got: usize,
    },
    /// The proof is one of `p3-uni-stark` where one of `p3-batch-stark` is expected, or the reverse.
    #[error("child {child} is of the other proof system")]
    WrongSystem {
        /// Which child.
        child: usize,
    },
    /// The Merkle paths of a proof cannot be restored.
    #[error(
        "child {child}: tree {tree}: the Merkle multiproof does not fit its openings: {reason}"
    )]
    Paths {
        /// Which child.
        child: usize,
        /// Which tree, input batches first, then folding rounds.
        tree: usize,
        /// What Plonky3 said.
        reason: String,
    },
    /// The proof system refused the trace.
    #[error("the proof could not be made: {reason}")]
    Prover {
        /// What it said.
        reason: String,
    },
}

/// A proof that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerifyError {
    /// A length or a count is not the one that the key fixes.
    #[error("{what}: expected {expected}, got {got}")]
    Shape {
        /// Which length or value.
        what: &'static str,
        /// As the key has it.
        expected: usize,
        /// As the proof has it.
        got: usize,
    },
    /// The proof system rejects the proof.
    #[error("{reason}")]
    Rejected {
        /// What it said.
        reason: String,
    },
}
