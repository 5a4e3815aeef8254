//! What the groups of a tree have received so far. A consumer whose tree has groups keeps one; the
//! tree itself never changes.

use super::Filter;

/// How far the groups of one tree are.
#[derive(Clone, Debug)]
pub struct Progress<E> {
    groups: Groups<E>,
}

/// By the places of the groups.
#[derive(Clone, Debug)]
pub(super) struct Groups<E>(Vec<Received<E>>);

#[derive(Clone, Debug)]
struct Received<E> {
    /// Which children have passed something on.
    children: Vec<bool>,
    events: Vec<E>,
}

impl<E> Default for Received<E> {
    fn default() -> Self {
        Self { children: Vec::new(), events: Vec::new() }
    }
}

impl<E> Progress<E> {
    /// Of a tree that has received nothing.
    #[must_use]
    pub fn of(filter: &Filter) -> Self {
        let groups = filter.clone().number().groups;
        Self { groups: Groups((0..groups).map(|_| Received::default()).collect()) }
    }

    /// Begins again: the consumer was given something.
    pub fn clear(&mut self) {
        for received in &mut self.groups.0 {
            received.children.fill(false);
            received.events.clear();
        }
    }

    /// How many events it keeps.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.groups.0.iter().map(|received| received.events.len()).sum()
    }

    pub(super) fn groups(&mut self) -> &mut Groups<E> {
        &mut self.groups
    }
}

impl<E> Groups<E> {
    /// Of a tree without groups.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// How many children of a group have passed something on.
    pub(super) fn received(&self, place: usize) -> usize {
        let children = self.0.get(place).map(|received| received.children.iter());
        children.map_or(0, |children| children.filter(|is_there| **is_there).count())
    }

    /// A child has passed something on: all events of the group, when it was the last one.
    pub(super) fn receive(
        &mut self,
        place: usize,
        child: usize,
        children: usize,
        events: Vec<E>,
    ) -> Option<Vec<E>> {
        let received = self.0.get_mut(place)?;
        received.children.resize(children, false);
        let is_there = received.children.get_mut(child)?;
        if std::mem::replace(is_there, true) {
            return None;
        }
        received.events.extend(events);
        let is_complete = received.children.iter().all(|is_there| *is_there);
        is_complete.then(|| std::mem::take(&mut received.events))
    }
}
