//! What a job resolves to, and what is refused.

use arbor_prover::params::MAX_LAYERS;
use arbor_prover::{BaseJob, ChainSpec, FriOverrides, Job, ParamError, Preset, preset};

type Outcome = Result<(), ParamError>;

fn resolve(text: &str) -> Result<ChainSpec, ParamError> {
    Job::from_json(text)?.resolve()
}

/// The one line that says why a job is refused.
fn refusal(text: &str) -> String {
    match resolve(text) {
        Ok(spec) => panic!("accepted: {spec:?}"),
        Err(error) => error.to_string(),
    }
}

fn keccak(rest: &str) -> String {
    format!(r#"{{"base":{{"program":"keccak","num_hashes":4}}{rest}}}"#)
}

#[test]
fn defaults_are_the_tuned_ones() -> Outcome {
    let spec = resolve(&keccak(""))?;
    assert_eq!(spec.layers, 3);
    assert_eq!(spec.layer_fri.num_queries, 54);
    assert_eq!(spec.layer_fri, spec.last_fri);
    assert_eq!((spec.layer_fri.cap_height, spec.layer_fri.query_pow_bits), (5, 16));
    assert_eq!(spec.naive_bits(), 124);
    let fibonacci = resolve(r#"{"base":{"program":"fibonacci"}}"#)?;
    assert_eq!((fibonacci.base.fri.log_blowup, fibonacci.base.fri.num_queries), (3, 36));
    Ok(())
}

#[test]
fn every_preset_resolves_for_the_smallest_jobs() -> Outcome {
    for name in preset::names() {
        for base in
            [BaseJob::keccak(1, 0), BaseJob::fibonacci(0, 0, 1), BaseJob::fibonacci(1, 0, 1)]
        {
            let mut job = Job::chain(base, 2);
            job.preset = name.to_owned();
            let spec = job.resolve()?;
            let domain = spec.base.log_height() + spec.base.fri.log_blowup;
            assert!(domain >= 8, "{name}: 2^{domain}");
            assert!(spec.base.log_height() > spec.base.fri.log_final_poly_len, "{name}");
        }
    }
    Ok(())
}

#[test]
fn the_queries_of_a_level_are_rounded_up() -> Outcome {
    let spec = resolve(&keccak(r#","fri":{"security_level":100,"log_blowup":3}"#))?;
    assert_eq!(spec.layer_fri.num_queries, 28);
    assert_eq!(spec.base.fri.num_queries, 28);
    let both = resolve(&keccak(r#","fri":{"security_level":100,"num_queries":7}"#))?;
    assert_eq!(both.layer_fri.num_queries, 7);
    Ok(())
}

#[test]
fn base_and_last_layer_have_their_own() -> Outcome {
    let spec = resolve(
        r#"{"base":{"program":"keccak","fri":{"log_blowup":1}},
            "fri":{"query_pow_bits":10},"final":{"fri":{"log_blowup":4}}}"#,
    )?;
    let blowups = [0, 1, 2, 3].map(|layer| spec.fri_of(layer).log_blowup);
    assert_eq!(blowups, [1, 2, 2, 4]);
    assert!((0..=3).all(|layer| spec.fri_of(layer).query_pow_bits == 10));
    Ok(())
}

#[test]
fn a_default_cap_is_lowered_and_an_explicit_one_refused() -> Outcome {
    let lowered = resolve(&keccak(r#","fri":{"log_final_poly_len":0}"#))?;
    assert_eq!(lowered.layer_fri.cap_height, 0);
    let message = refusal(&keccak(r#","fri":{"log_final_poly_len":1,"cap_height":4}"#));
    assert!(message.contains("fri.cap_height = 4"), "{message}");
    assert!(message.contains("0 to 1"), "{message}");
    Ok(())
}

#[test]
fn each_refusal_names_parameter_value_and_range() {
    let cases = [
        (r#""log_blowup":0"#, "fri.log_blowup = 0", "1 to 4"),
        (r#""log_blowup":5"#, "fri.log_blowup = 5", "1 to 4"),
        (r#""max_log_arity":0"#, "fri.max_log_arity = 0", "1 to 4"),
        (r#""max_log_arity":5"#, "fri.max_log_arity = 5", "1 to 4"),
        (r#""log_final_poly_len":9"#, "fri.log_final_poly_len = 9", "0 to 8"),
        (r#""num_queries":0"#, "fri.num_queries = 0", "1 to 512"),
        (r#""num_queries":513"#, "fri.num_queries = 513", "1 to 512"),
        (r#""security_level":2000"#, "fri.security_level = 2000", "1 to 512"),
        (r#""batch_pow_bits":25"#, "fri.batch_pow_bits = 25", "0 to 24"),
        (r#""lookup_pow_bits":25"#, "fri.lookup_pow_bits = 25", "0 to 24"),
        (r#""ood_pow_bits":25"#, "fri.ood_pow_bits = 25", "0 to 24"),
        (r#""commit_pow_bits":25"#, "fri.commit_pow_bits = 25", "0 to 24"),
        (r#""query_pow_bits":25"#, "fri.query_pow_bits = 25", "0 to 24"),
    ];
    for (field, named, allowed) in cases {
        let in_fri = refusal(&keccak(&format!(r#","fri":{{{field}}}"#)));
        assert!(in_fri.starts_with(named) && in_fri.contains(allowed), "{in_fri}");
        let in_final = refusal(&keccak(&format!(r#","final":{{"fri":{{{field}}}}}"#)));
        assert!(in_final.starts_with(&format!("final.{named}")), "{in_final}");
        let in_base = refusal(&format!(r#"{{"base":{{"program":"keccak","fri":{{{field}}}}}}}"#));
        assert!(in_base.starts_with(&format!("base.{named}")), "{in_base}");
    }
}

#[test]
fn a_constant_final_polynomial_needs_a_higher_blowup() -> Outcome {
    let message = refusal(&keccak(r#","fri":{"log_blowup":1,"log_final_poly_len":0}"#));
    assert!(message.contains("fri.log_final_poly_len = 0"), "{message}");
    assert!(message.contains("1 to 8 with log_blowup 1"), "{message}");
    resolve(&keccak(r#","fri":{"log_blowup":1,"log_final_poly_len":1}"#))?;
    resolve(&keccak(r#","fri":{"log_blowup":2,"log_final_poly_len":0}"#))?;
    Ok(())
}

#[test]
fn sizes_beyond_the_field_name_the_limit() -> Outcome {
    let spec = resolve(r#"{"base":{"program":"keccak","num_hashes":174762}}"#)?;
    assert_eq!(spec.base.log_height(), 22);
    let message = refusal(r#"{"base":{"program":"keccak","num_hashes":174763}}"#);
    assert!(message.contains("base.num_hashes = 174763"), "{message}");
    assert!(message.contains("174762 permutations"), "{message}");
    for n in [(1u64 << 21) - 15, u64::MAX] {
        let error = Job::chain(BaseJob::fibonacci(n, 0, 1), 0).resolve();
        assert!(matches!(error, Err(ParamError::BeyondTwoAdicity { .. })), "{error:?}");
    }
    Ok(())
}

#[test]
fn nonsense_is_refused() {
    let modulus = 2_130_706_433_u64;
    for (base, named) in [
        (BaseJob::keccak(0, 1), "base.num_hashes = 0"),
        (BaseJob::fibonacci(1, modulus, 1), "base.a = 2130706433"),
        (BaseJob::fibonacci(1, 0, modulus), "base.b = 2130706433"),
    ] {
        let error = Job::chain(base, 1).resolve().map(|_| ()).map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|text| text.starts_with(named)), "{error:?}");
    }
    let deep = Job::chain(BaseJob::keccak(1, 1), MAX_LAYERS + 1).resolve();
    assert!(deep.is_err_and(|error| error.to_string().starts_with("recursion.layers = 65")));
    let mut no_layer = Job::chain(BaseJob::keccak(1, 1), 0);
    no_layer.last.fri = FriOverrides { log_blowup: Some(2), ..FriOverrides::default() };
    assert!(matches!(no_layer.resolve(), Err(ParamError::NoLastLayer)));
}

#[test]
fn a_preset_file_reads_like_an_embedded_one() -> Outcome {
    let text = include_str!("../../configs/presets/blowup8.toml");
    assert_eq!(Preset::from_toml(text, "file")?, Preset::named("blowup8")?);
    let default = Preset::named("default")?;
    let text = toml::to_string(&default).map_err(|error| panic!("{error}")).unwrap_or_default();
    assert_eq!(Preset::from_toml(&text, "again")?, default);
    let wrong = Preset::from_toml("[layer]\nlog_blowop = 2", "typo.toml");
    assert!(wrong.is_err_and(|error| error.to_string().contains("typo.toml")));
    let unknown = Preset::named("fastest").map_err(|error| error.to_string());
    assert!(
        unknown.is_err_and(
            |text| text.contains("default, proven-100, compact, blowup8, insecure-test")
        )
    );
    Ok(())
}

#[test]
fn a_refused_value_of_a_preset_is_named_with_its_section() -> Outcome {
    let preset = Preset::from_toml("[base.keccak]\nlog_blowup = 7", "bad.toml")?;
    let error = Job::chain(BaseJob::keccak(1, 1), 1).resolve_with(&preset);
    let text = error.map(|_| ()).map_err(|error| error.to_string());
    assert!(text.as_ref().is_err_and(|text| text.starts_with("preset.base.keccak.log_blowup = 7")));
    Ok(())
}
