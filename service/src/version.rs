//! What `arbor --version` prints.

/// Version, commit, proof format, Plonky3 and CPU features, one a line.
#[must_use]
pub fn long() -> String {
    format!(
        "{version} (commit {commit})\nproof format {format}\nPlonky3 {plonky3}\nCPU features {cpu}",
        version = env!("CARGO_PKG_VERSION"),
        commit = env!("ARBOR_COMMIT"),
        format = arbor_prover::format::FORMAT_VERSION,
        plonky3 = env!("ARBOR_PLONKY3"),
        cpu = crate::cpu::compiled(),
    )
}
