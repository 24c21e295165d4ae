//! Every round against a computation of its own, or against `p3-uni-stark`'s.

use arbor_circuits::child::ChildShape;
use arbor_circuits::circuit;
use arbor_circuits::config::FriConfig;
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::tables::LayerAir;
use arbor_circuits::tables::arith::{self, ArithAir, Publics};
use arbor_circuits::tables::hash::{self, HashAir};
use arbor_prover::security::{LayerSecurity, Regime, RegimeTerms, Sizes, Term, terms};
use p3_air::symbolic::AirLayout;
use p3_field::PrimeCharacteristicRing;
use p3_field::coset::TwoAdicMultiplicativeCoset;
use p3_keccak_air::KeccakAir;
use p3_matrix::dense::RowMajorMatrix;
use p3_security::GrindingSites;
use p3_security::fri::FriRegime;
use p3_uni_stark::{ConjecturedSecurity, OpeningShape, ProvenSecurity, StarkSecurityParams};

use arbor_circuits::config::{EF, F};

/// log₂ of p⁴, computed once more.
const FIELD: f64 = 123.954_741;

fn fri() -> FriConfig {
    FriConfig {
        log_blowup: 2,
        max_log_arity: 4,
        log_final_poly_len: 5,
        cap_height: 5,
        num_queries: 54,
        batch_pow_bits: 0,
        lookup_pow_bits: 0,
        ood_pow_bits: 0,
        commit_pow_bits: 0,
        query_pow_bits: 15,
    }
}

/// One of the grinding sites among the parameters.
type Site = fn(&mut FriConfig) -> &mut usize;

/// Proofs of a circuit of 2^13 rows: one table, with lookups.
fn circuit(fri: &FriConfig) -> ChildShape {
    circuit::shape_of(4, 13, fri).expect("fits")
}

/// Tables of two heights in one proof.
fn two_heights(log_heights: [usize; 2], fri: &FriConfig) -> ChildShape {
    let columns = |width| std::sync::Arc::new(RowMajorMatrix::new(Vec::new(), width));
    let airs = [
        LayerAir::Arith(ArithAir {
            publics: Publics::Digest,
            preprocessed: columns(arith::NUM_PREPROCESSED),
        }),
        LayerAir::Hash(HashAir { preprocessed: columns(hash::NUM_PREPROCESSED) }),
    ];
    ChildShape::batch(&airs, &log_heights, fri).expect("fits")
}

fn regime(shape: &ChildShape, regime: Regime) -> RegimeTerms {
    LayerSecurity::of("x", shape).regime(regime).expect("the trace is long enough").clone()
}

#[track_caller]
fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 0.001, "{got} instead of {expected}");
}

#[test]
fn the_lookup_term_of_a_layer_is_that_of_a_computation_by_hand() {
    let layer = PreparedLayer::shape_of(&[circuit(&fri())], &fri(), 13).expect("compiles");
    assert_eq!(layer.log_heights(), [13, 13]);
    // E sends four messages a row and H three; a message is an address and four coordinates.
    let fractions = 7.0 * 8192.0_f64;
    let unique = regime(&layer, Regime::UniqueDecoding).term(Term::Lookup).expect("lookups");
    close(unique, FIELD - (fractions * (5.0 + 2.0)).log2());
    let johnson = regime(&layer, Regime::Johnson);
    let list = (johnson.m.expect("m") as f64 + 0.5) / 0.5;
    close(johnson.term(Term::Lookup).expect("lookups"), unique - list.log2());
}

