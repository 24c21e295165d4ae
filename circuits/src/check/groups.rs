//! Constraints by the function that emits them.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::tables::{LayerAir, arith, hash};

/// Names of constraints by number: one range for each `constrain_*` function.
#[derive(Clone, Debug)]
pub struct Groups(pub(crate) Vec<(&'static str, Range<usize>)>);

impl Groups {
    /// The groups of a table, in the order in which it emits them.
    #[must_use]
    pub fn of(air: &LayerAir) -> Self {
        match air {
            LayerAir::Arith(air) => arith::groups(air.publics),
            LayerAir::Hash(_) => hash::groups(),
        }
    }

    /// The range of a group.
    ///
    /// # Panics
    /// If there is none of this name.
    #[must_use]
    pub fn range(&self, name: &str) -> Range<usize> {
        let found = self.0.iter().find(|(other, _)| *other == name);
        found.unwrap_or_else(|| panic!("no group {name}")).1.clone()
    }

    /// Names of the groups that `failed` lies in.
    #[must_use]
    pub fn names(&self, failed: &BTreeSet<usize>) -> BTreeSet<&'static str> {
        let hit = self.0.iter().filter(|(_, range)| failed.iter().any(|i| range.contains(i)));
        hit.map(|(name, _)| *name).collect()
    }

    /// Number of constraints of all groups.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "no table is without constraints")]
    pub fn len(&self) -> usize {
        self.0.last().map_or(0, |(_, range)| range.end)
    }
}
