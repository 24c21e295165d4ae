//! Memory that was freed stays with the process until it is released, and goes back to the system then.

use arbor_prover::memory;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TOUCHED: u64 = 300 << 20;

#[test]
fn freed_memory_is_kept_until_it_is_released() {
    let Some(start) = memory::resident_bytes() else {
        println!("nothing is known of the memory of this process");
        return;
    };
    memory::retain_freed_memory(true);
    for _ in 0..2 {
        memory::touch(TOUCHED);
        let kept = memory::resident_bytes().unwrap_or(0).saturating_sub(start);
        assert!(kept > TOUCHED * 9 / 10, "{} MiB kept", kept >> 20);
        let before = memory::minor_faults();
        memory::touch(TOUCHED);
        let faults = memory::minor_faults().zip(before).map_or(0, |(now, before)| now - before);
        assert!(faults < 1000, "{faults} page faults although the memory was there");
        memory::release_freed_memory();
        let left = memory::resident_bytes().unwrap_or(u64::MAX).saturating_sub(start);
        assert!(left < TOUCHED / 4, "{} MiB left", left >> 20);
    }
}
