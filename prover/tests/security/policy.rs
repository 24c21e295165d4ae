//! What is valid and still not accepted.

use arbor_prover::security::DEFAULT_MIN_PROVEN_BITS;
use arbor_prover::{
    Cache, FailureClass, Policy, VerifyFailure, VerifyOptions, chain, verify_bytes,
};

use super::{observer, small_chain};

#[test]
fn a_valid_proof_is_refused_below_the_minimum_and_accepted_at_it() {
    let spec = small_chain(1).resolve().expect("valid");
    let cache = Cache::new();
    let proof = chain::prove(&spec, &cache, &observer()).expect("proves");
    let bytes = proof.to_bytes().expect("encodes");
    let verify = |min_proven_bits| {
        let policy = Policy { min_proven_bits };
        verify_bytes(&bytes, &VerifyOptions { policy, ..VerifyOptions::default() }, &cache)
    };
    let proven = verify(0).expect("any strength").security.proven;
    let enough = proven.bits.floor() as u32;
    assert!(enough > 0);
    assert_eq!(verify(enough).expect("just enough").policy.min_proven_bits, enough);
    for too_much in [enough + 1, 100, u32::MAX] {
        let error = verify(too_much).expect_err("too weak");
        assert_eq!((error.class(), error.exit_code()), (FailureClass::Invalid, 1));
        let text = error.to_string();
        let VerifyFailure::TooWeak { found, policy } = error else { panic!("{text}") };
        assert_eq!((found, policy.min_proven_bits), (proven.clone(), too_much));
        for part in [format!("{:.1}", proven.bits), too_much.to_string(), "queries".to_owned()] {
            assert!(text.contains(&part), "{part} is not in {text}");
        }
    }
}

#[test]
fn parameters_for_tests_are_refused_unless_somebody_says_otherwise() {
    let spec = small_chain(0).resolve().expect("valid");
    let cache = Cache::new();
    let proof = chain::prove(&spec, &cache, &observer()).expect("proves");
    let bytes = proof.to_bytes().expect("encodes");
    let error = verify_bytes(&bytes, &VerifyOptions::default(), &cache).expect_err("too weak");
    let minimum = DEFAULT_MIN_PROVEN_BITS;
    assert!(
        matches!(error, VerifyFailure::TooWeak { policy, .. } if policy.min_proven_bits == minimum)
    );
    verify_bytes(&bytes, &VerifyOptions::any_strength(), &cache).expect("valid");
}
