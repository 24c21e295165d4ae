//! The instructions that this binary was compiled for, and whether this machine has them.
//!
//! Plonky3 chooses its packed fields when it is compiled, so the workspace builds for the machine
//! that it is built on. Such a binary dies of an illegal instruction on an older one: this check says
//! which feature is missing instead. It must run before anything else, and it must not use
//! `is_x86_feature_detected!`, which answers "yes" for whatever was assumed at compile time.

/// Why the binary cannot run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingFeature(pub &'static str);

impl std::fmt::Display for MissingFeature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "this CPU has no {}, which the binary was built to use: build it on this machine, or \
             with RUSTFLAGS=-Ctarget-cpu=x86-64-v2",
            self.0
        )
    }
}

/// One instruction-set extension: its name, whether the compiler was told to use it, and whether this
/// machine has it.
#[derive(Clone, Copy, Debug)]
struct Feature {
    name: &'static str,
    compiled: bool,
    present: bool,
}

/// Says which feature, if any, was compiled in and is missing on this machine.
///
/// # Errors
/// The first such feature.
pub fn check() -> Result<(), MissingFeature> {
    match features().iter().find(|feature| feature.compiled && !feature.present) {
        Some(feature) => Err(MissingFeature(feature.name)),
        None => Ok(()),
    }
}

/// Names of the features that the binary was compiled to use, for `--version`.
#[must_use]
pub fn compiled() -> String {
    let features = features();
    let names: Vec<_> =
        features.iter().filter(|feature| feature.compiled).map(|feature| feature.name).collect();
    if names.is_empty() { "baseline".to_owned() } else { names.join(" ") }
}

/// The extensions that compilers use by themselves when told to build for the machine, the most telling
/// first.
#[cfg(target_arch = "x86_64")]
fn features() -> Vec<Feature> {
    use core::arch::x86_64::__cpuid_count;

    let highest = __cpuid_count(0, 0).eax;
    let one = __cpuid_count(1, 0);
    let (seven_ebx, seven_ecx) = if highest >= 7 {
        let leaf = __cpuid_count(7, 0);
        (leaf.ebx, leaf.ecx)
    } else {
        (0, 0)
    };
    let extended = __cpuid_count(0x8000_0001, 0).ecx;
    let feature = |name, compiled, register: u32, bit: u32| Feature {
        name,
        compiled,
        present: register >> bit & 1 == 1,
    };
    vec![
        feature("avx512f", cfg!(target_feature = "avx512f"), seven_ebx, 16),
        feature("avx2", cfg!(target_feature = "avx2"), seven_ebx, 5),
        feature("avx", cfg!(target_feature = "avx"), one.ecx, 28),
        feature("fma", cfg!(target_feature = "fma"), one.ecx, 12),
        feature("bmi2", cfg!(target_feature = "bmi2"), seven_ebx, 8),
        feature("bmi1", cfg!(target_feature = "bmi1"), seven_ebx, 3),
        feature("adx", cfg!(target_feature = "adx"), seven_ebx, 19),
        feature("lzcnt", cfg!(target_feature = "lzcnt"), extended, 5),
        feature("popcnt", cfg!(target_feature = "popcnt"), one.ecx, 23),
        feature("sse4.2", cfg!(target_feature = "sse4.2"), one.ecx, 20),
        feature("avx512dq", cfg!(target_feature = "avx512dq"), seven_ebx, 17),
        feature("avx512ifma", cfg!(target_feature = "avx512ifma"), seven_ebx, 21),
        feature("avx512cd", cfg!(target_feature = "avx512cd"), seven_ebx, 28),
        feature("avx512bw", cfg!(target_feature = "avx512bw"), seven_ebx, 30),
        feature("avx512vl", cfg!(target_feature = "avx512vl"), seven_ebx, 31),
        feature("avx512vbmi", cfg!(target_feature = "avx512vbmi"), seven_ecx, 1),
        feature("avx512vbmi2", cfg!(target_feature = "avx512vbmi2"), seven_ecx, 6),
        feature("gfni", cfg!(target_feature = "gfni"), seven_ecx, 8),
        feature("vpclmulqdq", cfg!(target_feature = "vpclmulqdq"), seven_ecx, 10),
        feature("avx512vnni", cfg!(target_feature = "avx512vnni"), seven_ecx, 11),
        feature("avx512bitalg", cfg!(target_feature = "avx512bitalg"), seven_ecx, 12),
        feature("avx512vpopcntdq", cfg!(target_feature = "avx512vpopcntdq"), seven_ecx, 14),
    ]
}

/// NEON is part of every AArch64 that Rust's targets allow; nothing else is used elsewhere.
#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<Feature> {
    vec![Feature {
        name: "neon",
        compiled: cfg!(target_feature = "neon"),
        present: cfg!(target_feature = "neon"),
    }]
}
