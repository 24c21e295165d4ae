//! From partial FRI parameters of several sources to one checked [`FriConfig`].
//!
//! A later source goes before an earlier one: built-in defaults, preset, job. Every value remembers
//! where it came from, so that a refusal names the field as its author wrote it.

use arbor_circuits::config::FriConfig;

use crate::error::ParamError;
use crate::job::FriOverrides;

/// Two-adicity of the field: no evaluation domain is larger than 2^24.
pub const TWO_ADICITY: usize = 24;
/// Every evaluation domain has at least 2^8 points.
pub const MIN_LOG_DOMAIN: usize = 8;
/// Most queries of one proof.
pub const MAX_QUERIES: usize = 512;
/// Most grinding at one site, in bits. A witness is one field element, of which 127 are to be expected at
/// 24 bits: the chance that there is none is e^-127. At 30 bits every seventh proof would have none.
pub const MAX_POW_BITS: usize = 24;
/// Highest blowup, as a logarithm.
pub const MAX_LOG_BLOWUP: usize = 4;
/// Most points that one folding round may merge, as a logarithm.
pub const MAX_LOG_ARITY: usize = 4;
/// Longest final polynomial, as a logarithm.
pub const MAX_LOG_FINAL_POLY_LEN: usize = 8;
/// Folding stops at a height of 2^2 or more.
pub const MIN_LOG_FINAL_HEIGHT: usize = 2;
/// Highest security level from which queries are derived.
pub const MAX_SECURITY_LEVEL: usize = 512;

/// Where a value was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Built in, or from a preset: the cap height is clamped to what is allowed.
    Preset(&'static str),
    /// In the job, under this prefix: refused if it is not allowed.
    Job(&'static str),
}

impl Source {
    /// The field as the author of the value knows it.
    fn field(self, name: &str) -> String {
        let (Self::Preset(prefix) | Self::Job(prefix)) = self;
        format!("{prefix}.{name}")
    }
}

/// A value and who set it.
#[derive(Clone, Copy, Debug)]
struct Set {
    value: usize,
    source: Source,
}

impl Set {
    /// Refuses the value unless it is within `low..=high`.
    fn within(self, name: &str, low: usize, high: usize) -> Result<usize, ParamError> {
        if (low..=high).contains(&self.value) {
            return Ok(self.value);
        }
        Err(self.refuse(name, format!("{low} to {high}")))
    }

    fn refuse(self, name: &str, allowed: String) -> ParamError {
        ParamError::Refused {
            parameter: self.source.field(name),
            value: self.value as u64,
            allowed,
        }
    }
}

/// How the number of queries is to be found.
#[derive(Clone, Copy, Debug)]
enum Queries {
    Count(Set),
    Level(Set),
}

/// Parameters under construction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FriLayers {
    log_blowup: Set,
    max_log_arity: Set,
    log_final_poly_len: Set,
    cap_height: Set,
    queries: Queries,
    batch_pow_bits: Set,
    lookup_pow_bits: Set,
    ood_pow_bits: Set,
    commit_pow_bits: Set,
    query_pow_bits: Set,
}

impl FriLayers {
    /// The built-in defaults: the layers of the preset `default`.
    pub(crate) fn defaults() -> Self {
        let set = |value| Set { value, source: Source::Preset("defaults") };
        Self {
            log_blowup: set(2),
            max_log_arity: set(4),
            log_final_poly_len: set(5),
            cap_height: set(5),
            queries: Queries::Level(set(124)),
            batch_pow_bits: set(0),
            lookup_pow_bits: set(0),
            ood_pow_bits: set(0),
            commit_pow_bits: set(0),
            query_pow_bits: set(16),
        }
    }

    /// Lets `overrides` go before everything so far.
    pub(crate) fn with(mut self, overrides: &FriOverrides, source: Source) -> Self {
        let put = |slot: &mut Set, value: Option<usize>| {
            if let Some(value) = value {
                *slot = Set { value, source };
            }
        };
        put(&mut self.log_blowup, overrides.log_blowup);
        put(&mut self.max_log_arity, overrides.max_log_arity);
        put(&mut self.log_final_poly_len, overrides.log_final_poly_len);
        put(&mut self.cap_height, overrides.cap_height);
        put(&mut self.batch_pow_bits, overrides.batch_pow_bits);
        put(&mut self.lookup_pow_bits, overrides.lookup_pow_bits);
        put(&mut self.ood_pow_bits, overrides.ood_pow_bits);
        put(&mut self.commit_pow_bits, overrides.commit_pow_bits);
        put(&mut self.query_pow_bits, overrides.query_pow_bits);
        match (overrides.num_queries, overrides.security_level) {
            (Some(value), _) => self.queries = Queries::Count(Set { value, source }),
            (None, Some(value)) => self.queries = Queries::Level(Set { value, source }),
            (None, None) => {}
        }
        self
    }