#[test]
fn the_other_terms_are_those_of_computations_by_hand() {
    let shape = circuit(&fri());
    let sizes = Sizes::of(&shape);
    let (rows, points) = (8192.0_f64, 32768.0_f64);
    let openings = sizes.num_openings() as f64;
    let terms = regime(&shape, Regime::UniqueDecoding);
    let of = |term| terms.term(term).expect("every round");
    close(of(Term::Batching), FIELD - ((openings - 1.0) * (points + 1.0)).log2());
    close(of(Term::Folding), FIELD - (15.0 * (points + 1.0)).log2());
    close(of(Term::Constraints), FIELD - (sizes.constraints as f64).log2());
    // Degree 3, two chunks; opened at two points, as LogUp sums are.
    close(of(Term::OutOfDomain), FIELD - (3.0 * (rows + 1.0) + rows - 1.0).log2());
    let agreement = (1.0 + (rows + 2.0) / points) / 2.0;
    close(of(Term::Queries), 15.0 - 54.0 * agreement.log2());
    close(of(Term::Hash), FIELD);

    let terms = regime(&shape, Regime::Johnson);
    let m = terms.m.expect("m") as f64;
    let (t, rate) = (m + 0.5, 0.25_f64);
    let radius = 1.0 - rate.sqrt() * (1.0 + 0.5 / m);
    let line = ((2.0 * t.powi(5) + 3.0 * t * radius * rate) * points / (3.0 * rate.powf(1.5))
        + t / rate.sqrt())
    .log2();
    let of = |term| terms.term(term).expect("every round");
    close(of(Term::Batching), FIELD - (openings - 1.0).log2() - line);
    close(of(Term::Folding), FIELD - 15.0_f64.log2() - line);
    close(of(Term::Queries), 15.0 + 54.0 * (1.0 - (1.0 + 0.5 / m).log2()));
    close(of(Term::Constraints), FIELD - (sizes.constraints as f64 * t / 0.5).log2());
}

#[test]
fn published_figures_come_out_again() {
    // 124 queries at blowup 4 and 102 at blowup 8, 16 bits of grinding: 100.1 and 99.9 bits.
    let queries = |log_blowup, num_queries| {
        let fri = FriConfig { log_blowup, num_queries, query_pow_bits: 16, ..fri() };
        let bits = regime(&circuit(&fri), Regime::UniqueDecoding).term(Term::Queries);
        bits.expect("every proof has queries")
    };
    assert!((queries(2, 124) - 100.1).abs() < 0.06, "{}", queries(2, 124));
    assert!((queries(3, 102) - 100.7).abs() < 0.06, "{}", queries(3, 102));
    // 54 queries at blowup 4, 15 bits: 51.6 by unique decoding, 68 in the Johnson regime.
    let usual = LayerSecurity::of("x", &circuit(&fri()));
    let unique = usual.regime(Regime::UniqueDecoding).expect("always").bits();
    assert!((unique - 51.6).abs() < 0.06, "{unique}");
    assert!((67.0..69.0).contains(&usual.proven.bits), "{:?}", usual.proven);
    assert_eq!(usual.proven.regime, Regime::Johnson);
    close(usual.naive.bits, 123.0);
}

#[test]
fn keccak_comes_to_what_the_adapter_of_uni_stark_says() {
    let fri = FriConfig { batch_pow_bits: 3, commit_pow_bits: 5, ood_pow_bits: 2, ..fri() };
    let (log_height, air) = (15, KeccakAir {});
    let params = StarkSecurityParams::from_air::<F, EF, _>(
        FriRegime {
            log_blowup: fri.log_blowup,
            num_queries: fri.num_queries,
            log_final_poly_len: fri.log_final_poly_len,
            max_log_arity: fri.max_log_arity,
            commit_pow_bits: fri.commit_pow_bits,
            query_pow_bits: fri.query_pow_bits,
        },
        &air,
        AirLayout::from_air::<F>(&air),
        TwoAdicMultiplicativeCoset::new(F::ONE, log_height).expect("in range"),
        124,
        124,
        2,
        OpeningShape::new(),
        GrindingSites {
            batch_combination: fri.batch_pow_bits,
            out_of_domain: fri.ood_pow_bits,
            lookup_challenge: 0,
        },
    );
    let shape = ChildShape::uni(&air, log_height, &fri).expect("fits");
    let sizes = Sizes::of(&shape);
    assert_eq!(sizes.num_openings(), params.num_batched_functions);
    assert_eq!(sizes.constraints, params.num_constraints);
    assert_eq!(sizes.quotient_chunks, params.num_quotient_chunks);
    assert!(sizes.quotient_chunks + 1 >= params.air_max_constraint_degree);
    assert_eq!(sizes.fractions, 0, "no lookups");

    let ours = LayerSecurity::of("x", &shape);
    let floor = |bits: f64| bits.floor() as usize;
    let proven = ProvenSecurity::compute_from_proof(log_height, &params);
    let unique = ours.regime(Regime::UniqueDecoding).expect("always").bits();
    assert_eq!(floor(unique), proven.unique_decoding_bits);
    // Theirs is the smaller error of another paper: ours may be less, never more.
    let johnson = ours.regime(Regime::Johnson).expect("long enough").bits();
    assert!(floor(johnson) <= proven.list_decoding_bits);
    let conjectured = ConjecturedSecurity::compute_from_params(&params, log_height);
    let bits = ours.conjectured.bits;
    assert!(bits <= conjectured.security_bits as f64 + 1.0, "{bits}");
    assert!(bits >= conjectured.security_bits as f64 - 0.1, "{bits}");
}

