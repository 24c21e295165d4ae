//! Figures and medians.

use super::figures::{Figure, Figures, median};

#[test]
fn the_median_is_the_middle_or_the_mean_of_two() {
    assert_eq!(median([]), 0.0);
    assert_eq!(median([3.0]), 3.0);
    assert_eq!(median([9.0, 1.0, 2.0]), 2.0);
    assert_eq!(median([4.0, 1.0, 2.0, 9.0]), 3.0);
}

#[test]
fn figures_come_out_in_the_order_of_the_targets() {
    let mut figures = Figures::default();
    figures.push("keccak_peak_bytes", 1.45e9);
    figures.push("steady_verify_ms", 20.0);
    figures.push("keccak_layer1_over_base", 0.1);
    let figures = figures.into_vec();
    let names: Vec<_> = figures.iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["keccak_layer1_over_base", "steady_verify_ms", "keccak_peak_bytes"]);
    let verdicts: Vec<_> = figures.iter().map(Figure::verdict).collect();
    assert_eq!(verdicts, ["wanted", "missed", "required"]);
}

#[test]
fn values_are_shown_in_their_units() {
    let shown = |name, value| Figure::new(name, value).map(|figure| figure.shown(value));
    assert_eq!(shown("steady_layer_over_base", 0.0456), Some("0.046".to_owned()));
    assert_eq!(shown("steady_verify_ms", 7.25), Some("7.2 ms".to_owned()));
    assert_eq!(shown("steady_proof_bytes", 167_400.0), Some("167.4 KB".to_owned()));
    assert_eq!(shown("steady_lde_cells", 8_257_536.0), Some("8.26 M".to_owned()));
    assert_eq!(shown("steady_permutations", 6_100.0), Some("6100".to_owned()));
    assert_eq!(shown("keccak_peak_bytes", 1.42e9), Some("1.42 GB".to_owned()));
    assert_eq!(shown("no_such_figure", 1.0), None);
}
