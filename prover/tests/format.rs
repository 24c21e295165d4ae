//! Proof files: what is written is read again, and nothing else is.

use std::error::Error;

use arbor_prover::format::{MAGIC, PLONKY3_VERSION, assemble, read_file, write_file};
use arbor_prover::tree::{ProofSpec, ProofStatement};
use arbor_prover::{
    BaseJob, Cache, ChainSpec, Expected, FailureClass, FormatError, Header, Job, Limits, ProofFile,
    Statement, VerifyFailure, VerifyOptions, verify_bytes,
};

/// A well-formed file whose proof is no proof.
fn container() -> Result<Vec<u8>, Box<dyn Error>> {
    let spec = Job::chain(BaseJob::fibonacci(10, 0, 1), 2).resolve()?;
    let header = Header {
        plonky3: PLONKY3_VERSION.to_owned(),
        statement: Statement::new(&spec, Some(55)).into(),
        spec: ProofSpec::Chain(spec),
        keys: vec!["0".repeat(64); 3],
    };
    Ok(assemble(&header, &[7; 40])?)
}

/// The chain that a header is of.
fn chain_of(header: &mut Header) -> &mut ChainSpec {
    match &mut header.spec {
        ProofSpec::Chain(chain) => chain,
        ProofSpec::Tree(tree) => panic!("a tree: {tree:?}"),
    }
}

fn failure(bytes: &[u8]) -> VerifyFailure {
    match verify_bytes(bytes, &VerifyOptions::any_strength(), &Cache::new()) {
        Ok(verified) => panic!("accepted: {verified:?}"),
        Err(failure) => failure,
    }
}

/// Gives a changed file a checksum that fits.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 32;
    let checksum = blake3::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(checksum.as_bytes());
    bytes
}

#[test]
fn a_file_is_read_as_it_was_written() -> Result<(), Box<dyn Error>> {
    let bytes = container()?;
    let file = ProofFile::parse(&bytes, &Limits::default())?;
    assert_eq!(file.proof, vec![7; 40]);
    assert_eq!(file.header.statement.results(), [Some(55)]);
    assert_eq!(assemble(&file.header, &file.proof)?, bytes);
    Ok(())
}

#[test]
fn every_truncation_is_noticed() -> Result<(), Box<dyn Error>> {
    let bytes = container()?;
    assert!(matches!(failure(&[]), VerifyFailure::Format(FormatError::Foreign)));
    for length in 1..bytes.len() {
        let failure = failure(&bytes[..length]);
        let truncated = matches!(failure, VerifyFailure::Format(FormatError::Truncated { .. }));
        assert!(truncated, "{length}: {failure}");
        assert_eq!(failure.exit_code(), 1);
    }
    Ok(())
}

#[test]
fn every_flipped_bit_is_noticed() -> Result<(), Box<dyn Error>> {
    let bytes = container()?;
    for byte in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[byte] ^= 1 << bit;
            let failure = failure(&flipped);
            let expected = match byte {
                0..8 => matches!(failure, VerifyFailure::Format(FormatError::Foreign)),
                8..10 => matches!(failure, VerifyFailure::Format(FormatError::OtherVersion { .. })),
                12..24 => matches!(failure.class(), FailureClass::Invalid | FailureClass::Limit),
                _ => matches!(failure, VerifyFailure::Format(FormatError::Checksum)),
            };
            assert!(expected, "byte {byte}, bit {bit}: {failure}");
        }
    }
    Ok(())
}

#[test]
fn what_follows_the_end_is_noticed() -> Result<(), Box<dyn Error>> {
    let mut bytes = container()?;
    bytes.push(0);
    assert!(matches!(failure(&bytes), VerifyFailure::Format(FormatError::TooLong { .. })));
    Ok(())
}

