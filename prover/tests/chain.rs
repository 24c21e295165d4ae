//! Whole chains at few queries: proved, written, read and verified.

use std::error::Error;
use std::sync::{Arc, Mutex};

use arbor_circuits::config::F;
use arbor_prover::tree::ProofStatement;
use arbor_prover::{
    BaseJob, Cache, ChainProof, ChainSpec, Expected, Job, Observer, PreparedInfo, ProofFile,
    Silent, VerifyFailure, VerifyOptions, chain, format, verify_bytes,
};
use p3_field::PrimeField32;

type Outcome = Result<(), Box<dyn Error>>;

fn spec(base: BaseJob, layers: usize) -> Result<ChainSpec, Box<dyn Error>> {
    let mut job = Job::chain(base, layers);
    job.preset = "insecure-test".to_owned();
    Ok(job.resolve()?)
}

fn silent() -> Arc<dyn Observer> {
    Arc::new(Silent)
}

fn prove(spec: &ChainSpec, cache: &Cache) -> Result<ChainProof, Box<dyn Error>> {
    Ok(chain::prove(spec, cache, &silent())?)
}

/// Element `n` by the doubling identities, in 128-bit integers: nothing shared with the circuit.
fn fibonacci(n: u64, a: u64, b: u64) -> u64 {
    fn pair(n: u64, p: u128) -> (u128, u128) {
        if n == 0 {
            return (0, 1);
        }
        let (f, g) = pair(n / 2, p);
        let even = f * ((2 * g + p - f) % p) % p;
        let odd = (f * f + g * g) % p;
        if n.is_multiple_of(2) { (even, odd) } else { (odd, (even + odd) % p) }
    }
    let p = u128::from(F::ORDER_U32);
    let (f, g) = pair(n, p);
    // F(n) = a fib(n - 1) + b fib(n), where fib(n - 1) = fib(n + 1) - fib(n).
    ((u128::from(a) * ((g + p - f) % p) + u128::from(b) * f) % p) as u64
}

#[test]
fn the_reference_knows_its_first_elements() {
    let first: Vec<u64> = (0..10).map(|n| fibonacci(n, 0, 1)).collect();
    assert_eq!(first, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]);
    assert_eq!((fibonacci(0, 7, 9), fibonacci(1, 7, 9), fibonacci(5, 7, 9)), (7, 9, 66));
}

#[test]
fn elements_are_those_of_the_reference() {
    for n in [0, 1, 2, 3, 99, 100, 10_000] {
        for (a, b) in [(0, 1), (7, 9), (2_130_706_432, 2_130_706_432)] {
            let got = arbor_prover::base::fibonacci::element(n, a, b);
            assert_eq!(u64::from(got), fibonacci(n, a, b), "F({n}) from {a}, {b}");
        }
    }
}

#[test]
fn fibonacci_chains_verify_from_their_bytes() -> Outcome {
    let cache = Cache::new();
    for n in [0, 1, 2, 100] {
        for layers in [0, 1, 2, 3] {
            let proof = prove(&spec(BaseJob::fibonacci(n, 3, 4), layers)?, &cache)?;
            let expect = format!(
                r#"{{"layers":{layers},"base":{{"program":"fibonacci","n":{n},"a":3,"b":4,"result":{}}}}}"#,
                fibonacci(n, 3, 4)
            );
            let options = VerifyOptions {
                expect: Some(Expected::from_json(&expect)?),
                ..VerifyOptions::any_strength()
            };
            let verified = verify_bytes(&proof.to_bytes()?, &options, &Cache::new())?;
            assert_eq!(verified.statement, proof.statement.clone().into());
            assert_eq!(verified.keys.len(), layers + 1);
        }
    }
    Ok(())
}

#[test]
fn keccak_base_proofs_verify_from_their_bytes() -> Outcome {
    let cache = Cache::new();
    for n in [1, 2, 100] {
        let proof = prove(&spec(BaseJob::keccak(n, 5), 0)?, &cache)?;
        let verified = verify_bytes(&proof.to_bytes()?, &VerifyOptions::any_strength(), &cache)?;
        assert_eq!(verified.statement, proof.statement.clone().into());
        let other = ProofFile::parse(&proof.to_bytes()?, &Default::default())?;
        for at in (0..other.proof.len()).step_by(1 + other.proof.len() / 50) {
            let mut changed = other.proof.clone();
            changed[at] ^= 1;
            let bytes = format::assemble(&other.header, &changed)?;
            let result = verify_bytes(&bytes, &VerifyOptions::any_strength(), &cache);
            assert!(result.is_err_and(|failure| failure.exit_code() == 1), "byte {at}");
        }
    }
    Ok(())
}

#[test]
fn keccak_chains_verify_from_their_bytes() -> Outcome {
    let cache = Cache::new();
    for (n, layers) in [(1, 2), (2, 1)] {
        let proof = prove(&spec(BaseJob::keccak(n, 5), layers)?, &cache)?;
        let verified = verify_bytes(&proof.to_bytes()?, &VerifyOptions::any_strength(), &cache)?;
        assert_eq!(verified.statement, proof.statement.clone().into());
    }
    Ok(())
}

