//! A layer over a small proof of four tables, of which three are taller than the last.

use std::sync::{Arc, LazyLock};

use p3_field::{Field, PrimeCharacteristicRing};
use p3_matrix::dense::RowMajorMatrix;

use super::Subject;
use crate::child::{ChildInput, ChildProof, ChildShape};
use crate::config::{EF, F, FriConfig};
use crate::layer::{Committed, Filled, PreparedLayer};
use crate::program::{Addr, Gate, ProgramBuilder, Role};
use crate::tables::LayerAir;
use crate::tables::arith::{self, ArithAir, Publics};
use crate::timed_pcs::NoPhases;

/// Parameters with which a proof takes milliseconds. They protect nothing. The queries are as many as
/// it takes for the transcript to squeeze twice in a row.
pub(crate) const TINY: FriConfig = FriConfig {
    log_blowup: 2,
    max_log_arity: 3,
    log_final_poly_len: 3,
    cap_height: 2,
    num_queries: 9,
    batch_pow_bits: 1,
    lookup_pow_bits: 1,
    ood_pow_bits: 1,
    commit_pow_bits: 1,
    query_pow_bits: 4,
};

/// E alone, with its public values in the first and the last row.
pub(crate) struct Circuit {
    pub(crate) gates: Vec<Gate>,
    pub(crate) air: LayerAir,
    pub(crate) trace: RowMajorMatrix<F>,
    pub(crate) publics: Vec<F>,
}

impl Circuit {
    /// A circuit with a row of every role. The public values must not be zero.
    pub(crate) fn new(publics: &[F], log_height: usize) -> Self {
        let mut builder = ProgramBuilder::new();
        let inputs: Vec<Addr> = publics.iter().map(|_| builder.free_input()).collect();
        let flag = builder.boolean_input();
        let (x, y) = (inputs[0], inputs[inputs.len() - 1]);
        let sum = builder.mul_add(x, y, flag);
        let quotient = builder.div(sum, y);
        let back = builder.mul(quotient, y);
        builder.assert_eq(back, sum);
        let port = |i: usize| inputs.get(i).copied().unwrap_or(Addr::ZERO);
        builder.set_first_row(port(0), port(1), port(2));
        while builder.gates.len() + 1 < 1 << log_height {
            builder.assert_zero(Addr::ZERO);
        }
        builder.push(Gate {
            a: port(3),
            b: port(4),
            c: port(5),
            out: Addr::ZERO,
            q: [F::ZERO; 5],
            role: Role::Assert,
        });

        let mut memory = EF::zero_vec(builder.reads.len());
        for (addr, &value) in inputs.iter().zip(publics) {
            memory[addr.index()] = value.into();
        }
        memory[flag.index()] = EF::ONE;
        for gate in &builder.gates {
            let [a, b, c, out] = [gate.a, gate.b, gate.c, gate.out].map(|at| memory[at.index()]);
            match gate.role {
                Role::Compute => memory[gate.out.index()] = gate.eval(a, b, c),
                Role::Quotient => memory[gate.a.index()] = out * b.inverse(),
                Role::Assert | Role::Input => {}
            }
        }
        let names: Vec<F> = builder.names.iter().map(|&name| F::from_u32(name)).collect();
        let gates = builder.gates;
        let preprocessed =
            Arc::new(arith::preprocessed_trace(&gates, log_height, &names, &builder.reads));
        let air =
            LayerAir::Arith(ArithAir { publics: Publics::Scalars(publics.len()), preprocessed });
        let trace = arith::fill_rows(&gates, log_height, &memory);
        Self { gates, air, trace, publics: publics.to_vec() }
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject { air: &self.air, trace: &self.trace, publics: &self.publics }
    }
}

/// A layer whose tables are filled from an honest proof.
pub(crate) struct Sample {
    pub(crate) layer: PreparedLayer,
    pub(crate) filled: Filled,
}

impl Sample {
    fn new() -> Self {
        let circuits = [(6, 8), (5, 8), (5, 8), (4, 6)].map(|(publics, log_height)| {
            let publics: Vec<F> = (0..publics).map(|i| F::from_usize(5 + 3 * i)).collect();
            Circuit::new(&publics, log_height)
        });
        let airs = circuits.iter().map(|circuit| circuit.air.clone()).collect();
        let base = Committed::new(airs, &[8, 8, 8, 6], TINY).expect("a child");
        let traces = circuits.each_ref().map(|circuit| &circuit.trace);
        let publics = circuits.each_ref().map(|circuit| circuit.publics.clone());
        let proof = base.prove(&traces, &publics, Arc::new(NoPhases)).expect("an honest proof");
        let input = ChildInput {
            proof: ChildProof::Batch(&proof),
            public_values: &publics,
            preprocessed: Some(base.cap()),
            present: true,
        };
        let layer = PreparedLayer::prepare(vec![base.shape.clone()], TINY, 0).expect("compiles");
        let restored = layer.restore(&[input]).expect("the shape fits");
        let filled = layer.fill(&restored).expect("fills");
        Self { layer, filled }
    }

    /// E.
    pub(crate) fn arith(&self) -> Subject<'_> {
        let (traces, digest) = self.filled.parts();
        Subject { air: &self.layer.airs()[0], trace: &traces.arith, publics: digest }
    }

    /// H.
    pub(crate) fn hash(&self) -> Subject<'_> {
        let traces = self.filled.parts().0;
        Subject { air: &self.layer.airs()[1], trace: &traces.hash, publics: &[] }
    }
}

/// The layer, made once.
pub(crate) fn sample() -> &'static Sample {
    static SAMPLE: LazyLock<Sample> = LazyLock::new(Sample::new);
    &SAMPLE
}

/// The shape of the layer's proofs.
pub(crate) fn layer_shape() -> ChildShape {
    sample().layer.shape()
}