#[test]
fn grinding_at_each_site_moves_its_own_term_and_no_other() {
    let sites: [(Term, Site); 5] = [
        (Term::Batching, |fri| &mut fri.batch_pow_bits),
        (Term::Lookup, |fri| &mut fri.lookup_pow_bits),
        (Term::OutOfDomain, |fri| &mut fri.ood_pow_bits),
        (Term::Folding, |fri| &mut fri.commit_pow_bits),
        (Term::Queries, |fri| &mut fri.query_pow_bits),
    ];
    for (site, field) in sites {
        let mut more = fri();
        *field(&mut more) += 7;
        let credit = terms::grinding(*field(&mut more)) - terms::grinding(*field(&mut fri()));
        for which in [Regime::Conjectured, Regime::UniqueDecoding] {
            let (before, after) = (regime(&circuit(&fri()), which), regime(&circuit(&more), which));
            for (before, after) in before.terms.iter().zip(&after.terms) {
                let moved = if before.term == site { credit } else { 0.0 };
                close(after.bits, before.bits + moved);
            }
        }
    }
}

#[test]
fn grinding_is_worth_no_more_than_its_bits() {
    assert_eq!(terms::grinding(0), 0.0);
    for bits in 1..=24 {
        let worth = terms::grinding(bits);
        assert!(worth <= bits as f64 && worth > bits as f64 - 0.012, "{bits}: {worth}");
    }
}

#[test]
fn more_queries_are_never_less_secure() {
    let mut last = [0.0; 3];
    for num_queries in [1, 2, 10, 54, 100, 124, 200, 512] {
        let security = LayerSecurity::of("x", &circuit(&FriConfig { num_queries, ..fri() }));
        let figures = [&security.naive, &security.conjectured, &security.proven];
        let bits = figures.map(|figure| figure.bits);
        assert!(bits.iter().zip(last).all(|(bits, last)| *bits >= last), "{num_queries}: {bits:?}");
        last = bits;
    }
    assert!(last[2] > 90.0 && last[2] < 110.0, "the other rounds bind at last: {last:?}");
}

#[test]
fn tables_of_several_heights_are_charged_together() {
    let both = two_heights([10, 14], &fri());
    let sizes = Sizes::of(&both);
    assert_eq!(sizes.openings.len(), 2);
    assert_eq!(sizes.log_max_height(), 14);
    assert_eq!(sizes.log_min_height(), 10);
    assert_eq!(sizes.rounds.iter().filter(|round| round.joins).count(), 1);
    assert_eq!(sizes.fractions, 4 * 1024 + 3 * 16384);
    // The round that the shorter codeword joins is a curve of one degree more.
    let joined = sizes.rounds.iter().find(|round| round.joins).expect("one");
    assert_eq!(joined.degree(), 1 << joined.log_arity);

    let bits = |shape: &ChildShape, term| {
        regime(shape, Regime::UniqueDecoding).term(term).expect("every round")
    };
    let same = two_heights([14, 14], &fri());
    let (short, tall) = (&sizes.openings[1], &sizes.openings[0]);
    let error = (short.count - 1) as f64 * 4097.0 + (tall.count - 1) as f64 * 65537.0;
    close(bits(&both, Term::Batching), FIELD - error.log2());
    assert!(bits(&both, Term::Batching) > bits(&same, Term::Batching));
    // Lists of both heights multiply.
    let johnson = regime(&both, Regime::Johnson);
    let list = ((johnson.m.expect("m") as f64 + 0.5) / 0.5).powi(2);
    let constraints = johnson.term(Term::Constraints).expect("always");
    close(constraints, FIELD - (sizes.constraints as f64 * list).log2());
}

#[test]
fn a_schedule_of_low_arities_only_is_charged_too() {
    // 2^8 points down to 2^7: one round of two, which p3-security divides away.
    let fri = FriConfig { log_blowup: 2, log_final_poly_len: 5, ..fri() };
    let shape = ChildShape::uni(&KeccakAir {}, 6, &fri).expect("fits");
    assert_eq!(Sizes::of(&shape).rounds.len(), 1);
    let folding = regime(&shape, Regime::UniqueDecoding).term(Term::Folding).expect("charged");
    close(folding, FIELD - 257.0_f64.log2());
}
