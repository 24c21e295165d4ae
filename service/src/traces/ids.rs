//! Ids that follow from the job's, and which jobs are traced.

use crate::model::JobId;

/// Bits by which it is decided whether a job is traced: as many as a float can count.
const BITS: u32 = 52;

/// The id of a job's trace: the 128 bits of the job's id, as they are written without hyphens.
#[must_use]
pub fn trace_id(job: JobId) -> [u8; 16] {
    job.bytes()
}

/// The id of the span of a job: of the first time, `run` 0, that of the whole trace; each retry after an end has
/// one of its own.
#[must_use]
pub fn root_span_id(job: JobId, run: u32) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"arbor span of a job").update(&job.bytes()).update(&run.to_le_bytes());
    let mut id = [0; 8];
    hasher.finalize_xof().fill(&mut id);
    // All zeros would be none.
    id[0] |= 1;
    id
}

/// A new id of a span.
pub(super) fn fresh_span_id() -> [u8; 8] {
    let mut id = [0; 8];
    id.copy_from_slice(&uuid::Uuid::new_v4().as_bytes()[..8]);
    id
}

/// Decides by the id of a job whether it is traced: every process, and every restart, comes to the same.
///
/// By a hash of it: ids of version 7 count upwards within a millisecond, so that none of their bits alone are
/// spread evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampler {
    /// Hashes below are taken.
    below: u64,
}

impl Sampler {
    /// Takes this share of the jobs.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 2^52")]
    pub(super) fn new(ratio: f64) -> Self {
        Self { below: (ratio.clamp(0.0, 1.0) * (1_u64 << BITS) as f64) as u64 }
    }

    pub(super) fn takes(self, job: JobId) -> bool {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"arbor sample of jobs").update(&job.bytes());
        let mut hash = [0; 8];
        hasher.finalize_xof().fill(&mut hash);
        u64::from_le_bytes(hash) >> (u64::BITS - BITS) < self.below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_jobs_that_are_traced_is_the_ratio() {
        let jobs: Vec<JobId> = (0..4000).map(|_| JobId::new()).collect();
        let share = |ratio| {
            let sampler = Sampler::new(ratio);
            jobs.iter().filter(|&&job| sampler.takes(job)).count()
        };
        assert_eq!((share(0.0), share(1.0)), (0, 4000));
        // 2000 and 400 are meant; these are ten standard deviations.
        assert!((1680..=2320).contains(&share(0.5)), "{}", share(0.5));
        assert!((210..=590).contains(&share(0.1)), "{}", share(0.1));
    }

    #[test]
    fn the_id_of_a_trace_is_the_id_of_its_job() {
        let job: JobId = "019307a0-1b2c-7d3e-8f40-5162738495a6".parse().expect("an id");
        let hex: String = trace_id(job).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "019307a01b2c7d3e8f405162738495a6");
        assert_eq!(root_span_id(job, 0), root_span_id(job, 0));
        assert_ne!(root_span_id(job, 0), root_span_id(job, 1));
        assert_ne!(root_span_id(job, 0), root_span_id(JobId::new(), 0));
    }
}