#[test]
fn lengths_beyond_the_limits_are_refused_before_anything_is_read() -> Result<(), Box<dyn Error>> {
    let mut long_header = container()?;
    long_header[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut long_proof = container()?;
    long_proof[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    for bytes in [long_header, long_proof] {
        assert_eq!(failure(&bytes).exit_code(), 3);
    }
    let options = VerifyOptions {
        limits: Limits { file_bytes: 100, ..Limits::default() },
        ..VerifyOptions::any_strength()
    };
    let result = verify_bytes(&container()?, &options, &Cache::new());
    assert!(result.is_err_and(|failure| failure.exit_code() == 3));
    Ok(())
}

#[test]
fn foreign_files_and_other_versions_are_told_apart() -> Result<(), Box<dyn Error>> {
    assert_eq!(failure(b"{\"proof\": 1}").exit_code(), 2);
    let mut next = container()?;
    next[8] = 2;
    let failure = failure(&next);
    assert_eq!(failure.exit_code(), 2);
    assert!(failure.to_string().contains("version 2"), "{failure}");
    Ok(())
}

#[test]
fn a_sealed_file_with_wrong_contents_is_refused() -> Result<(), Box<dyn Error>> {
    let file = ProofFile::parse(&container()?, &Limits::default())?;
    assert!(matches!(failure(&container()?), VerifyFailure::Format(FormatError::Proof { .. })));

    let mut other = file.header.clone();
    chain_of(&mut other).layers = 3;
    assert!(matches!(failure(&assemble(&other, &[])?), VerifyFailure::Statement));

    let mut unreduced = file.header.clone();
    unreduced.statement = ProofStatement::new(&unreduced.spec, &mut [Some(u32::MAX)].into_iter());
    assert!(matches!(failure(&assemble(&unreduced, &[])?), VerifyFailure::Statement));

    let mut costly = file.header.clone();
    chain_of(&mut costly).layer_fri.num_queries = 100_000;
    assert_eq!(failure(&assemble(&costly, &[])?).exit_code(), 3);

    let mut later = file.header;
    later.plonky3 = "0.9.0".to_owned();
    assert_eq!(failure(&assemble(&later, &[])?).exit_code(), 2);

    let mut text = container()?;
    text[24] = b'[';
    assert!(matches!(failure(&seal(text)), VerifyFailure::Format(FormatError::Header { .. })));
    let mut reserved = container()?;
    reserved[10] = 1;
    assert!(matches!(failure(&seal(reserved)), VerifyFailure::Format(FormatError::Reserved)));
    Ok(())
}

#[test]
fn limits_of_the_verifier_come_before_its_work() -> Result<(), Box<dyn Error>> {
    let bytes = container()?;
    for options in [
        VerifyOptions { max_rows: Some(4), ..VerifyOptions::any_strength() },
        VerifyOptions { max_leaves: Some(0), ..VerifyOptions::any_strength() },
        VerifyOptions { max_derive_bytes: Some(1 << 20), ..VerifyOptions::any_strength() },
    ] {
        let result = verify_bytes(&bytes, &options, &Cache::new());
        assert!(result.is_err_and(|failure| failure.class() == FailureClass::Limit));
    }
    Ok(())
}

#[test]
fn expectations_may_be_partial_but_not_wrong() -> Result<(), Box<dyn Error>> {
    let spec = Job::chain(BaseJob::fibonacci(10, 0, 1), 2).resolve()?;
    let statement = ProofStatement::Chain(Statement::new(&spec, Some(55)));
    let check = |text: &str| Expected::from_json(text).and_then(|e| e.check(&statement));
    for fits in [
        "{}",
        r#"{"layers":2}"#,
        r#"{"base":{"program":"fibonacci","n":10,"result":55}}"#,
        r#"{"fri":{"base":{"log_blowup":3}}}"#,
        &serde_json::to_string(&statement)?,
    ] {
        check(fits)?;
    }
    for (differs, field) in [
        (r#"{"layers":3}"#, "layers"),
        (r#"{"base":{"result":54}}"#, "base.result"),
        (r#"{"base":{"claimed":{"seed":1},"program":"keccak"}}"#, "base.program"),
    ] {
        let failure = check(differs).map_err(|failure| (failure.exit_code(), failure.to_string()));
        assert!(failure.as_ref().is_err_and(|(code, _)| *code == 1), "{failure:?}");
        assert!(failure.is_err_and(|(_, text)| text.contains(field)), "{differs}");
    }
    for nonsense in [r#"{"layer":2}"#, r#"{"base":{"m":1}}"#, "[]", "7", "{"] {
        assert!(check(nonsense).is_err_and(|failure| failure.exit_code() == 2), "{nonsense}");
    }
    Ok(())
}

#[test]
fn a_file_is_written_whole_or_not_at_all() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.proof");
    write_file(&path, b"old")?;
    write_file(&path, &container()?)?;
    assert_eq!(read_file(&path, &Limits::default())?, container()?);
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
    assert!(write_file(&folder.path().join("missing/a.proof"), b"x").is_err());
    assert!(read_file(&folder.path().join("missing"), &Limits::default()).is_err());
    let small = Limits { file_bytes: 10, ..Limits::default() };
    assert!(read_file(&path, &small).is_err_and(|error| error.to_string().contains("limit is 10")));
    assert!(container()?.starts_with(&MAGIC));
    Ok(())
}
