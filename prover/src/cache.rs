//! Circuits that are prepared once and shared: a chain of ten prepares no more than a chain of four.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{collections::HashMap, fmt};

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::FriConfig;
use arbor_circuits::error::CompileError;
use arbor_circuits::layer::PreparedLayer;

use crate::base::PreparedBase;
use crate::key::LayerKey;
use crate::params::BaseSpec;

/// Circuits that [`Cache::new`] keeps, of layers and of base computations each.
const DEFAULT_CAPACITY: usize = 32;

/// Prepared circuits of layers and base computations, for all threads of a process.
///
/// Two threads that ask for the same circuit prepare it once. Beyond its capacity the cache drops
/// what was used longest ago, unless somebody holds it: what is held is found again, whatever the
/// capacity.
pub struct Cache {
    layers: Store<LayerKey, PreparedLayer>,
    bases: Store<BaseSpec, PreparedBase>,
    prepared: AtomicUsize,
}

impl Cache {
    /// An empty cache of a size that serves a few presets.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(DEFAULT_CAPACITY)
    }

    /// An empty cache for `circuits` layers and as many base computations.
    #[must_use]
    pub fn with_capacity(circuits: usize) -> Self {
        let prepared = AtomicUsize::new(0);
        Self { layers: Store::new(circuits), bases: Store::new(circuits), prepared }
    }

    /// Circuits of layers prepared so far, those that were dropped since included.
    #[must_use]
    pub fn prepared(&self) -> usize {
        self.prepared.load(Ordering::Relaxed)
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
        self.layers.get_or_make(key, || {
            before();
            let layer = PreparedLayer::prepare(children.to_vec(), fri, min_log_height)?;
            self.prepared.fetch_add(1, Ordering::Relaxed);
            Ok(layer)
        })
    }

    /// The base computation of `spec`, as [`Self::layer`].
    ///
    /// Errors: the compiler's. Nothing is kept then.
    pub fn base(
        &self,
        spec: &BaseSpec,
        before: impl FnOnce(),
    ) -> Result<(Arc<PreparedBase>, bool), CompileError> {
        self.bases.get_or_make(spec.without_inputs(), || {
            before();
            PreparedBase::prepare(spec)
        })
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("prepared", &self.prepared()).finish_non_exhaustive()
    }
}

/// One kind of circuit.
struct Store<K, V> {
    slots: Mutex<HashMap<K, Arc<Slot<V>>>>,
    capacity: usize,
    clock: AtomicU64,
}

/// A place that one thread fills while the others wait at its lock, and not at the store's.
struct Slot<V> {
    value: Mutex<Option<Arc<V>>>,
    used: AtomicU64,
}

impl<K: Clone + Eq + Hash, V> Store<K, V> {
    fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self { slots: Mutex::new(HashMap::new()), capacity, clock: AtomicU64::new(0) }
    }

    fn get_or_make<E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<(Arc<V>, bool), E> {
        let slot = self.slot(key);
        let mut value = lock(&slot.value);
        if let Some(value) = &*value {
            return Ok((Arc::clone(value), false));
        }
        let made = Arc::new(make()?);
        *value = Some(Arc::clone(&made));
        Ok((made, true))
    }

    /// Whether nobody fills the slot or holds what is in it.
    fn idle(slot: &Arc<Slot<V>>) -> bool {
        let filled = slot.value.try_lock();
        let held =
            filled.map_or(true, |value| value.as_ref().is_some_and(|v| Arc::strong_count(v) > 1));
        Arc::strong_count(slot) == 1 && !held
    }

    /// The slot of `key`, marked as used now.
    fn slot(&self, key: K) -> Arc<Slot<V>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut slots = lock(&self.slots);
        if !slots.contains_key(&key) {
            while slots.len() >= self.capacity {
                // To drop what somebody holds would save nothing, and who asks for it again, as a tree
                // does that goes through many circuits in turn, would have it prepared again and again.
                let idle = slots.iter().filter(|(_, slot)| Self::idle(slot));
                let oldest = idle.min_by_key(|(_, slot)| slot.used.load(Ordering::Relaxed));
                let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
                slots.remove(&oldest);
            }
        }
        let empty = || Arc::new(Slot { value: Mutex::new(None), used: AtomicU64::new(now) });
        let slot = slots.entry(key).or_insert_with(empty);
        slot.used.store(now, Ordering::Relaxed);
        Arc::clone(slot)
    }
}

/// A poisoned lock holds nothing half-done here: a value is stored whole or not at all.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
