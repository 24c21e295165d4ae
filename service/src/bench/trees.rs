//! Trees: the merges that the figures are about, and what a leaf costs in trees of several sizes.

use std::sync::Arc;

use arbor_prover::tree::{
    self, LeafProof, LeafSpec, PreparedTree, ProofSpec, RunOptions, TreeProof, TreeSpec,
};
use arbor_prover::{
    BaseJob, Cache, Job, LayerKind, LayerReport, Limits, Observer, ProofFile, Recursion, Silent,
    TableReport, Timings, VerifyFailure,
};
use serde::Serialize;

use super::figures::median;
use super::{Bench, Work};
use crate::cli::tree_args::LEAF_ELEMENT;
use crate::error::CliError;

/// Level from which on every merge verifies merges of its own shape.
const STEADY_LEVEL: usize = 3;
/// Trees of [`Work::Leaves`]: arity, and how many levels.
const SIZES: [(usize, usize); 8] = [(2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (8, 1), (8, 2)];

/// What the trees of one arity take in every run: the proof of a tree of two levels, so that a tree over
/// copies of it is what a tree of three levels is above its second.
pub(super) struct Tree {
    pub(super) work: Work,
    arity: usize,
    below: TreeSpec,
    file: ProofFile,
}

/// What a leaf costs in one tree.
#[derive(Clone, Debug, Serialize)]
pub struct LeafCost {
    /// Leaves.
    pub leaves: usize,
    /// Proofs that one layer merges.
    pub arity: usize,
    /// Levels of merging.
    pub depth: usize,
    /// Proofs that were made.
    pub proofs: usize,
    /// Restore, fill and prove of every proof, the leaves included.
    pub total_ms: f64,
    /// The same for each leaf.
    pub leaf_ms: f64,
    /// The same in base proofs of 1,000 Keccak permutations.
    pub leaf_over_base: f64,
    /// Cells committed to online for each leaf, over all proofs: the same on every machine.
    pub leaf_cells: u64,
    /// Length of the root's proof.
    pub proof_bytes: usize,
    /// Peak of resident memory of the process while the tree was proved.
    pub peak_bytes: u64,
}

impl Work {
    /// Proofs that one layer of this work merges; none of a chain.
    pub(super) const fn arity(self) -> Option<usize> {
        match self {
            Self::Tree2 => Some(2),
            Self::Tree8 => Some(8),
            Self::Keccak | Self::Fibonacci | Self::Leaves | Self::Service | Self::Proven100 => None,
        }
    }

    /// Its name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Keccak => "keccak",
            Self::Fibonacci => "fibonacci",
            Self::Tree2 => "tree2",
            Self::Tree8 => "tree8",
            Self::Leaves => "leaves",
            Self::Service => "service",
            Self::Proven100 => "proven100",
        }
    }

    /// Names of the figures of a tree: its first merge, and a steady one.
    pub(super) const fn tree_figures(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Tree2 => Some(["tree2_first_over_base", "tree2_next_over_base"]),
            Self::Tree8 => Some(["tree8_first_over_base", "tree8_next_over_base"]),
            Self::Keccak | Self::Fibonacci | Self::Leaves | Self::Service | Self::Proven100 => None,
        }
    }
}

