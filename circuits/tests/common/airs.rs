//! An AIR whose every feature can be switched on by itself, and traces for it.

use std::borrow::Cow;

use arbor_circuits::config::F;
use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_field::PrimeCharacteristicRing;
use p3_lookup::{Count, InteractionBuilder};
use p3_matrix::dense::RowMajorMatrix;

/// Preprocessed columns of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixed {
    /// None.
    None,
    /// So many, read at the current row.
    Local(usize),
    /// So many, read at both rows.
    Next(usize),
}

/// Interactions of a sample, on columns 1 to 6. A tuple is `(k, 3k + 1)` with `k` below [`KEYS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// One tuple a row to the bus `pairs`.
    Send,
    /// Takes every tuple so often from the bus `pairs`.
    Receive(usize),
    /// A column against a column of the same table.
    Local,
    /// Sends or receives, as a flag says, on the bus `choices`.
    Exclusive,
}

/// Distinct keys of the lookups.
pub const KEYS: usize = 8;

/// A table with one rule: the first column is a power of the last one plus whatever preprocessed and
/// periodic columns hold, on the same row or on the next.
#[derive(Clone, Debug)]
pub struct SampleAir {
    pub log_height: usize,
    pub width: usize,
    pub next: bool,
    pub degree: usize,
    pub publics: usize,
    pub fixed: Fixed,
    pub periodic: Vec<Vec<F>>,
    pub buses: Vec<Bus>,
}

impl SampleAir {
    /// A narrow table of degree 2 without anything else.
    pub fn new(log_height: usize, width: usize) -> Self {
        Self {
            log_height,
            width,
            next: false,
            degree: 2,
            publics: 0,
            fixed: Fixed::None,
            periodic: vec![],
            buses: vec![],
        }
    }

    pub fn next(self) -> Self {
        Self { next: true, ..self }
    }

    pub fn degree(self, degree: usize) -> Self {
        Self { degree, ..self }
    }

    pub fn publics(self, publics: usize) -> Self {
        Self { publics, ..self }
    }

    pub fn fixed(self, fixed: Fixed) -> Self {
        Self { fixed, ..self }
    }

    /// Columns of these periods.
    pub fn periodic(self, periods: &[usize]) -> Self {
        let column = |&period: &usize| {
            (0..period).map(|i| F::from_usize(i * i + 5 * period + 2)).collect::<Vec<_>>()
        };
        Self { periodic: periods.iter().map(column).collect(), ..self }
    }

    pub fn buses(self, buses: &[Bus]) -> Self {
        Self { buses: buses.to_vec(), ..self }
    }

    fn fixed_columns(&self) -> usize {
        match self.fixed {
            Fixed::None => 0,
            Fixed::Local(width) | Fixed::Next(width) => width,
        }
    }

    fn fixed_cell(&self, row: usize, column: usize) -> F {
        let row = row & ((1 << self.log_height) - 1);
        F::from_usize((row + 3) * (row + 2 * column + 1))
    }

    /// A trace that satisfies the rule, and its public values.
    pub fn trace(&self) -> (RowMajorMatrix<F>, Vec<F>) {
        let (height, width) = (1 << self.log_height, self.width);
        let mut values = F::zero_vec(height * width);
        for row in 0..height {
            for column in 1..width {
                values[row * width + column] = self.free_cell(row, column);
            }
        }
        for row in 0..height {
            let target = if self.next { row + 1 } else { row };
            if width == 1 && !self.next {
                values[row] = F::from_bool(row % 3 == 1);
            } else if target < height {
                let last = values[row * width + width - 1];
                let power = last.exp_u64(self.degree as u64);
                values[target * width] = power + self.source(row);
            }
        }
        let end = (height - 1) * width;
        let publics = (0..self.publics).map(|i| {
            let start = if i % 2 == 0 { 0 } else { end };
            values[start + i % width] * F::from_usize(i + 1)
        });
        let publics = publics.collect();
        (RowMajorMatrix::new(values, width), publics)
    }

    /// A column that the rule leaves free.
    fn free_cell(&self, row: usize, column: usize) -> F {
        let height = 1 << self.log_height;
        let key = row % KEYS;
        let number = match (self.buses.is_empty(), column) {
            (false, 1) => key,
            (false, 2) => 3 * key + 1,
            (false, 3) => self.received() * usize::from(row < KEYS),
            (false, 4) => row,
            (false, 5) => height / KEYS * usize::from(row < KEYS),
            (false, 6) => row / KEYS % 2,
            _ => (row + 2) * (row + 11) * (column + 1) + 7 * column,
        };
        F::from_usize(number)
    }

    fn received(&self) -> usize {
        let times = self.buses.iter().map(|bus| match bus {
            Bus::Receive(times) => *times,
            _ => 0,
        });
        times.sum()
    }

    /// What the columns beside the trace add up to.
    fn source(&self, row: usize) -> F {
        let periodic = self.periodic.iter().map(|column| column[row % column.len()]);
        let columns = 0..self.fixed_columns();
        let fixed = columns.map(|column| match self.fixed {
            Fixed::Next(_) => self.fixed_cell(row, column) + self.fixed_cell(row + 1, column),
            _ => self.fixed_cell(row, column),
        });
        periodic.chain(fixed).sum()
    }

