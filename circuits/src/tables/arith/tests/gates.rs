//! Gates of E against the arithmetic of the extension field.

use std::sync::Arc;

use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing};
use p3_matrix::dense::RowMajorMatrix;
use proptest::prelude::*;

use crate::config::{D, EF, F};
use crate::program::{Addr, Gate, ProgramBuilder, Role};
use crate::tables::LayerAir;
use crate::tables::arith::{
    ArithAir, ArithPreprocessed, NUM_COLS, NUM_PREPROCESSED, Publics, fill_rows, preprocessed_trace,
};
use crate::tables::testing::Subject;

fn any_base() -> impl Strategy<Value = F> {
    prop_oneof![
        1 => Just(F::ZERO),
        1 => Just(F::ONE),
        1 => Just(F::NEG_ONE),
        5 => any::<u32>().prop_map(|value| F::from_u64(value.into())),
    ]
}

fn any_ext() -> impl Strategy<Value = EF> {
    [any_base(), any_base(), any_base(), any_base()]
        .prop_map(|limbs| EF::from_basis_coefficients_fn(|i| limbs[i]))
}

fn limbs(value: EF) -> [F; D] {
    let limbs: &[F] = value.as_basis_coefficients_slice();
    std::array::from_fn(|i| limbs[i])
}

/// Whether one row with these ports satisfies the gate.
fn holds(q: [F; 5], ports: [EF; 4]) -> bool {
    let zero = F::ZERO;
    let fixed = ArithPreprocessed { addr: [zero; 4], q, count_a: zero, count_out: zero };
    let preprocessed = Arc::new(RowMajorMatrix::new(fixed.to_row().to_vec(), NUM_PREPROCESSED));
    let air = LayerAir::Arith(ArithAir { publics: Publics::Scalars(0), preprocessed });
    let trace = RowMajorMatrix::new(ports.map(limbs).concat(), NUM_COLS);
    let subject = Subject { air: &air, trace: &trace, publics: &[] };
    subject.probe(0, [subject.cells(0); 2]).failed.is_empty()
}

/// The one row that `build` adds to a program, which has these values at the addresses of its ports.
fn added(build: impl FnOnce(&mut ProgramBuilder)) -> Gate {
    let mut builder = ProgramBuilder::new();
    builder.constant(F::ONE);
    build(&mut builder);
    *builder.gates.last().expect("a row was added")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_gate_is_what_it_says(
        q in [any_base(), any_base(), any_base(), any_base(), any_base()],
        a in any_ext(),
        b in any_ext(),
        c in any_ext(),
        change in any_ext(),
    ) {
        let out = a * b * q[0] + a * q[1] + b * q[2] + c * q[3] + EF::from(q[4]);
        let gate =
            Gate { a: Addr(0), b: Addr(0), c: Addr(0), out: Addr(0), q, role: Role::Compute };
        prop_assert_eq!(gate.eval(a, b, c), out);
        prop_assert!(holds(q, [a, b, c, out]));
        prop_assert_eq!(holds(q, [a, b, c, out + change]), change == EF::ZERO);
    }

    #[test]
    fn a_quotient_is_determined(num in any_ext(), den in any_ext(), other in any_ext()) {
        let q = added(|builder| {
            builder.div(Addr::ZERO, Addr::ZERO);
        }).q;
        match den.try_inverse() {
            Some(inverse) => {
                prop_assert!(holds(q, [num * inverse, den, EF::ZERO, num]));
                let same = other == num * inverse;
                prop_assert_eq!(holds(q, [other, den, EF::ZERO, num]), same);
            }
            None => prop_assert_eq!(holds(q, [other, den, EF::ZERO, num]), num == EF::ZERO),
        }
    }

    #[test]
    fn nothing_divided_by_zero_exists_but_zero(num in any_ext(), quotient in any_ext()) {
        let q = added(|builder| {
            builder.div(Addr::ZERO, Addr::ZERO);
        }).q;
        let accepted = holds(q, [quotient, EF::ZERO, EF::ZERO, num]);
        prop_assert_eq!(accepted, num == EF::ZERO);
    }

    #[test]
    fn zero_has_no_inverse(inverse in any_ext()) {
        let gate = added(|builder| {
            builder.inverse(Addr::ZERO);
        });
        prop_assert_eq!(gate.role, Role::Quotient);
        prop_assert!(!holds(gate.q, [inverse, EF::ZERO, EF::ZERO, EF::ONE]));
    }

    #[test]
    fn a_boolean_is_zero_or_one(value in any_ext()) {
        let gate = added(|builder| {
            builder.boolean_input();
        });
        prop_assert!(gate.a == gate.b && gate.a == gate.out, "one address, so one value");
        let boolean = value == EF::ZERO || value == EF::ONE;
        prop_assert_eq!(holds(gate.q, [value, value, EF::ZERO, value]), boolean);
    }
}

#[test]
fn only_what_a_role_writes_has_a_count_of_reads() {
    let mut builder = ProgramBuilder::new();
    let input = builder.free_input();
    let sum = builder.add(input, input);
    let quotient = builder.div(sum, input);
    builder.assert_eq(quotient, quotient);
    let names: Vec<F> = builder.names.iter().map(|&name| F::from_u32(name)).collect();
    let fixed = preprocessed_trace(&builder.gates, 3, &names, &builder.reads);
    let counts: Vec<[F; 2]> = (0..8)
        .map(|row| ArithPreprocessed::from_row(&fixed.values[row * NUM_PREPROCESSED..][..11]))
        .map(|fixed| [fixed.count_a, fixed.count_out])
        .collect();
    let (read, none) = (F::NEG_ONE, F::ZERO);
    // The input is read by both ports of the sum and as denominator. Zero is read by the first row
    // (4), by the row that writes it (3), at ports b, c and out of the input (3), and at port c of the
    // sum (1), of the quotient (1), and at ports b and c of the assertion (2).
    let expected = [
        [read, read],
        [read, F::from_u32(14)],
        [F::from_u32(3), read],
        [read, F::ONE],
        [F::TWO, read],
        [read, read],
        [none, none],
        [none, none],
    ];
    assert_eq!(counts, expected);
}

#[test]
fn rows_hold_what_memory_has_at_their_addresses() {
    let mut builder = ProgramBuilder::new();
    let input = builder.free_input();
    let square = builder.mul(input, input);
    let mut memory = EF::zero_vec(builder.reads.len());
    memory[input.index()] = EF::from_basis_coefficients_fn(|i| F::from_usize(i + 2));
    memory[square.index()] = memory[input.index()].square();
    let trace = fill_rows(&builder.gates, 2, &memory);
    let row = &trace.values[3 * NUM_COLS..];
    let [value, square] = [input, square].map(|addr| limbs(memory[addr.index()]));
    assert_eq!(row, [value, value, [F::ZERO; D], square].concat());
}
