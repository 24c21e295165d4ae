//! Circuits that are prepared once and shared: a chain of ten prepares no more than a chain of four.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::FriConfig;
use arbor_circuits::error::CompileError;
use arbor_circuits::layer::PreparedLayer;

use crate::base::PreparedBase;
use crate::estimate::{base_circuit_bytes, layer_circuit_bytes};
use crate::key::LayerKey;
use crate::params::BaseSpec;

/// Bytes of circuits that [`Cache::new`] keeps: those of a few presets.
const DEFAULT_BYTES: u64 = 2 << 30;

/// Prepared circuits of layers and base computations, for all threads of a process.
///
/// Two threads that ask for the same circuit prepare it once. Circuits are counted in bytes; beyond its
/// limit the cache drops what was used longest ago, unless somebody holds it: what is held is found again,
/// whatever the limit.
pub struct Cache {
    layers: Store<LayerKey, PreparedLayer>,
    bases: Store<BaseSpec, PreparedBase>,
    limit: u64,
    /// Counts uses, to know which is the oldest.
    clock: AtomicU64,
    prepared: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

/// What a cache holds, and how it has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Circuits in the cache.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests for a circuit that was there.
    pub hits: u64,
    /// Requests for a circuit that had to be prepared.
    pub misses: u64,
    /// Circuits that were dropped.
    pub evictions: u64,
}

impl Cache {
    /// An empty cache of a size that serves a few presets.
    #[must_use]
    pub fn new() -> Self {
        Self::with_bytes(DEFAULT_BYTES)
    }

