//! Files made by hand, one for each trick.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use arbor_circuits::config::{BatchProof, F, FriConfig};
use arbor_prover::format::assemble;
use arbor_prover::tree::{LeafSpec, ProofSpec, TreeSpec};
use arbor_prover::{
    BaseSpec, Cache, ChainSpec, FormatError, Limits, Program, ProofFile, VerifyFailure,
    verify_bytes,
};
use p3_field::PrimeField32;

use super::bounds::{WEAK, chain, fibonacci, keccak, tree};
use super::files::{claiming, golden, golden_file, header, options, refusal, seal};

/// What refusing any of these files may take. Most take milliseconds, those whose keys are derived less than a
/// second on a quiet machine.
const SOON: Duration = Duration::from_secs(20);

/// The circuits of the golden file, and of others that are within the limits.
fn cache() -> &'static Cache {
    static CACHE: OnceLock<Cache> = OnceLock::new();
    CACHE.get_or_init(Cache::new)
}

#[track_caller]
fn refused(what: &str, bytes: &[u8], code: u8) -> VerifyFailure {
    let start = Instant::now();
    let failure = refusal(bytes, &options(), cache());
    assert!(!matches!(failure, VerifyFailure::Panicked), "{what}: the verifier panicked");
    assert_eq!(failure.exit_code(), code, "{what}: {failure}");
    assert!(start.elapsed() < SOON, "{what}: {:?}", start.elapsed());
    failure
}

fn batch() -> BatchProof {
    arbor_prover::proof::decode(&golden_file().proof).expect("valid")
}

fn with_proof(change: impl FnOnce(&mut BatchProof)) -> Vec<u8> {
    let mut proof = batch();
    change(&mut proof);
    let proof = arbor_prover::FinalProof::Batch(proof).to_bytes().expect("encodes");
    assemble(&golden_file().header, &proof).expect("encodes")
}

/// The golden header with one piece of its text replaced.
fn with_text(old: &str, new: &str) -> Vec<u8> {
    let text = serde_json::to_string(&golden_file().header).expect("encodes");
    assert!(text.contains(old), "{old} is not in {text}");
    seal(text.replacen(old, new, 1).as_bytes(), &golden_file().proof)
}

/// A number in postcard's encoding.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = vec![];
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[test]
fn degree_bits_that_no_table_has() {
    for bits in [0, 1, 24, 31, 32, 60, 63, 64, 1 << 20, usize::MAX] {
        for table in 0..batch().degree_bits.len() {
            refused("degree bits", &with_proof(|proof| proof.degree_bits[table] = bits), 1);
        }
        refused("degree bits", &with_proof(|proof| proof.degree_bits.fill(bits)), 1);
    }
    refused("no degree bits", &with_proof(|proof| proof.degree_bits.clear()), 1);
    refused("many degree bits", &with_proof(|proof| proof.degree_bits.resize(10_000, 9)), 1);
}

#[test]
fn lengths_of_2_to_the_60_everywhere() {
    let file = golden_file();
    let places = (0..300).chain((300..file.proof.len()).step_by(97));
    for place in places {
        for length in [1 << 60, u64::MAX, u64::from(u32::MAX), 1 << 24] {
            let mut proof = file.proof.clone();
            proof.splice(place..=place, varint(length));
            refused("an enormous length", &assemble(&file.header, &proof).expect("encodes"), 1);
        }
    }
}

#[test]
fn proofs_of_nothing_and_of_one_byte_repeated() {
    let file = golden_file();
    for byte in [0, 1, 2, 0x20, 0x7f, 0x80, 0xff] {
        for length in [0, 1, 2, 100, 10_000, 1 << 20] {
            let proof = vec![byte; length];
            refused("one byte repeated", &assemble(&file.header, &proof).expect("encodes"), 1);
        }
    }
}

#[test]
fn field_elements_out_of_range() {
    // A length of one byte, then the digests of the first cap.
    let file = golden_file();
    assert!(file.proof[0] < 0x80);
    for element in [0, 1, 7] {
        for value in [F::ORDER_U32, F::ORDER_U32 + 1, u32::MAX] {
            let mut proof = file.proof.clone();
            proof[1 + 4 * element..][..4].copy_from_slice(&value.to_le_bytes());
            let bytes = assemble(&file.header, &proof).expect("encodes");
            let failure = refused("a field element out of range", &bytes, 1);
            assert!(matches!(failure, VerifyFailure::Format(FormatError::Proof { .. })));
        }
    }
}

