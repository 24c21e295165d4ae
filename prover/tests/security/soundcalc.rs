//! Our proven figures against those of soundcalc, the public calculator, on record in `tests/soundcalc`.
//!
//! `ARBOR_REGENERATE=1` writes the TOML anew; `tests/soundcalc/figures.py` then makes the JSON. Where the
//! two differ, and by how much, is in `tests/soundcalc/README.md`.

use std::path::PathBuf;

use arbor_prover::security::{
    Regime, RegimeTerms, SecurityReport, Sizes, Term, forecast, soundcalc,
};
use arbor_prover::{BaseJob, Job, LayerSecurity};
use serde_json::Value;

use super::{spec, tree};

/// soundcalc rounds every term down to whole bits, we do not.
const ROUNDED: f64 = 1.0;
/// Logarithms of sums of floats, and 0.012 bits that grinding is worth less.
const NOISE: f64 = 0.05;

fn chain(base: BaseJob, layers: usize, preset: &str) -> Job {
    Job { preset: preset.to_owned(), ..Job::chain(base, layers) }
}

/// Name of the fixture and what it is of.
fn fixtures() -> Vec<(&'static str, Job)> {
    let leaf = || BaseJob::fibonacci(1_000, 0, 1);
    vec![
        ("keccak-chain", chain(BaseJob::keccak(1_000, 1), 4, "default")),
        ("tree-of-2", tree(leaf(), 2, 3, "default")),
        ("tree-of-8", tree(leaf(), 8, 2, "default")),
        ("proven-100-chain", chain(BaseJob::fibonacci(10_000, 0, 1), 4, "proven-100")),
        ("proven-100-tree-of-8", tree(leaf(), 8, 2, "proven-100")),
        ("compact-chain", chain(leaf(), 3, "compact")),
    ]
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/soundcalc").join(name)
}

/// What we have less than soundcalc, at least and at most, in bits: each is explained in the README of
/// the fixtures.
fn less(term: Term, johnson: Option<usize>, rate: f64, sizes: &Sizes) -> (f64, f64) {
    // n + 1 in the place of γn + 1.
    let line = if johnson.is_some() { 0.0 } else { -((1.0 - rate) / 2.0).log2() };
    // A list of (m + ½)/√ρ in the place of m/ρ.
    let list = johnson.map_or(0.0, |m| (m as f64 / (m as f64 + 0.5) / rate.sqrt()).log2());
    match term {
        Term::Constraints | Term::OutOfDomain => (-list, -list),
        // Vanishing denominators, and a try for every codeword in the list.
        Term::Lookup => {
            let width = sizes.message_width as f64;
            let tries = johnson.map_or(0.0, |m| ((m as f64 + 0.5) / rate.sqrt()).log2());
            let more = ((width + 2.0) / width).log2() + tries;
            (more, more)
        }
        Term::Batching => (line, line),
        // The points before a round in the place of those after it.
        Term::Folding => {
            let arities = sizes.rounds.iter().map(|round| round.log_arity as f64);
            let least = arities.clone().fold(f64::INFINITY, f64::min);
            (line + least, line + arities.fold(0.0, f64::max))
        }
        // A rate of (k + 2)/n in the place of k/n: less than a third of a bit at 2^10 rows.
        Term::Queries => (0.0, if johnson.is_some() { 0.0 } else { 0.3 }),
        Term::Hash => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// The figure of soundcalc for one of our terms.
fn theirs(levels: &Value, term: Term) -> Option<f64> {
    let levels = levels.as_object().expect("levels by round");
    let of = |name: &str| levels.get(name).and_then(Value::as_f64);
    match term {
        Term::Constraints => of("ALI"),
        Term::OutOfDomain => of("DEEP"),
        Term::Lookup => of("bus"),
        Term::Batching => of("batching"),
        Term::Queries => of("query phase"),
        Term::Folding => levels
            .iter()
            .filter(|(name, _)| name.starts_with("commit round"))
            .filter_map(|(_, level)| level.as_f64())
            .reduce(f64::min),
        Term::Hash => None,
    }
}

fn compare(name: &str, layer: &LayerSecurity, ours: &RegimeTerms, levels: &Value) {
    let rate = (-(layer.fri.log_blowup as f64)).exp2();
    for round in &ours.terms {
        let Some(theirs) = theirs(levels, round.term) else {
            assert_eq!(round.term, Term::Hash, "{name}: soundcalc has no {}", round.term);
            continue;
        };
        let (least, most) = less(round.term, ours.m, rate, &layer.sizes);
        let (low, high) = (theirs - most - NOISE, theirs + ROUNDED - least + NOISE);
        assert!(
            (low..=high).contains(&round.bits),
            "{name}, {}, {}: {:.2} is not in {low:.2}..={high:.2}",
            layer.layer,
            round.term,
            round.bits
        );
    }
    // What counts in the end: never more than theirs, and at most a bit and a half less.
    let total = levels["total"].as_f64().expect("a total");
    let bits = ours.bits();
    assert!((total - 1.5..=total + ROUNDED + NOISE).contains(&bits), "{name}: {bits} and {total}");
}

fn compare_all(name: &str, report: &SecurityReport) {
    let text = std::fs::read_to_string(path(&format!("{name}.json"))).expect("recorded");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["soundcalc"].as_str().map(str::len), Some(40), "the commit is on record");
    for layer in &report.layers {
        let levels = &json["levels"][&layer.layer];
        for (regime, key) in [(Regime::UniqueDecoding, "UDR"), (Regime::Johnson, "JBR")] {
            let ours = layer.regime(regime).expect("long enough for both");
            compare(name, layer, ours, &levels[key]);
        }
    }
}

#[test]
fn the_input_of_soundcalc_is_that_on_record_and_its_figures_are_ours() {
    for (name, job) in fixtures() {
        let report = forecast(&spec(&job)).expect("compiles");
        let (toml, path) = (soundcalc::toml(&report), path(&format!("{name}.toml")));
        if std::env::var_os("ARBOR_REGENERATE").is_some() {
            std::fs::write(&path, &toml).expect("writable");
        }
        let recorded = std::fs::read_to_string(&path).expect("recorded");
        assert_eq!(toml, recorded, "{name}: sizes have changed; run figures.py again");
        if std::env::var_os("ARBOR_REGENERATE").is_none() {
            compare_all(name, &report);
        }
    }
}
