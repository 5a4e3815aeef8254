//! An array whose places are found by index and generation (paper POA §2.2, active demultiplexing).
//!
//! A place that is used again gets a new generation, so that a name of its former content finds
//! nothing. Used for POAs (`root`) and for active objects (`active_object_map`).

/// Where something stands: `generation` is odd while the place is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlotName {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl SlotName {
    /// Finds nothing: stands in keys of objects whose place is not known.
    pub(crate) const NOWHERE: SlotName = SlotName { index: u32::MAX, generation: 0 };
}

#[derive(Debug)]
struct Slot<T> {
    /// Counts how often the place was taken and freed; even when free.
    generation: u32,
    content: Option<T>,
}

/// The array and its free places.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Slots { slots: Vec::new(), free: Vec::new() }
    }

    /// Puts `content` into a free place; `None` when all 2^32 - 1 are
    /// taken.
    pub(crate) fn insert(&mut self, content: T) -> Option<SlotName> {
        self.insert_with(|_| content)
    }

    /// As [`Slots::insert`], for content that knows its place.
    pub(crate) fn insert_with(&mut self, content: impl FnOnce(SlotName) -> T) -> Option<SlotName> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index =
                    u32::try_from(self.slots.len()).ok().filter(|index| *index != u32::MAX)?;
                self.slots.push(Slot { generation: 0, content: None });
                index
            }
        };
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        let name = SlotName { index, generation: slot.generation };
        slot.content = Some(content(name));
        Some(name)
    }

    #[inline]
    pub(crate) fn get(&self, name: SlotName) -> Option<&T> {
        let slot = self.slots.get(name.index as usize)?;
        if slot.generation == name.generation { slot.content.as_ref() } else { None }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, name: SlotName) -> Option<&mut T> {
        let slot = self.slots.get_mut(name.index as usize)?;
        if slot.generation == name.generation { slot.content.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, name: SlotName) -> Option<T> {
        let slot = self.slots.get_mut(name.index as usize)?;
        if slot.generation != name.generation {
            return None;
        }
        let content = slot.content.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        // A place whose generations are used up is never taken again: its names stay stale.
        if slot.generation != 0 {
            self.free.push(name.index);
        }
        Some(content)
    }

    /// What stands at this index now, with its full name.
    #[inline]
    pub(crate) fn at_index(&self, index: u32) -> Option<(SlotName, &T)> {
        let slot = self.slots.get(index as usize)?;
        let content = slot.content.as_ref()?;
        Some((SlotName { index, generation: slot.generation }, content))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.content.as_ref())
    }

    /// The name of the first content that is meant.
    pub(crate) fn find(&self, is_meant: impl Fn(&T) -> bool) -> Option<SlotName> {
        self.iter_named().find(|(_, content)| is_meant(content)).map(|(name, _)| name)
    }

    /// All content with its names.
    pub(crate) fn iter_named(&self) -> impl Iterator<Item = (SlotName, &T)> {
        self.slots.iter().zip(0..).filter_map(|(slot, index)| {
            let content = slot.content.as_ref()?;
            Some((SlotName { index, generation: slot.generation }, content))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{SlotName, Slots};

    #[test]
    fn a_stale_name_never_finds_the_next_content() {
        let mut slots = Slots::new();
        let first = slots.insert("first").unwrap();
        assert_eq!(slots.remove(first), Some("first"));
        let second = slots.insert("second").unwrap();
        assert_eq!(second.index, first.index, "the place is used again");
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get(second), Some(&"second"));
        assert_eq!(slots.iter().count(), 1);
    }

    #[test]
    fn names_from_outside_are_only_looked_up() {
        let slots: Slots<u8> = Slots::new();
        assert_eq!(slots.get(SlotName { index: u32::MAX, generation: u32::MAX }), None);
    }
}