#[test]
fn one_proof_has_one_encoding() {
    let file = golden_file();
    let mut proof = file.proof.clone();
    let length = proof[0];
    proof.splice(0..1, [length | 0x80, 0]);
    let bytes = assemble(&file.header, &proof).expect("encodes");
    let failure = refused("a number with leading zeros", &bytes, 1);
    assert!(failure.to_string().contains("shortest"), "{failure}");
}

#[test]
fn caps_of_other_lengths() {
    let resized = |roots: &[[F; 8]], length: usize| {
        let roots = roots.iter().cycle().take(length).copied().collect::<Vec<_>>();
        arbor_circuits::config::Cap::new(roots)
    };
    for length in [1, 2, 16, 64, 1 << 15] {
        refused(
            "a cap",
            &with_proof(|p| {
                p.commitments.main = resized(p.commitments.main.roots(), length);
            }),
            1,
        );
        refused(
            "a cap",
            &with_proof(|p| {
                let cap = &mut p.opening_proof.commit_phase_commits[0];
                *cap = resized(cap.roots(), length);
            }),
            1,
        );
    }
}

#[test]
fn caps_that_are_no_level_of_a_tree() {
    // The cap of the main trace comes first: its length, then digests of 32 bytes.
    let file = golden_file();
    let length = usize::from(file.proof[0]);
    for roots in [0, 3, 5, length - 1, length + 1] {
        let mut proof = vec![roots as u8];
        proof.extend(file.proof[1..=32 * length].iter().cycle().take(32 * roots));
        proof.extend(&file.proof[1 + 32 * length..]);
        let bytes = assemble(&file.header, &proof).expect("encodes");
        let failure = refused("a cap", &bytes, 1);
        assert!(matches!(failure, VerifyFailure::Format(FormatError::Proof { .. })), "{failure}");
    }
}

fn fri(change: impl FnOnce(&mut FriConfig)) -> FriConfig {
    let mut fri = WEAK;
    change(&mut fri);
    fri
}

fn one(base: BaseSpec, layers: usize, fri: FriConfig) -> ProofSpec {
    ProofSpec::Chain(ChainSpec { base, layers, layer_fri: fri, last_fri: fri })
}

#[test]
fn parameters_out_of_range_are_refused_with_3() {
    let changes: [fn(&mut FriConfig); 16] = [
        |fri| fri.log_blowup = 0,
        |fri| fri.log_blowup = 5,
        |fri| fri.log_blowup = usize::MAX,
        |fri| fri.max_log_arity = 0,
        |fri| fri.max_log_arity = usize::MAX,
        |fri| fri.log_final_poly_len = 9,
        |fri| fri.log_final_poly_len = usize::MAX,
        |fri| fri.cap_height = 6,
        |fri| fri.cap_height = usize::MAX,
        |fri| fri.num_queries = 0,
        |fri| fri.num_queries = 513,
        |fri| fri.num_queries = usize::MAX,
        |fri| fri.query_pow_bits = 25,
        |fri| fri.query_pow_bits = usize::MAX,
        |fri| fri.batch_pow_bits = 64,
        |fri| fri.commit_pow_bits = 31,
    ];
    for change in changes {
        let bad = fri(change);
        for spec in [
            one(fibonacci(10, bad), 1, WEAK),
            one(fibonacci(10, WEAK), 1, bad),
            tree(vec![LeafSpec::Base(fibonacci(10, bad)), LeafSpec::Base(fibonacci(10, WEAK))], 2),
            tree(
                vec![LeafSpec::Base(fibonacci(10, WEAK)), chain(fibonacci(1, WEAK), 2, WEAK, bad)],
                2,
            ),
        ] {
            refused("FRI parameters", &claiming(&spec), 3);
        }
    }
    for (n, a, b) in [(u64::MAX, 0, 1), (1 << 60, 0, 1), (1, u64::MAX, 0), (1, 0, 1 << 31)] {
        let base = BaseSpec { program: Program::Fibonacci { n, a, b }, fri: WEAK };
        refused("Fibonacci", &seal(&text_of(&one(base, 1, WEAK)), &golden_file().proof), 3);
    }
    for num_hashes in [0, 1 << 22, 1 << 60, u64::MAX] {
        refused("Keccak", &claiming(&one(keccak(num_hashes.min(1 << 40), WEAK), 1, WEAK)), 3);
        let text = String::from_utf8(text_of(&one(keccak(77_777, WEAK), 1, WEAK))).expect("JSON");
        let text = text.replacen("77777", &num_hashes.to_string(), 1);
        refused("Keccak", &seal(text.as_bytes(), &golden_file().proof), 3);
    }
    for layers in [65, 1 << 32, usize::MAX] {
        refused("layers", &claiming(&one(fibonacci(1, WEAK), layers, WEAK)), 3);
    }
    let leaf = || LeafSpec::Base(fibonacci(1, WEAK));
    for (leaves, arity) in [(2, 0), (2, 1), (2, 9), (2, 1000), (0, 2), (1, 2), (4097, 2)] {
        let spec = tree(vec![leaf(); leaves], arity);
        refused("a tree", &seal(&text_of(&spec), &golden_file().proof), 3);
    }
}

