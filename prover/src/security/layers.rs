//! The distinct proofs below a proof, and the figures of each.

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::Digest;

use super::regimes::{conjectured, johnson, unique_decoding};
use super::report::{Figure, LayerSecurity, Regime, SecurityReport, Term};
use super::sizes::Sizes;
use crate::chain::PreparedChain;
use crate::tree::{PreparedProof, PreparedTree};

impl SecurityReport {
    /// The report of a proof whose circuits are prepared: the least over all proofs below, every distinct
    /// circuit counting, bases, wraps and finished proofs inside of a tree included.
    #[must_use]
    pub fn of(proof: &PreparedProof) -> Self {
        let mut proofs = Proofs::default();
        proofs.visit(proof, "");
        proofs.into_report()
    }
}

impl LayerSecurity {
    /// The figures of proofs of one shape, for proofs that no chain or tree of this crate is made of.
    #[must_use]
    pub fn of(layer: impl Into<String>, shape: &ChildShape) -> Self {
        let (layer, fri, sizes) = (layer.into(), *shape.fri(), Sizes::of(shape));
        let naive = Figure {
            bits: fri.naive_bits() as f64,
            regime: Regime::Naive,
            term: Term::Queries,
            layer: layer.clone(),
        };
        let (guessed, unique) = (conjectured(&sizes, &fri), unique_decoding(&sizes, &fri));
        let johnson = johnson(&sizes, &fri);
        let proven = match &johnson {
            Some(johnson) if johnson.bits() > unique.bits() => johnson.figure(&layer),
            _ => unique.figure(&layer),
        };
        let conjectured = guessed.figure(&layer);
        let regimes = [guessed, unique].into_iter().chain(johnson).collect();
        Self { layer, proofs: 1, naive, conjectured, proven, fri, sizes, regimes }
    }
}

/// The distinct shapes met so far. Proofs of one shape have the same figures, whatever their keys.
#[derive(Default)]
pub(super) struct Proofs(Vec<(Digest, LayerSecurity)>);

impl Proofs {
    fn visit(&mut self, proof: &PreparedProof, within: &str) {
        match proof {
            PreparedProof::Chain(chain) => self.chain(chain, within),
            PreparedProof::Tree(tree) => self.tree(tree, within),
        }
    }

    fn chain(&mut self, chain: &PreparedChain, within: &str) {
        self.add(&chain.base().shape(), || format!("{within}base"));
        for layer in 1..chain.keys().len() {
            if let Some(circuit) = chain.layer(layer) {
                self.add(&circuit.shape(), || format!("{within}layer {layer}"));
            }
        }
    }

    fn tree(&mut self, tree: &PreparedTree, within: &str) {
        for (position, node) in tree.plan().nodes.iter().enumerate() {
            let name = || format!("{within}node {}", node.id);
            if let Some(base) = tree.base(position) {
                self.add(&base.shape(), name);
            } else if let Some(circuit) = tree.layer(position) {
                self.add(&circuit.shape(), name);
            } else if let Some(finished) = tree.finished(position) {
                self.visit(finished, &format!("{}, ", name()));
            }
        }
    }

    /// One more proof of this shape, and its name if it is the first.
    pub(super) fn add(&mut self, shape: &ChildShape, name: impl FnOnce() -> String) {
        let digest = shape.digest();
        match self.0.iter_mut().find(|(known, _)| *known == digest) {
            Some((_, known)) => known.proofs += 1,
            None => self.0.push((digest, LayerSecurity::of(name(), shape))),
        }
    }

    pub(super) fn into_report(self) -> SecurityReport {
        SecurityReport::over(self.0.into_iter().map(|(_, layer)| layer).collect())
    }
}
