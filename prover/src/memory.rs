//! What the process holds, and whether it gives back what it has freed.
//!
//! Everything is read from `/proc`, and says nothing where there is none.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keeps freed memory mapped (`true`), or gives it back as soon as it is free.
///
/// A layer allocates what the layer before it has freed; memory that stays mapped comes without page
/// faults. Large objects are kept in the allocator's arenas too, so that what a base proof leaves
/// behind serves the layers: arenas are reserved (not committed) in pieces that hold a whole low-degree
/// extension. To be called first in `main`. Has an effect only where mimalloc is the global allocator.
pub fn retain_freed_memory(retain: bool) {
    /// Numbers of options in the header of mimalloc 3: milliseconds until freed memory is given back; size
    /// of a new arena and of the largest object in one, in KiB.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    const ARENA_RESERVE: libmimalloc_sys::mi_option_t = 23;
    const ARENA_MAX_OBJECT: libmimalloc_sys::mi_option_t = 45;
    /// Thirty years. Not -1, which means never: then mimalloc does not even note what was freed, and
    /// [`release_freed_memory`] would find nothing.
    const NEVER_MS: i64 = 1_000_000_000_000;
    /// The largest arena that mimalloc makes.
    const MAX_ARENA_KIB: u64 = 16 << 20;
    set_option(PURGE_DELAY, if retain { NEVER_MS } else { 0 });
    if retain {
        let arena = available_bytes().map_or(MAX_ARENA_KIB, |b| (b >> 10).min(MAX_ARENA_KIB));
        let arena = i64::try_from(arena).unwrap_or(i64::MAX);
        set_option(ARENA_RESERVE, arena);
        set_option(ARENA_MAX_OBJECT, arena);
    }
}

#[expect(unsafe_code, reason = "mimalloc's options are reached through its C interface only")]
fn set_option(option: libmimalloc_sys::mi_option_t, value: i64) {
    // SAFETY: the call stores an integer under an index that the bundled header defines.
    unsafe { libmimalloc_sys::mi_option_set(option, value as core::ffi::c_long) };
}

/// Page faults of this process that needed no input or output, so far.
#[must_use]
pub fn minor_faults() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process, in parentheses, may hold spaces. Field 10, counted from 1, is the
    // eighth after it.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(7)?.parse().ok()
}

/// Peak of resident memory, in bytes, since the process began or since [`reset_peak`].
#[must_use]
pub fn peak_bytes() -> Option<u64> {
    status_bytes("/proc/self/status", "VmHWM:")
}

/// The highest peak before the last [`reset_peak`].
static HIGHEST_PEAK: AtomicU64 = AtomicU64::new(0);

/// Peak of resident memory, in bytes, since the process began, whatever was reset.
#[must_use]
pub fn lifetime_peak_bytes() -> Option<u64> {
    Some(peak_bytes()?.max(HIGHEST_PEAK.load(Ordering::Relaxed)))
}

/// Starts a new peak at what is resident now. Not every kernel and container allows it; then the
/// old peak stays.
pub fn reset_peak() {
    HIGHEST_PEAK.fetch_max(peak_bytes().unwrap_or(0), Ordering::Relaxed);
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Memory that may still be taken: of the machine, or of the container if that is less.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    let machine = status_bytes("/proc/meminfo", "MemAvailable:");
    match (machine, container_bytes()) {
        (Some(machine), Some(container)) => Some(machine.min(container)),
        (machine, container) => machine.or(container),
    }
}

/// What the cgroup (version 2) of this process allows beyond what it uses.
fn container_bytes() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?.trim().to_owned();
    [format!("/sys/fs/cgroup{path}"), "/sys/fs/cgroup".to_owned()].iter().find_map(|folder| {
        let limit: u64 = read_number(&format!("{folder}/memory.max"))?;
        let used: u64 = read_number(&format!("{folder}/memory.current"))?;
        Some(limit.saturating_sub(used.saturating_sub(page_cache(folder))))
    })
}

/// What of the memory of a cgroup are copies of files, which the system gives up when memory is short.
fn page_cache(folder: &str) -> u64 {
    let stat = fs::read_to_string(format!("{folder}/memory.stat")).unwrap_or_default();
    let value = |line: &str, key: &str| line.strip_prefix(key)?.trim().parse::<u64>().ok();
    let files = |line| value(line, "inactive_file ").or_else(|| value(line, "active_file "));
    stat.lines().filter_map(files).sum()
}

fn read_number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A line such as `VmHWM:   1234 kB`.
fn status_bytes(path: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

/// Resident memory of the process, in bytes.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    status_bytes("/proc/self/status", "VmRSS:")
}

/// Memory of the machine, or what the container allows if that is less, whether it is in use or not.
#[must_use]
pub fn limit_bytes() -> Option<u64> {
    let machine = status_bytes("/proc/meminfo", "MemTotal:");
    match (machine, container_limit()) {
        (Some(machine), Some(container)) => Some(machine.min(container)),
        (machine, container) => machine.or(container),
    }
}

/// The limit of the cgroup (version 2) of this process.
fn container_limit() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?.trim().to_owned();
    [format!("/sys/fs/cgroup{path}"), "/sys/fs/cgroup".to_owned()]
        .iter()
        .find_map(|folder| read_number(&format!("{folder}/memory.max")))
}

/// Has memory of this size mapped, so that the first proof finds it without page faults. Every byte is
/// written once and then freed; a no-op unless freed memory is retained.
pub fn touch(bytes: u64) {
    /// Pieces: one after the other they would be the same memory, so all are held until the last.
    const PIECE: u64 = 64 << 20;
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let piece = left.min(PIECE);
        pieces.push(std::hint::black_box(vec![1; usize::try_from(piece).unwrap_or(0)]));
        left -= piece;
    }
}

/// Gives freed memory back to the system, although [`retain_freed_memory`] was told to keep it; what is freed
/// later is kept as before. To be called while nothing is being proved.
pub fn release_freed_memory() {
    collect();
}

#[expect(unsafe_code, reason = "mimalloc's collection is reached through its C interface only")]
fn collect() {
    // SAFETY: the call has no preconditions; it may be made from any thread at any time.
    unsafe { libmimalloc_sys::mi_collect(true) };
}