/// A header of these parameters with the golden statement: enough where parameters are refused.
fn text_of(spec: &ProofSpec) -> Vec<u8> {
    let file = golden_file();
    let header = arbor_prover::Header { spec: spec.clone(), ..file.header };
    serde_json::to_vec(&header).expect("encodes")
}

#[test]
fn parameters_that_would_take_minutes_are_refused_with_3() {
    let most = fri(|fri| {
        fri.num_queries = 512;
        fri.log_blowup = 4;
    });
    let eight = |leaf: LeafSpec| tree(vec![leaf; 8], 8);
    let strong = |leaf: LeafSpec| {
        ProofSpec::Tree(TreeSpec {
            arity: 8,
            leaves: vec![leaf; 8],
            layer_fri: most,
            last_fri: most,
        })
    };
    let specs = [
        one(fibonacci(1 << 21, WEAK), 1, WEAK),
        one(keccak(40_000, most), 1, most),
        one(keccak(1, most), 3, most),
        one(fibonacci((1 << 20) - 16, most), 1, WEAK),
        eight(LeafSpec::Base(keccak(40_000, most))),
        strong(LeafSpec::Base(keccak(1, most))),
        strong(chain(fibonacci(1, most), 2, WEAK, most)),
    ];
    for (i, spec) in specs.iter().enumerate() {
        let failure = refused(&format!("costly parameters {i}"), &claiming(spec), 3);
        assert!(matches!(failure, VerifyFailure::OverLimit { .. }), "{failure}");
    }
    // More queries than the domain has points is no more than work.
    let many = fri(|fri| fri.num_queries = 512);
    refused("more queries than rows", &claiming(&one(fibonacci(1, many), 0, many)), 1);
    refused("more queries than rows", &claiming(&one(fibonacci(1, many), 1, WEAK)), 1);
}

fn nested(depth: usize) -> ProofSpec {
    let leaf = LeafSpec::Base(fibonacci(1, WEAK));
    (0..depth).fold(tree(vec![leaf.clone(), leaf], 2), |inner, _| {
        tree(vec![LeafSpec::Proof(Box::new(inner)), LeafSpec::Base(fibonacci(1, WEAK))], 2)
    })
}

#[test]
fn deep_nesting() {
    refused("nested as deep as allowed", &claiming(&nested(7)), 1);
    refused("nested too deep", &claiming(&nested(8)), 3);
    refused("nested much too deep", &claiming(&nested(20)), 3);
    // Beyond what the JSON parser descends to.
    refused("nested beyond JSON", &claiming(&nested(60)), 1);
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("{\"proof\":", "}"), ("{\"spec\":", "}")] {
        let deep = open.repeat(100_000);
        refused("open brackets", &seal(deep.as_bytes(), &[]), 1);
        let closed = format!("{deep}1{}", close.repeat(100_000));
        refused("brackets", &seal(closed.as_bytes(), &[]), 1);
    }
}

