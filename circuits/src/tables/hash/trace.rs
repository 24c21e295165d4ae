//! Rows of H: preprocessed columns from a program, permutation columns from inputs.

use p3_field::{Field, PackedValue, PrimeCharacteristicRing};
use p3_koala_bear::{
    GenericPoseidon2LinearLayersKoalaBear as LinearLayers,
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL as FINAL,
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL as INITIAL,
    KOALABEAR_POSEIDON2_RC_16_INTERNAL as INTERNAL,
};
use p3_matrix::dense::RowMajorMatrix;
use p3_maybe_rayon::prelude::*;
use p3_poseidon2::GenericPoseidon2LinearLayers;

use super::columns::{NUM_COLS, NUM_PREPROCESSED};
use crate::config::{F, WIDTH};
use crate::program::{Access, HashRow};

type Packed = <F as Field>::Packing;

/// The preprocessed columns of `rows`, padded to `2^log_height` rows.
///
/// `names[i]` is the bus name of address i, `reads[i]` how often it is read.
#[must_use]
pub fn preprocessed_trace(
    rows: &[HashRow],
    log_height: usize,
    names: &[F],
    reads: &[u32],
) -> RowMajorMatrix<F> {
    let mut values = F::zero_vec(NUM_PREPROCESSED << log_height);
    for (cells, row) in values.chunks_exact_mut(NUM_PREPROCESSED).zip(rows) {
        let mut fixed = row.fixed;
        for (i, port) in row.ports.iter().enumerate() {
            let Some(port) = port else { continue };
            fixed.addr[i] = names[port.addr.index()];
            fixed.count[i] = match port.access {
                Access::Read | Access::ReadIndexed => F::NEG_ONE,
                Access::Write => F::from_u32(reads[port.addr.index()]),
                Access::WriteIndexed => F::ZERO,
            };
        }
        cells.copy_from_slice(&fixed.to_row());
    }
    RowMajorMatrix::new(values, NUM_PREPROCESSED)
}

/// Fills the permutation columns of every row from the inputs that are in its first columns.
pub fn fill_permutations(values: &mut [F]) {
    let rows = Packed::WIDTH * NUM_COLS;
    assert!(values.len().is_multiple_of(rows), "heights are multiples of the packing width");
    values.par_chunks_exact_mut(rows).for_each(fill_packed);
}

/// Fills as many rows as a packed element has lanes.
fn fill_packed(rows: &mut [F]) {
    let mut state: [Packed; WIDTH] =
        std::array::from_fn(|i| Packed::from_fn(|lane| rows[lane * NUM_COLS + i]));
    let mut column = WIDTH;
    let mut write = |cells: &[Packed]| {
        for (i, cell) in cells.iter().enumerate() {
            for (lane, &value) in cell.as_slice().iter().enumerate() {
                rows[lane * NUM_COLS + column + i] = value;
            }
        }
        column += cells.len();
    };
    LinearLayers::external_linear_layer(&mut state);
    for constants in &INITIAL {
        full_round(&mut state, constants);
        write(&state);
    }
    for &constant in &INTERNAL {
        state[0] = (state[0] + constant).cube();
        write(&state[..1]);
        LinearLayers::internal_linear_layer(&mut state);
    }
    for constants in &FINAL {
        full_round(&mut state, constants);
        write(&state);
    }
}

fn full_round(state: &mut [Packed; WIDTH], constants: &[F; WIDTH]) {
    for (cell, &constant) in state.iter_mut().zip(constants) {
        *cell = (*cell + constant).cube();
    }
    LinearLayers::external_linear_layer(state);
}
