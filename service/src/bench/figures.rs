//! The figures, and what the project asks of itself.

use serde::Serialize;

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// What was measured. Times in ms, sizes in bytes or cells, ratios to the Keccak base.
    pub value: f64,
    /// Most that is acceptable.
    pub required: f64,
    /// Most that would be good.
    pub wanted: f64,
}

impl Figure {
    /// The figure `name` with this value; `None` if there is no such figure.
    #[must_use]
    pub fn new(name: &'static str, value: f64) -> Option<Self> {
        let (_, required, wanted) = *TARGETS.iter().find(|(known, ..)| *known == name)?;
        Some(Self { name, value, required, wanted })
    }

    /// `value` in the unit of this figure, for people.
    #[must_use]
    pub fn shown(&self, value: f64) -> String {
        if self.name.ends_with("_over_base") {
            format!("{value:.3}")
        } else if self.name.ends_with("_ms") {
            format!("{value:.1} ms")
        } else if self.name.ends_with("peak_bytes") {
            format!("{:.2} GB", value / 1e9)
        } else if self.name.ends_with("_bytes") {
            format!("{:.1} KB", value / 1e3)
        } else if self.name.ends_with("_cells") {
            format!("{:.2} M", value / 1e6)
        } else {
            format!("{value:.0}")
        }
    }

    /// How the value compares with what is asked.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        if self.value <= self.wanted {
            "wanted"
        } else if self.value <= self.required {
            "required"
        } else {
            "missed"
        }
    }
}

/// Name, most that is acceptable, most that would be good; in the order in which they are printed.
const TARGETS: [(&str, f64, f64); 14] = [
    ("keccak_layer1_over_base", 0.24, 0.17),
    ("steady_layer_over_base", 0.065, 0.045),
    ("fibonacci_layer1_over_base", 0.045, 0.025),
    ("tree2_first_over_base", 0.06, 0.045),
    ("tree2_next_over_base", 0.12, 0.09),
    ("tree8_first_over_base", 0.17, 0.12),
    ("tree8_next_over_base", 0.45, 0.33),
    ("steady_lde_cells", 8.8e6, 7.0e6),
    ("steady_permutations", 6_300.0, 4_096.0),
    ("keccak_layer1_lde_cells", 36e6, 33e6),
    ("steady_proof_bytes", 190e3, 120e3),
    ("steady_verify_ms", 10.0, 5.0),
    ("cold_verify_ms", 2_000.0, 500.0),
    ("keccak_peak_bytes", 1.5e9, 1.42e9),
];

/// Figures by name, printed in the order of [`TARGETS`] however they came in.
#[derive(Debug, Default)]
pub(super) struct Figures(Vec<Figure>);

impl Figures {
    /// Adds a figure.
    pub(super) fn push(&mut self, name: &'static str, value: f64) {
        let figure = Figure::new(name, value);
        debug_assert!(figure.is_some(), "{name} is not a figure");
        self.0.extend(figure);
    }

    /// All of them, in order.
    pub(super) fn into_vec(self) -> Vec<Figure> {
        let mut figures = self.0;
        figures.sort_by_key(|figure| TARGETS.iter().position(|(name, ..)| *name == figure.name));
        figures
    }
}

/// The median; the mean of the middle two of an even number. Zero of nothing.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.as_slice() {
        [] => 0.0,
        sorted => f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]),
    }
}
