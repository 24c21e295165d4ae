//! The input of soundcalc, the public calculator for proof systems that rest on hashes
//! (`github.com/ethereum/soundcalc`).
//!
//! It knows one trace height, one quotient and a LogUp sum without vanishing denominators, and it takes
//! no minimum over proofs that verify each other: each distinct circuit is a `[[circuits]]` of its
//! own here, and a proof with traces of several heights is given by its tallest, with all its values
//! opened there. Everything else has a field, all five grinding sites included.

use std::fmt::Write;

use super::report::{LayerSecurity, Regime, SecurityReport};

/// The TOML that soundcalc reads: a circuit for every distinct one of the report.
#[must_use]
pub fn toml(report: &SecurityReport) -> String {
    let mut text =
        String::from("[zkevm]\nname = \"Arbor\"\nprotocol_family = \"FRI_STARK\"\nversion = \"");
    text.push_str(env!("CARGO_PKG_VERSION"));
    text.push_str("\"\nfield = \"KoalaBear^4\"\nhash_size_bits = 248\n");
    for layer in &report.layers {
        text.push('\n');
        text.push_str(&circuit(layer));
    }
    text
}

/// One circuit.
fn circuit(layer: &LayerSecurity) -> String {
    let (fri, sizes) = (&layer.fri, &layer.sizes);
    let arities: Vec<String> =
        sizes.rounds.iter().map(|round| (1usize << round.log_arity).to_string()).collect();
    let rate = (-(fri.log_blowup as f64)).exp2();
    let mut text = String::from("[[circuits]]\n");
    let mut field = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} = {value}");
    };
    field("name", format!("\"{}\"", layer.layer));
    field("rho", rate.to_string());
    field("trace_length", (1u64 << sizes.log_max_height()).to_string());
    field("num_constraints", sizes.constraints.to_string());
    field("air_max_degree", (sizes.quotient_chunks + 1).to_string());
    field("opening_points", sizes.points.to_string());
    field("batch_size", sizes.num_openings().to_string());
    field("power_batching", "true".to_owned());
    field("num_queries", fri.num_queries.to_string());
    field("fri_folding_factors", format!("[{}]", arities.join(", ")));
    field("fri_early_stop_degree", (1u64 << fri.log_final_height()).to_string());
    field("grinding_query_phase", fri.query_pow_bits.to_string());
    field("grinding_commit_phase", fri.commit_pow_bits.to_string());
    field("grinding_batching_phase", fri.batch_pow_bits.to_string());
    field("grinding_deep", fri.ood_pow_bits.to_string());
    if let Some(m) = layer.regime(Regime::Johnson).and_then(|johnson| johnson.m) {
        field("gap_to_radius", gap(rate, m));
    }
    if sizes.fractions > 0 {
        text.push_str(&lookups(layer));
    }
    text
}

/// η = √ρ/2m, so that soundcalc decodes as far as the report does. Rounded up: it takes
/// m = ⌈√ρ/2η⌉.
fn gap(rate: f64, m: usize) -> String {
    let exact = rate.sqrt() / (2.0 * m as f64);
    format!("{:.12}", (exact * 1e12).ceil() / 1e12)
}

/// All fractions as one lookup of as many rows.
fn lookups(layer: &LayerSecurity) -> String {
    let sizes = &layer.sizes;
    format!(
        "\n[[circuits.lookups]]\nname = \"bus\"\nlogup_type = \"univariate\"\nrows_L = {}\nrows_T = \
         0\nnum_columns_S = {}\nnum_lookups_M = 1\ngrinding_bits_lookup = {}\n",
        sizes.fractions, sizes.message_width, layer.fri.lookup_pow_bits
    )
}