    /// Checks everything and derives the queries.
    pub(crate) fn resolve(&self) -> Result<FriConfig, ParamError> {
        let log_blowup = self.log_blowup.within("log_blowup", 1, MAX_LOG_BLOWUP)?;
        let log_final_poly_len = self.log_final_poly_len(log_blowup)?;
        let query_pow_bits = self.query_pow_bits.within("query_pow_bits", 0, MAX_POW_BITS)?;
        let pow = |set: Set, name| set.within(name, 0, MAX_POW_BITS);
        Ok(FriConfig {
            log_blowup,
            max_log_arity: self.max_log_arity.within("max_log_arity", 1, MAX_LOG_ARITY)?,
            log_final_poly_len,
            cap_height: self.cap_height(log_blowup, log_final_poly_len)?,
            num_queries: self.num_queries(log_blowup, query_pow_bits)?,
            batch_pow_bits: pow(self.batch_pow_bits, "batch_pow_bits")?,
            lookup_pow_bits: pow(self.lookup_pow_bits, "lookup_pow_bits")?,
            ood_pow_bits: pow(self.ood_pow_bits, "ood_pow_bits")?,
            commit_pow_bits: pow(self.commit_pow_bits, "commit_pow_bits")?,
            query_pow_bits,
        })
    }

    /// Folding stops at four points or more: at blowup 2 the final polynomial is no constant.
    fn log_final_poly_len(&self, log_blowup: usize) -> Result<usize, ParamError> {
        let least = MIN_LOG_FINAL_HEIGHT.saturating_sub(log_blowup);
        let set = self.log_final_poly_len;
        if (least..=MAX_LOG_FINAL_POLY_LEN).contains(&set.value) {
            return Ok(set.value);
        }
        let allowed = format!("{least} to {MAX_LOG_FINAL_POLY_LEN} with log_blowup {log_blowup}");
        Err(set.refuse("log_final_poly_len", allowed))
    }

    /// A default that is too high is lowered; an explicit value is refused.
    fn cap_height(
        &self,
        log_blowup: usize,
        log_final_poly_len: usize,
    ) -> Result<usize, ParamError> {
        let most = max_cap_height(log_blowup, log_final_poly_len);
        match self.cap_height {
            Set { value, source: Source::Preset(_) } => Ok(value.min(most)),
            set if set.value <= most => Ok(set.value),
            set => Err(set.refuse(
                "cap_height",
                format!(
                    "0 to {most} with log_blowup {log_blowup} and log_final_poly_len \
                     {log_final_poly_len} (at most their sum less 2)"
                ),
            )),
        }
    }

    fn num_queries(&self, log_blowup: usize, query_pow_bits: usize) -> Result<usize, ParamError> {
        let level = match self.queries {
            Queries::Count(count) => return count.within("num_queries", 1, MAX_QUERIES),
            Queries::Level(level) => level,
        };
        let bits = level.within("security_level", 1, MAX_SECURITY_LEVEL)?;
        let queries = bits.saturating_sub(query_pow_bits).div_ceil(log_blowup).max(1);
        if queries > MAX_QUERIES {
            let most = MAX_QUERIES * log_blowup + query_pow_bits;
            return Err(level.refuse(
                "security_level",
                format!(
                    "1 to {most} with log_blowup {log_blowup} and query_pow_bits {query_pow_bits} \
                     (it would take {queries} queries, the most are {MAX_QUERIES})"
                ),
            ));
        }
        Ok(queries)
    }
}

/// Highest cap that the layer above can look up: two levels below where folding stops.
#[must_use]
pub const fn max_cap_height(log_blowup: usize, log_final_poly_len: usize) -> usize {
    (log_blowup + log_final_poly_len).saturating_sub(2)
}

/// Least log height of a trace: taller than the final polynomial, on a domain of 2^8 points or more.
#[must_use]
pub fn min_log_height(fri: &FriConfig) -> usize {
    (fri.log_final_poly_len + 1).max(MIN_LOG_DOMAIN.saturating_sub(fri.log_blowup))
}

/// Greatest log height of a trace: the field has no larger domain.
#[must_use]
pub const fn max_log_height(fri: &FriConfig) -> usize {
    TWO_ADICITY.saturating_sub(fri.log_blowup)
}

/// Checks parameters that are already resolved, such as those of a file. `prefix` names their place.
///
/// Errors: the first value that no job could have resolved to.
pub fn validate(fri: &FriConfig, prefix: &'static str) -> Result<(), ParamError> {
    let overrides = FriOverrides {
        log_blowup: Some(fri.log_blowup),
        max_log_arity: Some(fri.max_log_arity),
        log_final_poly_len: Some(fri.log_final_poly_len),
        cap_height: Some(fri.cap_height),
        security_level: None,
        num_queries: Some(fri.num_queries),
        batch_pow_bits: Some(fri.batch_pow_bits),
        lookup_pow_bits: Some(fri.lookup_pow_bits),
        ood_pow_bits: Some(fri.ood_pow_bits),
        commit_pow_bits: Some(fri.commit_pow_bits),
        query_pow_bits: Some(fri.query_pow_bits),
    };
    FriLayers::defaults().with(&overrides, Source::Job(prefix)).resolve().map(|_| ())
}
