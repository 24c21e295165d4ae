//! Grinding and queries that take a job to a minimum of proven bits.

use std::collections::HashSet;

use arbor_circuits::config::FriConfig;

use super::forecast::forecast;
use super::regimes::{johnson_at, unique_decoding};
use super::report::{Figure, LayerSecurity, RegimeTerms, Term};
use super::sizes::Sizes;
use super::terms;
use crate::error::ParamError;
use crate::fri::{MAX_POW_BITS, MAX_QUERIES};
use crate::params::BaseSpec;
use crate::tree::{LeafSpec, ProofSpec};

/// Times that parameters are raised before a job is given up. Raising those of one proof can make the proof
/// over it taller, and that one weaker, no more often than a proof grows.
const ROUNDS: usize = 16;
/// Greatest multiplicity of the Johnson regime that is tried. A greater one saves few queries and takes five
/// bits of grinding each time that it doubles.
const MAX_MULTIPLICITY: usize = 32;

/// Most distinct base computations below a proof whose parameters are raised: each is compiled for, before
/// the job is taken on. A verifier derives no more keys by default.
const MAX_DISTINCT: usize = 64;

/// Raises grinding, and where that cannot help queries, until every proof of `spec` has `minimum` proven
/// bits, by as little work as will do. Only rounds of which `may_raise` says so are touched, and none of
/// a proof that is finished. A circuit that cannot be built is left for whoever builds it to refuse.
///
/// Errors: [`ParamError::TooWeak`] with the round and the proof that bind, or too many kinds of leaves.
pub(crate) fn reach(
    mut spec: ProofSpec,
    minimum: u32,
    may_raise: &dyn Fn(Term) -> bool,
) -> Result<ProofSpec, ParamError> {
    let distinct: HashSet<BaseSpec> =
        spec.bases().into_iter().map(BaseSpec::without_inputs).collect();
    if distinct.len() > MAX_DISTINCT {
        return Err(ParamError::Refused {
            parameter: "recursion.leaves (distinct sizes and parameters)".to_owned(),
            value: distinct.len() as u64,
            allowed: format!("at most {MAX_DISTINCT} with a preset that promises proven bits"),
        });
    }
    let mut weakest = None;
    for _ in 0..ROUNDS {
        let Ok(report) = forecast(&spec) else { return Ok(spec) };
        let weak: Vec<&LayerSecurity> =
            report.layers.iter().filter(|layer| layer.proven.bits < f64::from(minimum)).collect();
        if weak.is_empty() {
            return Ok(spec);
        }
        let too_weak = |found: &Figure| ParamError::TooWeak { minimum, found: found.clone() };
        for (old, new) in
            all_raised(&weak, f64::from(minimum), may_raise).map_err(|found| too_weak(&found))?
        {
            if !replace(&mut spec, &old, &new) {
                let found = weak.iter().find(|layer| layer.fri == old).unwrap_or(&weak[0]);
                return Err(too_weak(&found.proven));
            }
        }
        weakest = Some(weak[0].proven.clone());
    }
    match weakest {
        Some(found) => Err(ParamError::TooWeak { minimum, found }),
        None => Ok(spec),
    }
}

/// For every set of parameters of the weak proofs, those that are enough for all proofs that have it.
fn all_raised(
    weak: &[&LayerSecurity],
    minimum: f64,
    may_raise: &dyn Fn(Term) -> bool,
) -> Result<Vec<(FriConfig, FriConfig)>, Figure> {
    let mut all: Vec<(FriConfig, FriConfig)> = Vec::new();
    for layer in weak {
        let raised = raise(layer, minimum, may_raise)?;
        match all.iter_mut().find(|(old, _)| *old == layer.fri) {
            Some((_, new)) => *new = greatest(new, &raised),
            None => all.push((layer.fri, raised)),
        }
    }
    Ok(all)
}

/// The greater of two in everything that [`raise`] raises.
fn greatest(a: &FriConfig, b: &FriConfig) -> FriConfig {
    FriConfig {
        num_queries: a.num_queries.max(b.num_queries),
        batch_pow_bits: a.batch_pow_bits.max(b.batch_pow_bits),
        lookup_pow_bits: a.lookup_pow_bits.max(b.lookup_pow_bits),
        ood_pow_bits: a.ood_pow_bits.max(b.ood_pow_bits),
        commit_pow_bits: a.commit_pow_bits.max(b.commit_pow_bits),
        ..*a
    }
}

