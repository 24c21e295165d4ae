//! Children of `p3-batch-stark`.

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::Digest;
use arbor_circuits::error::CompileError;

use crate::common::airs::{BatchAir, Bus, Fixed, SampleAir};
use crate::common::children::BatchChild;
use crate::common::{TINY, prove_and_verify, wrap};

fn accepted(airs: Vec<SampleAir>) -> ChildShape {
    let what = format!("{airs:?}");
    let child = BatchChild::sample(airs, TINY);
    child.verify_own().expect(&what);
    wrap(child.shape(), child.input(), &what);
    child.shape()
}

fn proved(airs: Vec<SampleAir>) {
    let what = format!("{airs:?}");
    let child = BatchChild::sample(airs, TINY);
    child.verify_own().expect(&what);
    let (layer, filled) = wrap(child.shape(), child.input(), &what);
    let (_, digest) = prove_and_verify(&layer, filled);
    assert_ne!(digest, Digest::default());
}

/// A table that sends to `pairs`, and one that takes what it sends.
fn sender_and_receiver(send: usize, receive: usize) -> [SampleAir; 2] {
    let times = (1 << send) / crate::common::airs::KEYS;
    [
        SampleAir::new(send, 7).buses(&[Bus::Send]),
        SampleAir::new(receive, 9).next().buses(&[Bus::Receive(times)]),
    ]
}

#[test]
fn one_table_alone() {
    for air in [SampleAir::new(6, 1), SampleAir::new(6, 8).next(), SampleAir::new(6, 13).degree(5)]
    {
        accepted(vec![air]);
    }
}

#[test]
fn tables_of_one_height_with_segments_inside_a_block() {
    // Widths that are no multiples of eight, opened at one point and at two, in every order.
    let one = |width| SampleAir::new(6, width);
    let two = |width| SampleAir::new(6, width).next();
    accepted(vec![one(3), one(2)]);
    accepted(vec![one(3), two(2), one(1)]);
    accepted(vec![two(3), two(2), two(1), one(5), two(9), one(7)]);
    accepted(vec![one(1), two(1), one(1), two(1), one(1), two(1), one(1), two(1), one(1)]);
    accepted(vec![two(8), one(8), two(16), one(9)]);
}

#[test]
fn tables_of_different_heights() {
    let heights =
        |all: &[usize]| all.iter().map(|&h| SampleAir::new(h, h - 3).next()).collect::<Vec<_>>();
    accepted(heights(&[6, 7]));
    accepted(heights(&[9, 6]));
    accepted(heights(&[6, 8, 7, 6, 8, 10]));
    let air = |h: usize, width, degree| SampleAir::new(h, width).degree(degree);
    accepted(vec![air(6, 5, 5), air(8, 1, 2).next(), air(7, 11, 3), air(8, 2, 5)]);
}

#[test]
fn a_bus_across_two_tables() {
    let shape = accepted(sender_and_receiver(7, 7).to_vec());
    assert_eq!(shape.num_lookup_instances(), 2);
    accepted(sender_and_receiver(6, 8).to_vec());
    proved(sender_and_receiver(8, 6).to_vec());
}

#[test]
fn several_interactions_of_one_table() {
    // Twice to one bus, so that columns may be shared; of high degree, so that they are.
    let [sender, receiver] = sender_and_receiver(7, 6);
    let Bus::Receive(times) = receiver.buses[0] else { panic!("a receiver") };
    let twice = sender.clone().buses(&[Bus::Send, Bus::Send]);
    let receiver = receiver.buses(&[Bus::Receive(2 * times)]);
    let apart = accepted(vec![twice.clone(), receiver.clone()]);
    let shared = accepted(vec![twice.degree(5), receiver]);
    assert_eq!(apart.instances[0].aux_width, 3);
    assert_eq!(shared.instances[0].aux_width, 2);
}

#[test]
fn local_lookups_beside_global_ones_and_none() {
    let all = [Bus::Local, Bus::Exclusive, Bus::Send, Bus::Local];
    let [_, receiver] = sender_and_receiver(6, 8);
    accepted(vec![SampleAir::new(6, 7).buses(&[Bus::Local])]);
    accepted(vec![SampleAir::new(6, 7).buses(&[Bus::Exclusive])]);
    accepted(vec![
        SampleAir::new(7, 3).next(),
        SampleAir::new(6, 10).next().degree(3).buses(&all),
        SampleAir::new(6, 5),
        receiver,
        SampleAir::new(7, 7).buses(&[Bus::Exclusive, Bus::Local]),
    ]);
}

#[test]
fn preprocessed_and_periodic_columns_of_some_tables() {
    let airs = vec![
        SampleAir::new(6, 5).fixed(Fixed::Next(3)).publics(4),
        SampleAir::new(7, 2).next().periodic(&[2, 128]),
        SampleAir::new(8, 3).fixed(Fixed::Local(9)).periodic(&[1, 8]),
        SampleAir::new(6, 3).next().fixed(Fixed::Local(1)),
    ];
    accepted(airs.clone());
    let [sender, receiver] = sender_and_receiver(8, 6);
    let with_buses = [airs, vec![sender.fixed(Fixed::Local(2)), receiver.next()]].concat();
    proved(with_buses);
}

#[test]
fn public_values_over_several_tables() {
    for counts in [[1, 3], [0, 4], [3, 5], [4, 4], [9, 7]] {
        let [a, b] = counts.map(|count| SampleAir::new(6, 3).publics(count));
        accepted(vec![a, b.fixed(Fixed::Local(2))]);
    }
}

#[test]
fn any_number_of_public_values_before_a_challenge() {
    // Without preprocessed columns nothing follows that would have to be aligned.
    for count in 0..=9 {
        accepted(vec![SampleAir::new(6, 3).publics(count)]);
        let mut airs = sender_and_receiver(6, 6);
        airs[0].publics = count;
        accepted(airs.to_vec());
    }
}

#[test]
fn misaligned_public_values_before_preprocessed_columns_are_refused() {
    for count in [1, 2, 3, 5, 6, 7, 9] {
        let airs = [
            BatchAir(SampleAir::new(6, 3).publics(count)),
            BatchAir(SampleAir::new(6, 3).fixed(Fixed::Local(1))),
        ];
        let refused = ChildShape::batch(&airs, &[6, 6], &TINY).expect_err("misaligned");
        assert_eq!(refused, CompileError::PublicValueAlignment { got: count });
    }
}