#[test]
fn a_long_chain_prepares_no_more_circuits_than_a_short_one() -> Outcome {
    let cache = Cache::new();
    chain::prepare(&spec(BaseJob::fibonacci(10, 0, 1), 4)?, &cache, &silent())?;
    let prepared = cache.prepared();
    let chain = chain::prepare(&spec(BaseJob::fibonacci(10, 0, 1), 10)?, &cache, &silent())?;
    assert_eq!(cache.prepared(), prepared);
    assert_eq!(chain.keys().len(), 11);
    assert_eq!(chain.keys()[9], chain.keys()[10]);
    Ok(())
}

#[test]
fn the_last_layer_may_have_parameters_of_its_own() -> Outcome {
    let mut job = Job::chain(BaseJob::fibonacci(5, 0, 1), 2);
    job.preset = "insecure-test".to_owned();
    job.last.fri.log_blowup = Some(4);
    let cache = Cache::new();
    let proof = prove(&job.resolve()?, &cache)?;
    let verified = verify_bytes(&proof.to_bytes()?, &VerifyOptions::any_strength(), &cache)?;
    let ProofStatement::Chain(statement) = verified.statement else { panic!("a chain was proved") };
    assert_eq!(statement.fri.last.map(|fri| fri.log_blowup), Some(4));
    Ok(())
}

#[test]
fn reports_add_up() -> Outcome {
    let proof = prove(&spec(BaseJob::fibonacci(100, 0, 1), 2)?, &Cache::new())?;
    assert_eq!(proof.reports.len(), 3);
    for report in &proof.reports {
        let t = &report.timings_ms;
        let parts = t.restore + t.fill + t.commit + t.logup + t.quotient + t.open;
        assert!((t.total - parts).abs() <= 0.05 * t.total + 1.0, "{report:?}");
        assert!(report.proof_bytes > 0 && !report.tables.is_empty());
    }
    Ok(())
}

#[test]
fn a_proof_under_another_statement_is_invalid() -> Outcome {
    let cache = Cache::new();
    for layers in [0, 1] {
        let proof = prove(&spec(BaseJob::fibonacci(10, 0, 1), layers)?, &cache)?;
        let file = ProofFile::parse(&proof.to_bytes()?, &Default::default())?;
        let mut header = file.header;
        header.statement = ProofStatement::new(&header.spec, &mut [Some(54)].into_iter());
        let bytes = format::assemble(&header, &file.proof)?;
        let result = verify_bytes(&bytes, &VerifyOptions::any_strength(), &cache);
        assert!(matches!(result, Err(VerifyFailure::Rejected { .. })), "{result:?}");
    }
    Ok(())
}

#[test]
fn bytes_changed_in_the_proof_never_pass_and_never_panic() -> Outcome {
    let cache = Cache::new();
    let proof = prove(&spec(BaseJob::fibonacci(2, 0, 1), 1)?, &cache)?;
    let file = ProofFile::parse(&proof.to_bytes()?, &Default::default())?;
    for at in (0..file.proof.len()).step_by(1 + file.proof.len() / 200) {
        let mut changed = file.proof.clone();
        changed[at] ^= 1;
        let bytes = format::assemble(&file.header, &changed)?;
        let result = verify_bytes(&bytes, &VerifyOptions::any_strength(), &cache);
        assert!(result.is_err_and(|failure| failure.exit_code() == 1), "byte {at}");
    }
    Ok(())
}

/// Counts what it is told.
#[derive(Default)]
struct Counting(Mutex<Vec<String>>);

impl Observer for Counting {
    fn prepared(&self, info: &PreparedInfo) {
        self.note(format!("prepared {}", info.layer));
    }

    fn layer_started(&self, layer: usize, kind: arbor_prover::LayerKind) {
        self.note(format!("{kind} {layer}"));
    }

    fn layer_finished(&self, report: &arbor_prover::LayerReport) {
        self.note(format!("finished {}", report.layer));
    }

    fn cancelled(&self) -> bool {
        self.0.lock().is_ok_and(|notes| notes.iter().any(|note| note == "finished 1"))
    }
}

impl Counting {
    fn note(&self, text: String) {
        if let Ok(mut notes) = self.0.lock() {
            notes.push(text);
        }
    }
}

#[test]
fn an_observer_sees_the_chain_and_can_stop_it() -> Outcome {
    let counting = Arc::new(Counting::default());
    let observer: Arc<dyn Observer> = Arc::clone(&counting) as _;
    let result = chain::prove(&spec(BaseJob::fibonacci(2, 0, 1), 2)?, &Cache::new(), &observer);
    assert!(result.is_err_and(|error| error.exit_code() == 130));
    let notes = counting.0.lock().map_err(|error| error.to_string())?;
    let order = ["prepared 0", "base 0", "finished 0", "prepared 1", "layer 1", "finished 1"];
    let seen: Vec<&str> =
        notes.iter().map(String::as_str).filter(|note| order.contains(note)).collect();
    assert_eq!(seen, order);
    Ok(())
}