/// The cheapest parameters with which proofs of these sizes reach `minimum` in one of the regimes.
///
/// Errors: the figure of the best that can be had.
fn raise(
    layer: &LayerSecurity,
    minimum: f64,
    may_raise: &dyn Fn(Term) -> bool,
) -> Result<FriConfig, Figure> {
    let (sizes, fri) = (&layer.sizes, &layer.fri);
    let most = terms::greatest_multiplicity(sizes).min(MAX_MULTIPLICITY);
    let regimes = std::iter::once(None).chain((3..=most).map(Some));
    let tries: Vec<(FriConfig, RegimeTerms)> = regimes
        .map(|m| {
            let raised = raised_in(sizes, fri, m, minimum, may_raise);
            (raised, rounds(sizes, &raised, m))
        })
        .collect();
    let enough = tries.iter().filter(|(_, terms)| terms.bits() >= minimum);
    if let Some((raised, _)) = enough.min_by_key(|(raised, _)| cost(sizes, raised)) {
        return Ok(*raised);
    }
    let best = tries.iter().max_by(|(_, a), (_, b)| a.bits().total_cmp(&b.bits()));
    Err(best.map_or_else(|| layer.proven.clone(), |(_, terms)| terms.figure(&layer.layer)))
}

/// Every round of the regime raised by what it lacks, as far as that goes.
fn raised_in(
    sizes: &Sizes,
    fri: &FriConfig,
    m: Option<usize>,
    minimum: f64,
    may_raise: &dyn Fn(Term) -> bool,
) -> FriConfig {
    let mut raised = *fri;
    for round in rounds(sizes, fri, m).terms {
        let lack = minimum - round.bits;
        if lack <= 0.0 || !may_raise(round.term) {
            continue;
        }
        // A bit of grinding is worth a little less than a bit.
        let bits = (lack + 0.02).ceil() as usize;
        match round.term {
            Term::OutOfDomain => grind(&mut raised.ood_pow_bits, bits),
            Term::Lookup => grind(&mut raised.lookup_pow_bits, bits),
            Term::Batching => grind(&mut raised.batch_pow_bits, bits),
            Term::Folding => grind(&mut raised.commit_pow_bits, bits),
            Term::Queries => {
                let per_query = (round.bits - terms::grinding(fri.query_pow_bits))
                    / fri.num_queries.max(1) as f64;
                let more = (lack / per_query.max(f64::MIN_POSITIVE)).ceil();
                let most = MAX_QUERIES as f64;
                raised.num_queries = (fri.num_queries as f64 + more).min(most) as usize;
            }
            Term::Constraints | Term::Hash => {}
        }
    }
    raised
}

fn grind(site: &mut usize, bits: usize) {
    *site = (*site + bits).min(MAX_POW_BITS);
}

fn rounds(sizes: &Sizes, fri: &FriConfig, m: Option<usize>) -> RegimeTerms {
    match m {
        Some(m) => johnson_at(sizes, fri, m),
        None => unique_decoding(sizes, fri),
    }
}

/// Queries first, since the proof above pays for them in rows, then permutations that are ground.
fn cost(sizes: &Sizes, fri: &FriConfig) -> (usize, u64) {
    let folding = sizes.rounds.len() as u64 * (1 << fri.commit_pow_bits);
    let once = [fri.batch_pow_bits, fri.lookup_pow_bits, fri.ood_pow_bits, fri.query_pow_bits];
    (fri.num_queries, folding + once.into_iter().map(|bits| 1 << bits).sum::<u64>())
}

/// Replaces parameters wherever they are used, and says whether they are used anywhere.
fn replace(spec: &mut ProofSpec, old: &FriConfig, new: &FriConfig) -> bool {
    let mut found = false;
    let mut one = |fri: &mut FriConfig| {
        if fri == old {
            *fri = *new;
            found = true;
        }
    };
    match spec {
        ProofSpec::Chain(chain) => {
            one(&mut chain.base.fri);
            one(&mut chain.layer_fri);
            one(&mut chain.last_fri);
        }
        ProofSpec::Tree(tree) => {
            one(&mut tree.layer_fri);
            one(&mut tree.last_fri);
            for leaf in &mut tree.leaves {
                if let LeafSpec::Base(base) = leaf {
                    one(&mut base.fri);
                }
            }
        }
    }
    found
}