    /// An empty cache that keeps circuits of `limit` bytes in all. A circuit larger than that is prepared
    /// for whoever asks, and not kept.
    #[must_use]
    pub fn with_bytes(limit: u64) -> Self {
        Self {
            layers: Store::default(),
            bases: Store::default(),
            limit,
            clock: AtomicU64::new(0),
            prepared: AtomicUsize::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    /// Circuits of layers prepared so far, those that were dropped since included.
    #[must_use]
    pub fn prepared(&self) -> usize {
        self.prepared.load(Ordering::Relaxed)
    }

    /// What the cache holds, and how it has done.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let (layers, bases) = (self.layers.totals(), self.bases.totals());
        CacheStats {
            entries: layers.0 + bases.0,
            bytes: layers.1 + bases.1,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }

    /// Drops what is beyond the limit: circuits that were held when the last one came may be let go since.
    pub fn shrink(&self) {
        self.shrink_to(self.limit);
    }

    /// Drops what was used longest ago and is not held, until at most `bytes` are left.
    pub fn shrink_to(&self, bytes: u64) {
        while self.layers.totals().1 + self.bases.totals().1 > bytes {
            let dropped = match (self.layers.oldest(), self.bases.oldest()) {
                (None, None) => return,
                (Some((layer, used)), base) if base.as_ref().is_none_or(|base| used < base.1) => {
                    self.layers.remove(&layer)
                }
                (_, Some((base, _))) => self.bases.remove(&base),
                (Some((layer, _)), None) => self.layers.remove(&layer),
            };
            if dropped {
                self.evictions.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The circuit of a layer over one proof of each of `children`. `before` is called only if it must be
    /// prepared now; the second part of the answer says whether it was.
    ///
    /// Errors: the compiler's. Nothing is kept then.
    pub fn layer(
        &self,
        children: &[ChildShape],
        fri: FriConfig,
        min_log_height: usize,
        before: impl FnOnce(),
    ) -> Result<(Arc<PreparedLayer>, bool), CompileError> {
        let key = LayerKey::new(children, fri, min_log_height);
        let made = self.layers.get_or_make(&key, self.tick(), || {
            before();
            let layer = PreparedLayer::prepare(children.to_vec(), fri, min_log_height)?;
            self.prepared.fetch_add(1, Ordering::Relaxed);
            let log_height = layer.shape().log_heights()[0];
            let bytes = layer_circuit_bytes(log_height, &fri);
            Ok((layer, bytes))
        });
        self.count(made)
    }

    /// The base computation of `spec`, as [`Self::layer`].
    ///
    /// Errors: the compiler's. Nothing is kept then.
    pub fn base(
        &self,
        spec: &BaseSpec,
        before: impl FnOnce(),
    ) -> Result<(Arc<PreparedBase>, bool), CompileError> {
        let made = self.bases.get_or_make(&spec.without_inputs(), self.tick(), || {
            before();
            let base = PreparedBase::prepare(spec)?;
            let bytes = base_circuit_bytes(spec);
            Ok((base, bytes))
        });
        self.count(made)
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn count<V, E>(&self, made: Result<(Arc<V>, bool), E>) -> Result<(Arc<V>, bool), E> {
        let (value, fresh) = made?;
        let counter = if fresh { &self.misses } else { &self.hits };
        counter.fetch_add(1, Ordering::Relaxed);
        if fresh {
            self.shrink();
        }
        Ok((value, fresh))
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// One kind of circuit.
struct Store<K, V>(Mutex<HashMap<K, Arc<Slot<V>>>>);

/// A place that one thread fills while the others wait at its lock, and not at the store's.
struct Slot<V> {
    value: Mutex<Option<Arc<V>>>,
    /// 0 until there is a value.
    bytes: AtomicU64,
    used: AtomicU64,
}

impl<K, V> Default for Store<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V: Send + Sync + 'static> Store<K, V> {
    fn get_or_make<E>(
        &self,
        key: &K,
        now: u64,
        make: impl FnOnce() -> Result<(V, u64), E>,
    ) -> Result<(Arc<V>, bool), E> {
        let slot = self.slot(key.clone(), now);
        let mut value = lock(&slot.value);
        if let Some(value) = &*value {
            return Ok((Arc::clone(value), false));
        }
        match make() {
            Ok((made, bytes)) => {
                let made = Arc::new(made);
                *value = Some(Arc::clone(&made));
                slot.bytes.store(bytes, Ordering::Relaxed);
                Ok((made, true))
            }
            Err(error) => {
                drop(value);
                self.forget(key, &slot);
                Err(error)
            }
        }
    }

    /// Whether there is a circuit in the slot, and nobody asks for it or holds it.
    fn idle(slot: &Arc<Slot<V>>) -> bool {
        let value = slot.value.try_lock();
        let alone = |value: &Arc<V>| Arc::strong_count(value) == 1;
        Arc::strong_count(slot) == 1 && value.is_ok_and(|value| value.as_ref().is_some_and(alone))
    }

    /// The slot of `key`, marked as used now.
    fn slot(&self, key: K, now: u64) -> Arc<Slot<V>> {
        let empty = || {
            Arc::new(Slot {
                value: Mutex::new(None),
                bytes: AtomicU64::new(0),
                used: AtomicU64::new(now),
            })
        };
        let mut slots = lock(&self.0);
        let slot = slots.entry(key).or_insert_with(empty);
        slot.used.store(now, Ordering::Relaxed);
        Arc::clone(slot)
    }

    /// Removes a slot that stayed empty.
    fn forget(&self, key: &K, slot: &Arc<Slot<V>>) {
        let mut slots = lock(&self.0);
        if slots.get(key).is_some_and(|there| {
            Arc::ptr_eq(there, slot) && there.bytes.load(Ordering::Relaxed) == 0
        }) {
            slots.remove(key);
        }
    }

    /// Circuits and their bytes.
    fn totals(&self) -> (u64, u64) {
        let slots = lock(&self.0);
        let bytes = slots.values().map(|slot| slot.bytes.load(Ordering::Relaxed));
        bytes.filter(|&bytes| bytes > 0).fold((0, 0), |(n, sum), bytes| (n + 1, sum + bytes))
    }

    /// What was used longest ago of what is there and not held. To drop what somebody holds would save
    /// nothing, and who asks for it again, as a tree does that goes through many circuits in turn, would
    /// have it prepared again and again.
    fn oldest(&self) -> Option<(K, u64)> {
        let slots = lock(&self.0);
        let there = slots.iter().filter(|(_, slot)| Self::idle(slot));
        there
            .map(|(key, slot)| (key, slot.used.load(Ordering::Relaxed)))
            .min_by_key(|&(_, used)| used)
            .map(|(key, used)| (key.clone(), used))
    }

    fn remove(&self, key: &K) -> bool {
        lock(&self.0).remove(key).is_some()
    }
}

/// A poisoned lock holds nothing half-done here: a value is stored whole or not at all.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
