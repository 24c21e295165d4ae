//! The constraints of one Poseidon2 permutation a row.

use p3_air::AirBuilder;
use p3_field::PrimeCharacteristicRing;
use p3_koala_bear::{
    GenericPoseidon2LinearLayersKoalaBear as LinearLayers,
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL as FINAL,
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL as INITIAL,
    KOALABEAR_POSEIDON2_RC_16_INTERNAL as INTERNAL,
};
use p3_poseidon2::GenericPoseidon2LinearLayers;

use super::columns::{HALF_FULL_ROUNDS, HashCols, PARTIAL_ROUNDS};
use crate::config::{F, WIDTH};

/// Output = Poseidon2(input): each full round writes its state, each partial round its S-box.
pub(super) fn constrain<AB: AirBuilder<F = F>>(builder: &mut AB, row: &HashCols<'_, AB::Var>) {
    let mut state: [AB::Expr; WIDTH] = row.input().map(Into::into);
    LinearLayers::external_linear_layer(&mut state);
    for (round, constants) in INITIAL.iter().enumerate() {
        constrain_full_round(builder, &mut state, constants, row.full_round(round));
    }
    for (round, &constant) in INTERNAL.iter().enumerate().take(PARTIAL_ROUNDS) {
        let sbox = (state[0].clone() + constant).cube();
        let written = row.partial_round(round);
        builder.assert_eq(sbox, written);
        state[0] = written.into();
        LinearLayers::internal_linear_layer(&mut state);
    }
    for (round, constants) in FINAL.iter().enumerate() {
        let written = row.full_round(HALF_FULL_ROUNDS + round);
        constrain_full_round(builder, &mut state, constants, written);
    }
}

fn constrain_full_round<AB: AirBuilder<F = F>>(
    builder: &mut AB,
    state: &mut [AB::Expr; WIDTH],
    constants: &[F; WIDTH],
    written: [AB::Var; WIDTH],
) {
    for (cell, &constant) in state.iter_mut().zip(constants) {
        *cell = (cell.clone() + constant).cube();
    }
    LinearLayers::external_linear_layer(state);
    for (cell, written) in state.iter_mut().zip(written) {
        builder.assert_eq(cell.clone(), written);
        *cell = written.into();
    }
}
