//! An AIR of one's own, proved by p3-uni-stark and wrapped in a recursion layer.
//!
//! The AIR knows nothing of recursion: it is any `Air` that Plonky3's symbolic builder can evaluate.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use arbor_circuits::child::{ChildInput, ChildProof, ChildShape};
use arbor_circuits::config::{F, FriConfig, layer_config};
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::statement::{Slot, key_digest, leaf_digest, node_digest};
use arbor_circuits::timed_pcs::NoPhases;
use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_field::PrimeCharacteristicRing;
use p3_matrix::dense::RowMajorMatrix;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// "I know a chain x ↦ x² + 1 of 2^LOG_ROWS elements from the first public value to the second."
struct SquareChainAir;

const LOG_ROWS: usize = 8;

impl BaseAir<F> for SquareChainAir {
    fn width(&self) -> usize {
        1
    }

    fn num_public_values(&self) -> usize {
        2
    }
}

impl<AB: AirBuilder<F = F>> Air<AB> for SquareChainAir {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let (x, x_next) = (main.current_slice()[0], main.next_slice()[0]);
        let (first, last) = (builder.public_values()[0], builder.public_values()[1]);

        builder.when_first_row().assert_eq(x, first);
        builder.when_transition().assert_eq(x_next, x.into() * x.into() + AB::Expr::ONE);
        builder.when_last_row().assert_eq(x, last);
    }
}

/// The chain from `first`, and its last element.
fn trace(first: F) -> (RowMajorMatrix<F>, F) {
    let chain: Vec<F> =
        std::iter::successors(Some(first), |&x| Some(x * x + F::ONE)).take(1 << LOG_ROWS).collect();
    let last = chain[chain.len() - 1];
    (RowMajorMatrix::new(chain, 1), last)
}

fn prove_and_wrap() -> Result<(), Box<dyn Error>> {
    let fri = FriConfig {
        log_blowup: 2,
        max_log_arity: 4,
        log_final_poly_len: 5,
        cap_height: 5,
        num_queries: 54,
        batch_pow_bits: 0,
        lookup_pow_bits: 0,
        ood_pow_bits: 0,
        commit_pow_bits: 0,
        query_pow_bits: 16,
    };

    // A proof as p3-uni-stark makes it.
    let config = layer_config(&fri);
    let (rows, last) = trace(F::TWO);
    let public_values = vec![F::TWO, last];
    let proof = p3_uni_stark::prove(&config, &SquareChainAir, rows, &public_values)
        .map_err(|error| format!("{error:?}"))?;

    // A circuit that verifies such proofs: compiled once, whatever their values.
    let shape = ChildShape::uni(&SquareChainAir, LOG_ROWS, &fri)?;
    let layer = PreparedLayer::prepare(vec![shape.clone()], fri, 0)?;

    // A layer over this one.
    let children = [ChildInput {
        proof: ChildProof::Uni(&proof),
        public_values: std::slice::from_ref(&public_values),
        preprocessed: None,
        present: true,
    }];
    let restored = layer.restore(&children)?;
    let (wrapped, digest) = layer.prove(layer.fill(&restored)?, Arc::new(NoPhases))?;

    // What a verifier does: it computes the digest from what it was told, never from the proof.
    let told = node_digest(&[Slot {
        present: true,
        key: key_digest(&shape.digest(), None),
        statement: leaf_digest(&public_values),
    }]);
    layer.verify(&wrapped, &told)?;
    if told != digest {
        return Err("prover and verifier disagree about what was proved".into());
    }

    println!("a chain of {} squares from 2 to {last}, proved and wrapped:", 1 << LOG_ROWS);
    for table in layer.tables() {
        println!("  table {}: {} rows of 2^{}", table.name, table.rows, table.log_height);
    }
    Ok(())
}

fn main() -> ExitCode {
    if let Some(code) = arbor_examples::start() {
        return code;
    }
    match prove_and_wrap() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("own_air: {error}");
            ExitCode::FAILURE
        }
    }
}
