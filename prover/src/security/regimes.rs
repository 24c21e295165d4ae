//! The rounds of a proof in each regime.

use arbor_circuits::config::FriConfig;
use p3_security::proximity;

use super::report::{Regime, RegimeTerms, Term, TermBits};
use super::sizes::Sizes;
use super::terms;

/// What differs between the regimes.
struct Setting<'a> {
    regime: Regime,
    m: Option<usize>,
    list: f64,
    line: &'a dyn Fn(f64) -> f64,
    queries: f64,
}

/// Lists of one element, and the heuristic for queries. A bad batching or folding challenge may exist
/// under it too, so those rounds are charged as in the unique-decoding regime, as `p3-security` does.
pub(super) fn conjectured(sizes: &Sizes, fri: &FriConfig) -> RegimeTerms {
    let setting = Setting {
        regime: Regime::Conjectured,
        m: None,
        list: proximity::list_size_conjectured(),
        line: &terms::line_unique,
        queries: terms::queries_conjectured(fri),
    };
    all(sizes, fri, &setting)
}

pub(super) fn unique_decoding(sizes: &Sizes, fri: &FriConfig) -> RegimeTerms {
    let setting = Setting {
        regime: Regime::UniqueDecoding,
        m: None,
        list: proximity::list_size_udr(),
        line: &terms::line_unique,
        queries: terms::queries(fri, terms::agreement_unique(sizes, fri)),
    };
    all(sizes, fri, &setting)
}

/// With the multiplicity that gives the most bits. None if the trace is too short for any.
pub(super) fn johnson(sizes: &Sizes, fri: &FriConfig) -> Option<RegimeTerms> {
    let candidates = (3..=terms::greatest_multiplicity(sizes)).map(|m| johnson_at(sizes, fri, m));
    candidates.max_by(|a, b| a.bits().total_cmp(&b.bits()))
}

/// With multiplicity m, at least 3 and at most [`terms::greatest_multiplicity`].
pub(super) fn johnson_at(sizes: &Sizes, fri: &FriConfig, m: usize) -> RegimeTerms {
    let setting = Setting {
        regime: Regime::Johnson,
        m: Some(m),
        list: terms::list_size_johnson(sizes, fri, m),
        line: &|points| terms::line_johnson(points, fri.log_blowup, m),
        queries: terms::queries(fri, proximity::alpha_ldr_m(fri.log_blowup, m)),
    };
    all(sizes, fri, &setting)
}

fn all(sizes: &Sizes, fri: &FriConfig, setting: &Setting<'_>) -> RegimeTerms {
    let list = setting.list;
    let rounds = [
        (Term::Constraints, Some(terms::constraints(sizes, list))),
        (Term::OutOfDomain, Some(terms::out_of_domain(sizes, fri, list))),
        (Term::Lookup, terms::lookup(sizes, fri, list)),
        (Term::Batching, Some(terms::batching(sizes, fri, setting.line))),
        (Term::Folding, terms::folding(sizes, fri, setting.line)),
        (Term::Queries, Some(setting.queries)),
        (Term::Hash, Some(terms::collision_bits())),
    ];
    let terms = rounds.into_iter().filter_map(|(term, bits)| Some(TermBits { term, bits: bits? }));
    RegimeTerms { regime: setting.regime, m: setting.m, terms: terms.collect() }
}
