//! Jobs as JSON.

use arbor_prover::{BaseJob, Job, ParamError, Recursion};

#[test]
fn the_documented_job_parses_and_survives_a_round_trip() -> Result<(), Box<dyn std::error::Error>> {
    let text = r#"{ "base": {"program": "keccak", "num_hashes": 1000, "seed": 1, "fri": {}},
        "recursion": {"mode": "chain", "layers": 3},
        "preset": "default", "fri": {}, "final": {"fri": {}},
        "priority": 0, "deadline_s": 600, "labels": {"k": "v"} }"#;
    let job = Job::from_json(text)?;
    assert_eq!(job.base, Some(BaseJob::keccak(1000, 1)));
    assert_eq!(Job::from_json(&serde_json::to_string(&job)?)?, job);
    job.resolve()?;
    Ok(())
}

#[test]
fn what_is_left_out_has_defaults() -> Result<(), ParamError> {
    let job = Job::from_json(r#"{"base":{"program":"fibonacci"}}"#)?;
    assert_eq!(job, Job::chain(BaseJob::fibonacci(100, 0, 1), 3));
    let job = Job::from_json(r#"{"base":{"program":"keccak"},"recursion":{"mode":"chain"}}"#)?;
    assert_eq!(job, Job::chain(BaseJob::keccak(4, 1), 3));
    Ok(())
}

#[test]
fn trees_parse_and_are_no_chains() -> Result<(), ParamError> {
    let trees = [
        r#"{"base":{"program":"fibonacci"},"recursion":{"mode":"tree","arity":2,"depth":3}}"#,
        r#"{"recursion":{"mode":"tree","arity":8,"leaves":[
            {"program":"keccak","num_hashes":2},{"program":"fibonacci","n":5},{"job":"17"}]}}"#,
    ];
    for text in trees {
        let job = Job::from_json(text)?;
        assert!(matches!(job.recursion, Recursion::Tree { .. }));
        let error = job.resolve().map(|_| ()).map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|text| text.contains("recursion.mode")), "{error:?}");
        assert!(error.is_err_and(|text| text.contains("where a chain is needed")));
    }
    Ok(())
}

#[test]
fn what_does_not_belong_is_refused() {
    let wrong = [
        r#"{"base":{"program":"keccak","n":3}}"#,
        r#"{"base":{"program":"keccak"},"layers":3}"#,
        r#"{"base":{"program":"sha256"}}"#,
        r#"{"base":{"program":"keccak","num_hashes":1.0}}"#,
        r#"{"base":{"program":"keccak","num_hashes":-1}}"#,
        r#"{"base":{"program":"keccak","num_hashes":"4"}}"#,
        r#"{"base":{"program":"keccak"},"recursion":{"mode":"chain","depth":1}}"#,
        r#"{"base":{"program":"keccak"},"fri":{"logblowup":1}}"#,
        r#"{"base":{"program":"keccak"},"final":{"log_blowup":1}}"#,
        "",
        "7",
    ];
    for text in wrong {
        assert!(matches!(Job::from_json(text), Err(ParamError::Json { .. })), "{text}");
    }
    let empty = Job::from_json("{}").and_then(|job| job.resolve());
    assert!(empty.is_err_and(|error| error.to_string() == "base is missing"));
}
