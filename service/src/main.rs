//! The binary `arbor`. See the library for what it does.

use std::process::ExitCode;

use arbor_service::cpu;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First of all: anything else may use the instruction that is missing.
    if let Err(missing) = cpu::check() {
        eprintln!("arbor: {missing}");
        return ExitCode::from(2);
    }
    arbor_prover::memory::retain_freed_memory(arbor_service::retain_memory());
    arbor_service::run()
}