    fn rule<AB: AirBuilder<F = F>>(&self, builder: &mut AB) {
        let main = builder.main();
        let row: Vec<AB::Expr> = main.current_slice().iter().map(|&x| x.into()).collect();
        let power = row[self.width - 1].exp_u64(self.degree as u64);
        let mut source = AB::Expr::ZERO;
        if self.fixed != Fixed::None {
            let fixed = builder.preprocessed().clone();
            source += fixed.current_slice().iter().map(|&x| x.into()).sum::<AB::Expr>();
        }
        if matches!(self.fixed, Fixed::Next(_)) {
            let fixed = builder.preprocessed().clone();
            source += fixed.next_slice().iter().map(|&x| x.into()).sum::<AB::Expr>();
        }
        source += builder.periodic_values().iter().map(|&x| x.into()).sum::<AB::Expr>();
        if self.next {
            let target: AB::Expr = main.next_slice()[0].into();
            builder.when_transition().assert_eq(target, power + source);
        } else if self.width == 1 {
            let below = row[0].exp_u64(self.degree as u64 - 1);
            builder.assert_eq(power, below);
        } else {
            builder.assert_eq(row[0].clone(), power + source);
        }
        let publics: Vec<AB::Expr> = builder.public_values().iter().map(|&x| x.into()).collect();
        for (i, public) in publics.into_iter().enumerate() {
            let cell = row[i % self.width].clone() * F::from_usize(i + 1);
            match i % 2 {
                0 => builder.when_first_row().assert_eq(cell, public),
                _ => builder.when_last_row().assert_eq(cell, public),
            }
        }
    }
}

impl BaseAir<F> for SampleAir {
    fn width(&self) -> usize {
        self.width
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<F>> {
        let width = self.fixed_columns();
        let cell = |i| self.fixed_cell(i / width, i % width);
        (width > 0)
            .then(|| RowMajorMatrix::new((0..width << self.log_height).map(cell).collect(), width))
    }

    fn preprocessed_width(&self) -> usize {
        self.fixed_columns()
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        if self.next { (0..self.width).collect() } else { vec![] }
    }

    fn preprocessed_next_row_columns(&self) -> Vec<usize> {
        match self.fixed {
            Fixed::Next(width) => (0..width).collect(),
            _ => vec![],
        }
    }

    fn num_periodic_columns(&self) -> usize {
        self.periodic.len()
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<F>]> {
        Cow::Borrowed(&self.periodic)
    }

    fn num_public_values(&self) -> usize {
        self.publics
    }
}

impl<AB: AirBuilder<F = F>> Air<AB> for SampleAir {
    fn eval(&self, builder: &mut AB) {
        self.rule(builder);
    }
}

/// The same with its interactions: a table of a batch.
#[derive(Clone, Debug)]
pub struct BatchAir(pub SampleAir);

impl BaseAir<F> for BatchAir {
    fn width(&self) -> usize {
        self.0.width()
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<F>> {
        self.0.preprocessed_trace()
    }

    fn preprocessed_width(&self) -> usize {
        self.0.preprocessed_width()
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        self.0.main_next_row_columns()
    }

    fn preprocessed_next_row_columns(&self) -> Vec<usize> {
        self.0.preprocessed_next_row_columns()
    }

    fn num_periodic_columns(&self) -> usize {
        self.0.num_periodic_columns()
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<F>]> {
        self.0.periodic_columns()
    }

    fn num_public_values(&self) -> usize {
        self.0.num_public_values()
    }
}

impl<AB: AirBuilder<F = F> + InteractionBuilder> Air<AB> for BatchAir {
    fn eval(&self, builder: &mut AB) {
        self.0.rule(builder);
        let main = builder.main();
        let cell = |column: usize| -> AB::Expr { main.current_slice()[column].into() };
        for bus in &self.0.buses {
            match bus {
                Bus::Send => builder.push_interaction("pairs", [cell(1), cell(2)], 1),
                Bus::Receive(_) => {
                    let count = Count::provided(-cell(3));
                    builder.push_interaction("pairs", [cell(1), cell(2)], count);
                }
                Bus::Local => builder.push_local_interaction([
                    (vec![cell(1)], Count::from(1)),
                    (vec![cell(4)], Count::provided(-cell(5))),
                ]),
                Bus::Exclusive => {
                    builder.assert_bool(cell(6));
                    let other = AB::Expr::ONE - cell(6);
                    builder.push_exclusive_interaction(
                        "choices",
                        [
                            (cell(6), Count::from(1), vec![cell(1), cell(2), cell(1)]),
                            (other, Count::from(-1), vec![cell(1), cell(2), cell(1)]),
                        ],
                    );
                }
            }
        }
    }
}

/// a, b ↦ b, a + b, with the first two values and the last one public.
#[derive(Clone, Debug)]
pub struct FibonacciAir;

impl FibonacciAir {
    pub fn trace(log_height: usize) -> (RowMajorMatrix<F>, Vec<F>) {
        let (mut a, mut b) = (F::from_u8(3), F::from_u8(4));
        let mut values = vec![];
        for _ in 0..1 << log_height {
            values.extend([a, b]);
            (a, b) = (b, a + b);
        }
        let publics = vec![values[0], values[1], values[values.len() - 1]];
        (RowMajorMatrix::new(values, 2), publics)
    }
}

impl BaseAir<F> for FibonacciAir {
    fn width(&self) -> usize {
        2
    }

    fn num_public_values(&self) -> usize {
        3
    }
}

impl<AB: AirBuilder<F = F>> Air<AB> for FibonacciAir {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let [a, b] = [main.current_slice()[0], main.current_slice()[1]];
        let [next_a, next_b] = [main.next_slice()[0], main.next_slice()[1]];
        let publics: Vec<AB::Expr> = builder.public_values().iter().map(|&x| x.into()).collect();
        builder.when_first_row().assert_eq(a, publics[0].clone());
        builder.when_first_row().assert_eq(b, publics[1].clone());
        builder.when_transition().assert_eq(next_a, b);
        builder.when_transition().assert_eq(next_b, a.into() + b.into());
        builder.when_last_row().assert_eq(b, publics[2].clone());
    }
}
