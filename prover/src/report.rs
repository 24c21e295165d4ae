//! What a layer took, for people and for machines.

use std::fmt;

use arbor_circuits::config::FriConfig;
use arbor_circuits::layer::TableStats;
use serde::{Deserialize, Serialize};

/// The report of one proof of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LayerReport {
    /// Which layer, 0 being the base.
    pub layer: usize,
    /// What the layer is.
    pub kind: LayerKind,
    /// Place in a tree, as `level/index`; a chain has none.
    pub node: Option<String>,
    /// Wall times.
    pub timings_ms: Timings,
    /// Sizes of its tables.
    pub tables: Vec<TableReport>,
    /// Rows of the hash table that hash something; 0 for a base proof.
    pub permutations: usize,
    /// Queries of the proof.
    pub queries: usize,
    /// Length of the encoded proof.
    pub proof_bytes: usize,
    /// Page faults without input or output, of the whole process, while the proof was made.
    pub minor_faults: u64,
    /// Peak of resident memory of the whole process; since this proof began, where the kernel lets
    /// the peak be reset, else since the process began.
    pub peak_bytes: u64,
}

/// What a proof is in its chain or tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// A base computation.
    Base,
    /// A layer over one proof.
    Layer,
    /// A layer over several.
    Merge,
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base => "base",
            Self::Layer => "layer",
            Self::Merge => "merge",
        })
    }
}

/// Wall times in milliseconds. `restore` to `open` are the parts of `total`; `prepare` and `verify`
/// are not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Timings {
    /// Compiling the circuit and committing to its preprocessed columns; 0 if it was in the cache.
    pub prepare: f64,
    /// Native checks and restoring of Merkle paths; 0 for a base proof.
    pub restore: f64,
    /// Filling the tables; of a base proof: generating the trace.
    pub fill: f64,
    /// Committing to the main trace, with everything before it.
    pub commit: f64,
    /// Building and committing to the LogUp trace; 0 without lookups.
    pub logup: f64,
    /// Computing and committing to the quotient.
    pub quotient: f64,
    /// Opening everything.
    pub open: f64,
    /// Verifying the proof natively.
    pub verify: f64,
    /// Restore, fill and prove, measured as a whole.
    pub total: f64,
}

/// Size of one table, in base-field columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TableReport {
    /// Name of the table.
    pub name: String,
    /// Log of the height.
    pub log_height: usize,
    /// Main columns.
    pub main: usize,
    /// Preprocessed columns.
    pub preprocessed: usize,
    /// Columns of the LogUp trace.
    pub aux: usize,
    /// Cells committed to for each proof, blowup included: main, LogUp and quotient.
    pub lde_cells: u64,
}

impl TableReport {
    /// The report of a table whose proof has these parameters.
    #[must_use]
    pub fn new(stats: &TableStats, fri: &FriConfig) -> Self {
        let online = (stats.main + stats.aux + stats.quotient) as u64;
        Self {
            name: stats.name.to_owned(),
            log_height: stats.log_height,
            main: stats.main,
            preprocessed: stats.preprocessed,
            aux: stats.aux,
            lde_cells: online << (stats.log_height + fri.log_blowup),
        }
    }

    /// The reports of several tables.
    #[must_use]
    pub fn all(stats: &[TableStats], fri: &FriConfig) -> Vec<Self> {
        stats.iter().map(|table| Self::new(table, fri)).collect()
    }
}
