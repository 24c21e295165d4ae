//! Whose message is sent next, so that nobody takes all places.

use std::collections::HashMap;

use crate::store::DueDelivery;

/// Owners to choose from, beyond those that have all places.
const CHOICE: usize = 16;

/// Messages under way: at most so many, and so many to one receiver.
pub(super) struct Turns {
    most: usize,
    per_receiver: usize,
    /// Owner and receiver of each, by the message's name.
    under_way: HashMap<String, (Option<String>, String)>,
}

impl Turns {
    pub(super) fn new(most: usize, per_receiver: usize) -> Self {
        Self { most, per_receiver, under_way: HashMap::new() }
    }

    /// Places that are free.
    pub(super) fn free(&self) -> usize {
        self.most.saturating_sub(self.under_way.len())
    }

    /// Messages that are to be looked at: as many owners as there are places, and some more, have one among them,
    /// so that there is a choice even where one place is free.
    pub(super) const fn looked_at(&self) -> usize {
        self.most + CHOICE
    }

    /// Names of what is under way.
    pub(super) fn names(&self) -> Vec<&str> {
        self.under_way.keys().map(String::as_str).collect()
    }

    /// Receivers that get no further message now.
    pub(super) fn full(&self) -> Vec<&str> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for (_, receiver) in self.under_way.values() {
            *counts.entry(receiver).or_default() += 1;
        }
        let full = counts.into_iter().filter(|(_, count)| *count >= self.per_receiver);
        full.map(|(receiver, _)| receiver).collect()
    }

    /// Takes as many messages as there are places for: always one of the owner of whom the fewest are under way,
    /// then the first one.
    pub(super) fn take(&mut self, mut due: Vec<DueDelivery>) -> Vec<DueDelivery> {
        let mut owners: HashMap<Option<String>, usize> = HashMap::new();
        let mut receivers: HashMap<String, usize> = HashMap::new();
        for (owner, receiver) in self.under_way.values() {
            *owners.entry(owner.clone()).or_default() += 1;
            *receivers.entry(receiver.clone()).or_default() += 1;
        }
        let mut taken = Vec::new();
        while self.free() > 0 {
            due.retain(|message| {
                let there =
                    receivers.get(&message.receiver).is_some_and(|n| *n >= self.per_receiver);
                !there && !self.under_way.contains_key(&message.id)
            });
            let of_owner = |at: &usize| owners.get(&due[*at].owner).copied().unwrap_or(0);
            let Some(next) = (0..due.len()).min_by_key(of_owner) else { break };
            let message = due.remove(next);
            *owners.entry(message.owner.clone()).or_default() += 1;
            *receivers.entry(message.receiver.clone()).or_default() += 1;
            let parties = (message.owner.clone(), message.receiver.clone());
            self.under_way.insert(message.id.clone(), parties);
            taken.push(message);
        }
        taken
    }

    /// A message is not under way any more.
    pub(super) fn done(&mut self, name: &str) {
        self.under_way.remove(name);
    }

    /// None is.
    pub(super) fn none(&mut self) {
        self.under_way.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `owner>receiver`, named by its place.
    fn due(texts: &[&str]) -> Vec<DueDelivery> {
        let message = |(at, text): (usize, &&str)| {
            let (owner, receiver) = text.split_once('>').expect("both");
            DueDelivery {
                id: at.to_string(),
                owner: Some(owner.to_owned()),
                receiver: receiver.to_owned(),
                url: String::new(),
                body: String::new(),
                attempts: 0,
            }
        };
        texts.iter().enumerate().map(message).collect()
    }

    fn names(taken: &[DueDelivery]) -> Vec<&str> {
        taken.iter().map(|message| message.id.as_str()).collect()
    }

    #[test]
    fn a_receiver_gets_no_more_than_its_share() {
        let mut turns = Turns::new(4, 2);
        let taken = turns.take(due(&["a>x", "a>x", "a>x", "b>x", "a>y"]));
        assert_eq!(names(&taken), ["0", "3", "4"]);
        assert_eq!((turns.free(), turns.full()), (1, vec!["x"]));
        turns.done("0");
        let more = turns.take(due(&["a>x", "a>x", "a>x"]));
        // What is under way is not taken again, and there is one place.
        assert_eq!(names(&more), ["0"]);
        turns.none();
        assert_eq!((turns.free(), turns.full().len()), (4, 0));
    }

    #[test]
    fn an_owner_with_many_receivers_leaves_places_to_others() {
        let mut turns = Turns::new(3, 2);
        assert_eq!(names(&turns.take(due(&["a>1", "a>2", "a>3", "a>4", "b>5"]))), ["0", "4", "1"]);
        turns.done("1");
        // Who has the fewest comes first, whoever has waited longer.
        let more = due(&["a>7", "a>8", "a>9", "b>6", "c>5"]);
        let more = more.into_iter().map(|one| DueDelivery { id: format!("n{}", one.id), ..one });
        assert_eq!(names(&turns.take(more.collect())), ["n4"]);
    }
}
