//! Places for event streams and long polls: so many in all, and of these a share for each name of keys, so that
//! nobody takes them all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The places of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Streams {
    most: usize,
    share: usize,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    /// Only names that have a place.
    named: HashMap<String, usize>,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub struct Place {
    streams: Streams,
    name: Option<String>,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// All are taken: so many.
    All(usize),
    /// Those of this name are: so many.
    Share(usize),
}

impl Streams {
    /// `most` places in all, of which a name can have `share`.
    #[must_use]
    pub fn new(most: usize, share: usize) -> Self {
        Self { most, share, open: Arc::default() }
    }

    /// A place for a name. Who has none, because there are no keys, is held to no share.
    ///
    /// # Errors
    /// What is taken.
    pub fn place(&self, name: Option<String>) -> Result<Place, NoPlace> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.all >= self.most {
            return Err(NoPlace::All(self.most));
        }
        if let Some(name) = &name {
            let taken = open.named.get(name).copied().unwrap_or(0);
            if taken >= self.share {
                return Err(NoPlace::Share(self.share));
            }
            open.named.insert(name.clone(), taken + 1);
        }
        open.all += 1;
        Ok(Place { streams: self.clone(), name })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.all -= 1;
        let Some(name) = &self.name else { return };
        match open.named.get_mut(name) {
            Some(taken) if *taken > 1 => *taken -= 1,
            _ => drop(open.named.remove(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_share_and_leaves_the_rest_to_others() {
        let streams = Streams::new(3, 2);
        let named = |name: &str| streams.place(Some(name.to_owned()));
        let first = named("a").expect("a place");
        let _second = named("a").expect("a place");
        assert_eq!(named("a").map(drop), Err(NoPlace::Share(2)));
        let _other = named("b").expect("a place");
        assert_eq!(named("c").map(drop), Err(NoPlace::All(3)));
        assert_eq!(streams.place(None).map(drop), Err(NoPlace::All(3)));
        drop(first);
        drop(named("a").expect("it was given back"));
        let _nobody = streams.place(None).expect("a place");
        assert_eq!(named("a").map(drop), Err(NoPlace::All(3)));
    }

    #[test]
    fn names_without_a_place_are_forgotten() {
        let streams = Streams::new(3, 2);
        drop(streams.place(Some("a".to_owned())).expect("a place"));
        drop(streams.place(None).expect("a place"));
        let open = streams.open.lock().expect("nobody panicked");
        assert!(open.named.is_empty() && open.all == 0);
    }
}
