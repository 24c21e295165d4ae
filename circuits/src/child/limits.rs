//! What the circuits support of parameters, heights and lookups.

use p3_field::TwoAdicField;
use p3_lookup::{Lookups, check_multiplicity_height_bound};

use crate::config::{F, FriConfig};
use crate::error::CompileError;

/// Two rows of H decompose an index, of which the eight lowest bits always belong to it.
const MIN_INDEX_BITS: usize = 8;
/// They give at most this many low bits of a sample.
const MAX_INDEX_BITS: usize = 24;

/// What the heights and the caps do not decide: parameters that Plonky3 refuses or panics on, and
/// proofs of work of more bits than two rows of H decompose.
pub(super) fn check_parameters(fri: &FriConfig) -> Result<(), CompileError> {
    let limits = [
        ("num_queries", fri.num_queries, 1..=usize::MAX, "at least 1"),
        ("max_log_arity", fri.max_log_arity, 1..=usize::MAX, "at least 1"),
        ("log_blowup", fri.log_blowup, 1..=F::TWO_ADICITY - 1, "1 to 23"),
        ("batch_pow_bits", fri.batch_pow_bits, 0..=MAX_INDEX_BITS, "at most 24"),
        ("lookup_pow_bits", fri.lookup_pow_bits, 0..=MAX_INDEX_BITS, "at most 24"),
        ("ood_pow_bits", fri.ood_pow_bits, 0..=MAX_INDEX_BITS, "at most 24"),
        ("commit_pow_bits", fri.commit_pow_bits, 0..=MAX_INDEX_BITS, "at most 24"),
        ("query_pow_bits", fri.query_pow_bits, 0..=MAX_INDEX_BITS, "at most 24"),
    ];
    for (parameter, got, range, allowed) in limits {
        if !range.contains(&got) {
            return Err(CompileError::Unsupported { parameter, got, allowed: allowed.into() });
        }
    }
    Ok(())
}

pub(super) fn check_heights(log_heights: &[usize], fri: &FriConfig) -> Result<(), CompileError> {
    check_parameters(fri)?;
    if log_heights.is_empty() {
        let allowed = "at least 1".into();
        return Err(CompileError::Unsupported { parameter: "tables", got: 0, allowed });
    }
    let maximum = F::TWO_ADICITY - fri.log_blowup;
    for &log_height in log_heights {
        if log_height > maximum {
            return Err(CompileError::TooTall {
                table: "trace",
                log_height,
                log_blowup: fri.log_blowup,
                maximum,
            });
        }
        if log_height <= fri.log_final_poly_len || log_height + fri.log_blowup < MIN_INDEX_BITS {
            let minimum =
                (fri.log_final_poly_len + 1).max(MIN_INDEX_BITS.saturating_sub(fri.log_blowup));
            return Err(CompileError::Unsupported {
                parameter: "log_height",
                got: log_height,
                allowed: format!("at least {minimum} with these FRI parameters"),
            });
        }
    }
    let allowed = fri.log_final_height().saturating_sub(2);
    if fri.cap_height > allowed {
        return Err(CompileError::Unsupported {
            parameter: "cap_height",
            got: fri.cap_height,
            allowed: format!("at most log_blowup + log_final_poly_len − 2 = {allowed}"),
        });
    }
    if fri.log_final_height() < 2 {
        return Err(CompileError::Unsupported {
            parameter: "log_final_poly_len",
            got: fri.log_final_poly_len,
            allowed: "log_blowup + log_final_poly_len must be at least 2".into(),
        });
    }
    Ok(())
}

pub(super) fn check_chunks(log_chunks: usize, fri: &FriConfig) -> Result<(), CompileError> {
    if log_chunks <= fri.log_blowup {
        return Ok(());
    }
    Err(CompileError::Unsupported {
        parameter: "log_blowup",
        got: fri.log_blowup,
        allowed: format!("at least {log_chunks} for the degree of these constraints"),
    })
}

/// Multiplicities on a bus must not add up to the characteristic, or a sum of them could vanish.
pub(super) fn check_multiplicities(
    lookups: &[Lookups<F>],
    log_heights: &[usize],
) -> Result<(), CompileError> {
    let heights: Vec<usize> = log_heights.iter().map(|log_height| 1 << log_height).collect();
    check_multiplicity_height_bound(lookups, &heights)
        .map_err(|error| CompileError::Multiplicities { reason: error.to_string() })
}