impl Bench<'_> {
    /// Proves, once and untimed, what the steady merges of every tree to measure verify.
    pub(super) fn trees(&self, cache: &Cache) -> Result<Vec<Tree>, CliError> {
        let trees = self.work.iter().filter_map(|&work| Some((work, work.arity()?)));
        trees.map(|(work, arity)| self.tree(work, arity, cache)).collect()
    }

    fn tree(&self, work: Work, arity: usize, cache: &Cache) -> Result<Tree, CliError> {
        let below = self.tree_spec(arity, STEADY_LEVEL - 1)?;
        let bytes = prove(&below, Vec::new(), cache)?.to_bytes()?;
        let file = ProofFile::parse(&bytes, &Limits::default()).map_err(VerifyFailure::from)?;
        Ok(Tree { work, arity, below, file })
    }

    /// One run of one tree: a leaf, a merge of leaves, a steady merge.
    pub(super) fn run_tree(
        &self,
        tree: &Tree,
        cache: &Cache,
    ) -> Result<Vec<LayerReport>, CliError> {
        let first = prove(&self.tree_spec(tree.arity, 1)?, Vec::new(), cache)?;
        let over = LeafSpec::Proof(Box::new(ProofSpec::Tree(tree.below.clone())));
        let spec = TreeSpec { leaves: vec![over; tree.arity], ..tree.below.clone() };
        let next = prove(&spec, tree.copies()?, cache)?;
        // The leaf in the middle: the first one warms up.
        let leaf = first.reports.get(tree.arity / 2).cloned();
        let steady = next.reports.last().cloned().map(|report| LayerReport {
            layer: STEADY_LEVEL,
            node: Some(format!("{STEADY_LEVEL}/0")),
            ..report
        });
        Ok(leaf.into_iter().chain(first.reports.last().cloned()).chain(steady).collect())
    }

    /// Leaf and merges of a tree that is compiled and not proved.
    pub(super) fn tree_sizes(
        &self,
        arity: usize,
        cache: &Cache,
    ) -> Result<Vec<LayerReport>, CliError> {
        let spec = self.tree_spec(arity, STEADY_LEVEL)?;
        let observer: Arc<dyn Observer> = Arc::new(Silent);
        let tree = tree::prepare(&spec, cache, &observer)?;
        let nodes = tree.plan().nodes.iter().enumerate();
        let firsts = nodes.filter(|(_, node)| node.id.index == 0);
        Ok(firsts.map(|(position, _)| compiled(&spec, &tree, position)).collect())
    }

    /// What a leaf costs in trees of 2 to 64 leaves; medians over the runs.
    pub(super) fn leaf_costs(
        &self,
        base_ms: f64,
        cache: &Cache,
    ) -> Result<Vec<LeafCost>, CliError> {
        SIZES.iter().map(|&(arity, depth)| self.leaf_cost(arity, depth, base_ms, cache)).collect()
    }

    fn leaf_cost(
        &self,
        arity: usize,
        depth: usize,
        base_ms: f64,
        cache: &Cache,
    ) -> Result<LeafCost, CliError> {
        let spec = self.tree_spec(arity, depth)?;
        let runs: Vec<TreeProof> =
            (0..self.runs).map(|_| prove(&spec, Vec::new(), cache)).collect::<Result<_, _>>()?;
        let total = |proof: &TreeProof| -> f64 {
            proof.reports.iter().map(|report| report.timings_ms.total).sum()
        };
        let total_ms = median(runs.iter().map(total));
        let leaf_ms = total_ms / spec.leaves.len() as f64;
        let reports = runs.last().map_or(&[][..], |proof| &proof.reports);
        let tables = reports.iter().flat_map(|report| &report.tables);
        let cells: u64 = tables.map(|table| table.lde_cells).sum();
        Ok(LeafCost {
            leaves: spec.leaves.len(),
            arity,
            depth,
            proofs: reports.len(),
            total_ms,
            leaf_ms,
            leaf_over_base: leaf_ms / base_ms,
            leaf_cells: cells / spec.leaves.len() as u64,
            proof_bytes: reports.last().map_or(0, |report| report.proof_bytes),
            peak_bytes: reports.iter().map(|report| report.peak_bytes).max().unwrap_or(0),
        })
    }

    /// A tree over `arity^depth` distinct Fibonacci leaves of 2^10 rows. Its root has the parameters of
    /// the other layers.
    pub(super) fn tree_spec(&self, arity: usize, depth: usize) -> Result<TreeSpec, CliError> {
        let job = Job {
            recursion: Recursion::Tree { arity, depth: Some(depth), leaves: None },
            ..Job::chain(BaseJob::fibonacci(LEAF_ELEMENT, 0, 1), 0)
        };
        match self.fri.resolve_any(job, Vec::new())? {
            ProofSpec::Tree(spec) => Ok(TreeSpec { last_fri: spec.layer_fri, ..spec }),
            ProofSpec::Chain(_) => Err(arbor_prover::ParamError::NotATree.into()),
        }
    }
}

impl Tree {
    /// The proof of the tree of two levels, once for every slot.
    fn copies(&self) -> Result<Vec<LeafProof>, CliError> {
        let results = self.file.header.statement.results();
        let copy = |_| {
            let proof = self.file.decode_proof().map_err(VerifyFailure::from)?;
            Ok(LeafProof { proof, results: results.clone() })
        };
        (0..self.arity).map(copy).collect()
    }
}

fn prove(spec: &TreeSpec, finished: Vec<LeafProof>, cache: &Cache) -> Result<TreeProof, CliError> {
    let observer: Arc<dyn Observer> = Arc::new(Silent);
    Ok(tree::prove(spec, finished, RunOptions::default(), cache, &observer)?)
}

/// The sizes of one node.
fn compiled(spec: &TreeSpec, tree: &PreparedTree, position: usize) -> LayerReport {
    let (kind, tables, fri, permutations) = match (tree.layer(position), spec.leaves.get(position))
    {
        (Some(layer), _) => (LayerKind::Merge, layer.tables(), *layer.fri(), layer.permutations()),
        (None, Some(LeafSpec::Base(base))) => {
            let tables = tree.base(position).map(|base| base.tables()).unwrap_or_default();
            (LayerKind::Base, tables, base.fri, 0)
        }
        (None, _) => (LayerKind::Base, Vec::new(), spec.layer_fri, 0),
    };
    let id = tree.plan().nodes[position].id;
    LayerReport {
        layer: id.level,
        kind,
        node: Some(id.to_string()),
        timings_ms: Timings::default(),
        tables: TableReport::all(&tables, &fri),
        permutations,
        queries: fri.num_queries,
        proof_bytes: 0,
        minor_faults: 0,
        peak_bytes: 0,
    }
}
