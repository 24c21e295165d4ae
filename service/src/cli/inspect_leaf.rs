//! `arbor inspect --leaf`: that one leaf is in a proof, by the way from it to the root.
//!
//! The way needs the leaf's key and statement digest, and of every other slot on it three values: whether
//! it counts, its key, its statement digest. Whoever knows these and the root can repeat the check.

use std::path::Path;

use arbor_circuits::config::{Digest, F};
use arbor_circuits::statement::{Slot, node_digest};
use arbor_prover::key::to_hex;
use arbor_prover::tree::{PreparedProof, PreparedTree, ProofSpec, ProofStatement};
use arbor_prover::{
    Cache, FinalProof, Limits, Policy, PreparedChain, ProofFile, SecurityReport, Verified,
    VerifyFailure, VerifyOptions, format, verify, verify_bytes,
};
use serde::Serialize;

use super::Format;
use super::tree_plan::kind_name;
use crate::error::CliError;
use crate::output;

/// A leaf, and the way from it to the root of a proof that is valid.
#[derive(Serialize)]
struct Inclusion {
    leaf: usize,
    statement: ProofStatement,
    /// Digest of the leaf's verifying key, derived from the parameters.
    key: String,
    /// Digest of what the leaf states.
    statement_digest: String,
    steps: Vec<Step>,
    /// Where the way ends.
    root: String,
    /// Whether the proof in the file states that digest.
    included: bool,
    /// How secure the proof is that the leaf is in.
    security: SecurityReport,
}

/// One node on the way.
#[derive(Serialize)]
struct Step {
    node: String,
    kind: &'static str,
    /// The slot that the way comes from.
    slot: usize,
    slots: Vec<SlotText>,
    /// What follows for the node.
    digest: String,
}

/// What a node binds of one child, in hexadecimal.
#[derive(Serialize)]
struct SlotText {
    present: bool,
    key: String,
    statement: String,
}

/// A node on the way, before its digest is known.
struct Place {
    node: String,
    kind: &'static str,
    slot: usize,
    slots: Vec<Slot>,
}

/// Verifies the file, walks from the leaf to the root and prints every step.
pub(super) fn run(
    path: &Path,
    leaf: usize,
    policy: Policy,
    format: Format,
) -> Result<(), CliError> {
    let limits = Limits::default();
    let bytes = format::read_file(path, &limits).map_err(VerifyFailure::from)?;
    let file = ProofFile::parse(&bytes, &limits).map_err(VerifyFailure::from)?;
    let leaves = match &file.header.spec {
        ProofSpec::Chain(_) => 1,
        ProofSpec::Tree(tree) => tree.leaves.len(),
    };
    if leaf >= leaves {
        return Err(CliError::NoSuchLeaf { leaf, leaves });
    }
    let options = VerifyOptions { policy, ..VerifyOptions::default() };
    let cache = Cache::new();
    let verified = verify_bytes(&bytes, &options, &cache)?;
    let prepared = verify::circuits(&file, &options, &cache)?;
    let inclusion = Inclusion::of(&file, verified, &prepared, leaf)?;
    match format {
        Format::Json => output::json(&inclusion),
        Format::Text => inclusion.print(),
    }
}

impl Inclusion {
    fn of(
        file: &ProofFile,
        verified: Verified,
        prepared: &PreparedProof,
        leaf: usize,
    ) -> Result<Self, CliError> {
        let statement = &verified.statement;
        let publics = file.header.spec.public_values(&statement.results());
        let (key, first, places) = match prepared {
            PreparedProof::Chain(chain) => chain_way(chain, &publics),
            PreparedProof::Tree(tree) => tree_way(tree, leaf, &publics),
        };
        let mut digest = first;
        let mut steps = Vec::with_capacity(places.len());
        for Place { node, kind, slot, mut slots } in places {
            slots[slot].statement = digest;
            digest = node_digest(&slots);
            let slots = slots.iter().map(SlotText::of).collect();
            steps.push(Step { node, kind, slot, slots, digest: to_hex(&digest) });
        }
        check_root(file, prepared, &publics, &digest)?;
        Ok(Self {
            leaf,
            statement: leaf_statement(statement, leaf),
            key: to_hex(&key),
            statement_digest: to_hex(&first),
            steps,
            root: to_hex(&digest),
            included: true,
            security: verified.security,
        })
    }

