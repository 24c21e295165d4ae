//! Which jobs a list shows.

use arbor_prover::tree::ProofSpec;
use sqlx::{QueryBuilder, Sqlite};

use crate::model::{JobFilter, JobId};

/// Mode and programs of a job, as the columns have them.
pub(super) fn facets(spec: &ProofSpec) -> (&'static str, String) {
    let mode = match spec {
        ProofSpec::Chain(_) => "chain",
        ProofSpec::Tree(_) => "tree",
    };
    let mut programs: Vec<&str> = spec.bases().iter().map(|base| base.program.name()).collect();
    programs.sort_unstable();
    programs.dedup();
    (mode, format!("|{}|", programs.join("|")))
}

/// Adds conditions to a query over `job`.
pub(super) fn push(query: &mut QueryBuilder<Sqlite>, filter: &JobFilter, cursor: Option<JobId>) {
    if let Some(cursor) = cursor {
        // A job that was removed meanwhile has no number any more; ids sort by time too.
        let cursor = cursor.to_string();
        query.push(" AND CASE WHEN EXISTS (SELECT 1 FROM job WHERE id = ");
        query.push_bind(cursor.clone());
        query.push(") THEN seq < (SELECT seq FROM job WHERE id = ").push_bind(cursor.clone());
        query.push(") ELSE id < ").push_bind(cursor).push(" END");
    }
    if !filter.states.is_empty() {
        query.push(" AND state IN (");
        let mut list = query.separated(", ");
        for state in &filter.states {
            list.push_bind(state.name());
        }
        query.push(")");
    }
    if let Some(program) = &filter.program {
        // Compared as text: what a client sends has no wildcards here.
        query.push(" AND INSTR(programs, ").push_bind(format!("|{program}|")).push(") > 0");
    }
    if let Some(mode) = &filter.mode {
        query.push(" AND mode = ").push_bind(mode.clone());
    }
    for (name, value) in &filter.labels {
        query.push(" AND EXISTS (SELECT 1 FROM label WHERE label.job = job.seq AND label.name = ");
        query.push_bind(name.clone()).push(" AND label.value = ").push_bind(value.clone());
        query.push(")");
    }
    if let Some(owner) = &filter.owner {
        query.push(" AND owner = ").push_bind(owner.clone());
    }
}