#[test]
fn tricks_with_json() {
    let cases = [
        ("\"plonky3\":", "\"plonky3\":\"0.8.0\",\"plonky3\":"),
        ("\"name\":\"fibonacci\"", "\"name\":\"keccak\",\"name\":\"fibonacci\""),
        ("\"layers\":4", "\"layers\":4,\"layers\":4"),
        ("\"layers\":4", "\"layers\":4,\"arity\":null"),
        ("\"layers\":4", "\"layers\":4,\"arity\":2"),
        ("\"layers\":4", "\"layers\":4,\"leaves\":[]"),
        ("\"layers\":4", "\"layers\":null"),
        ("\"layers\":4", "\"layers\":4.0"),
        ("\"layers\":4", "\"layers\":-4"),
        ("\"layers\":4", "\"layers\":\"4\""),
        ("\"layers\":4", "\"layers\":4e0"),
        ("\"layers\":4", "\"layers\":04"),
        ("\"layers\":4", "\"layers\":18446744073709551620"),
        ("\"layers\":4", "\"layers\":NaN"),
        ("\"layers\":4", "\"layer\":4"),
        ("\"n\":20", "\"n\":20,\"m\":1"),
        ("\"keys\":[", "\"keys\":[\"\","),
        ("\"keys\":[\"", "\"keys\":[\"\u{1b}[2J"),
        ("{\"plonky3\"", "\u{feff}{\"plonky3\""),
        ("{\"plonky3\"", "// a comment\n{\"plonky3\""),
        ("{\"plonky3\"", "{} {\"plonky3\""),
        ("{\"plonky3\"", "[{\"plonky3\""),
    ];
    for (old, new) in cases {
        let failure = refused(new, &with_text(old, new), 1);
        let header = matches!(failure, VerifyFailure::Format(FormatError::Header { .. }));
        assert!(header, "{new}: {failure}");
    }
    let text = serde_json::to_vec(&golden_file().header).expect("encodes");
    let proof = golden_file().proof;
    for tail in [&b" {}"[..], b"]", b"\0", b"\xff"] {
        refused("a tail", &seal(&[&text, tail].concat(), &proof), 1);
    }
    let mut latin = text.clone();
    latin[3] = 0xe9;
    refused("no UTF-8", &seal(&latin, &proof), 1);
    refused("no header", &seal(&[], &proof), 1);
    refused("spaces", &seal(&[b' '; 100_000], &proof), 1);
}

#[test]
fn results_that_are_not_reduced_or_not_proved() {
    let text = serde_json::to_string(&golden_file().header).expect("encodes");
    let at = text.find("\"result\":").expect("a result") + "\"result\":".len();
    let end = at + text[at..].find('}').expect("an object");
    let result: u32 = text[at..end].parse().expect("a number");
    for (other, what) in [
        (u64::from(result) + u64::from(F::ORDER_U32), "not reduced"),
        (u64::from(result) + 1, "another"),
        (0, "zero"),
        (u64::from(u32::MAX) + 1, "too long"),
    ] {
        let changed = format!("{}{other}{}", &text[..at], &text[end..]);
        refused(what, &seal(changed.as_bytes(), &golden_file().proof), 1);
    }
}

#[test]
fn what_a_file_says_is_fit_for_a_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\\u001b[2J\\n\u{202e}";
    let long = "x".repeat(1 << 20);
    for (old, new, code) in [
        ("0.8.0", evil.replace(['\u{1b}', '\u{7}'], "\\u001b"), 2),
        ("0.8.0", long.clone(), 2),
        (
            "\"layers\"",
            format!("\"{}\":0,\"layers\"", evil.replace(['\u{1b}', '\u{7}'], "\\u001b")),
            1,
        ),
        ("\"layers\"", format!("\"{long}\":0,\"layers\""), 1),
        ("\"fibonacci\"", format!("\"{long}\""), 1),
    ] {
        let text = refused("words for a terminal", &with_text(old, &new), code).to_string();
        assert!(text.len() < 1_000, "{} bytes", text.len());
        assert!(text.chars().all(|c| c == ' ' || c.is_ascii_graphic()), "{text:?}");
    }
}

#[test]
fn names_of_nodes_are_no_place_for_words() {
    let spec = tree(vec![LeafSpec::Base(fibonacci(1, WEAK)); 3], 2);
    let text = serde_json::to_string(&header(&spec)).expect("encodes");
    for node in ["\\u001b[2J", "1/1 and more", &"1".repeat(41), "root"] {
        let changed = text.replacen(r#""node":"1/1""#, &format!(r#""node":"{node}""#), 1);
        assert_ne!(text, changed);
        let bytes = seal(changed.as_bytes(), &golden_file().proof);
        let failure = refused("the name of a node", &bytes, 1);
        assert!(matches!(failure, VerifyFailure::Format(FormatError::Header { .. })), "{failure}");
    }
}

#[test]
fn the_same_words_in_another_order_are_the_same_file() {
    // The header is JSON: spaces, escapes and the order of fields are not part of what it says.
    let spaced = serde_json::to_vec_pretty(&golden_file().header).expect("encodes");
    let escaped = with_text("\"layers\"", "\"\\u006cayers\"");
    for bytes in [golden().to_vec(), seal(&spaced, &golden_file().proof), escaped] {
        verify_bytes(&bytes, &options(), cache()).expect("the same proof");
        let file = ProofFile::parse(&bytes, &Limits::default()).expect("valid");
        assert_eq!(file, golden_file());
    }
    // And a valid header over a proof of other parameters is not.
    let other = one(fibonacci(20, WEAK), 3, WEAK);
    let bytes = assemble(&header(&other), &golden_file().proof).expect("encodes");
    refused("other parameters", &bytes, 1);
}