    fn print(&self) -> Result<(), CliError> {
        output::line(format_args!("leaf {} is in the proof", self.leaf))?;
        for line in self.statement.lines() {
            output::line(format_args!("  {line}"))?;
        }
        output::line(format_args!("  key {}", self.key))?;
        output::line(format_args!("  statement digest {}", self.statement_digest))?;
        for step in &self.steps {
            output::line(format_args!(
                "{} {}, {} in-circuit verifications, the leaf is below slot {}",
                step.kind,
                step.node,
                step.slots.len(),
                step.slot
            ))?;
            for (index, slot) in step.slots.iter().enumerate() {
                let mark = if index == step.slot { ">" } else { " " };
                let padding = if slot.present { "" } else { ", padding" };
                let (key, statement) = (&slot.key[..16], &slot.statement[..16]);
                output::line(format_args!(
                    "  {mark} slot {index}: key {key}…, statement {statement}…{padding}"
                ))?;
            }
            output::line(format_args!("  node digest {}", step.digest))?;
        }
        for line in self.security.lines() {
            output::line(line)?;
        }
        output::line("the last digest is what the valid proof in the file states (keys derived)")
    }
}

impl SlotText {
    fn of(slot: &Slot) -> Self {
        Self { present: slot.present, key: to_hex(&slot.key), statement: to_hex(&slot.statement) }
    }
}

/// Key and statement digest of the base, and every layer over it.
fn chain_way(chain: &PreparedChain, publics: &[Vec<F>]) -> (Digest, Digest, Vec<Place>) {
    let digests = chain.statement_digests(publics.first().map_or(&[][..], Vec::as_slice));
    let layers = digests.iter().zip(chain.keys()).take(digests.len() - 1).enumerate();
    let places = layers.map(|(below, (&statement, &key))| Place {
        node: (below + 1).to_string(),
        kind: "layer",
        slot: 0,
        slots: vec![Slot { present: true, key, statement }],
    });
    (chain.keys()[0], digests[0], places.collect())
}

/// Key and statement digest of a leaf, and every node above it.
fn tree_way(tree: &PreparedTree, leaf: usize, publics: &[Vec<F>]) -> (Digest, Digest, Vec<Place>) {
    let digests = tree.statement_digests(&mut publics.iter().cloned());
    let way = tree.plan().path(leaf).into_iter();
    let places = way.map(|(position, slot)| {
        let node = &tree.plan().nodes[position];
        Place {
            node: node.id.to_string(),
            kind: kind_name(node.kind),
            slot,
            slots: tree.slots(position, &digests),
        }
    });
    (tree.key(leaf), digests[leaf], places.collect())
}

/// Fails unless the proof in the file states `root`.
fn check_root(
    file: &ProofFile,
    prepared: &PreparedProof,
    publics: &[Vec<F>],
    root: &Digest,
) -> Result<(), VerifyFailure> {
    match (prepared.last(), file.decode_proof()?) {
        (Some(layer), FinalProof::Batch(proof)) => {
            layer.verify(&proof, root).map_err(|source| VerifyFailure::Rejected { source })
        }
        // A base proof by itself: its public values are what it states.
        _ if prepared.statement_digest(&mut publics.iter().cloned()) == *root => Ok(()),
        _ => Err(VerifyFailure::Statement),
    }
}

/// What the leaf says, out of what the whole proof says.
fn leaf_statement(statement: &ProofStatement, leaf: usize) -> ProofStatement {
    match statement {
        ProofStatement::Chain(_) => statement.clone(),
        ProofStatement::Tree(tree) => tree.leaves[leaf].statement.as_ref().clone(),
    }
}
