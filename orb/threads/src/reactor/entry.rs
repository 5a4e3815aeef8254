//! One source of a reactor, and how it stands.
//!
//! An entry is idle, among the ready, or in hand of one thread. Events that come while it is in
//! hand are remembered and put it among the ready when it is given back, so nothing has to be armed
//! with a system call.

use super::{Reactor, Source};
use crate::thread::SourceId;
use corbie_transport::Event;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// What came, and how the source stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits(u8);

impl Bits {
    pub(super) const INPUT: Bits = Bits(1);
    const OUTPUT: Bits = Bits(2);
    const END: Bits = Bits(4);
    const CAME: u8 = 7;
    /// A thread handles it.
    const IN_HAND: u8 = 8;
    /// It is among the ready.
    const READY: u8 = 16;

    pub(super) fn of(event: &Event) -> Bits {
        let bit = |holds: bool, Bits(bit)| if holds { bit } else { 0 };
        let (input, output) = (bit(event.input, Bits::INPUT), bit(event.output, Bits::OUTPUT));
        Bits(input | output | bit(event.end, Bits::END))
    }

    pub(super) fn has_input(self) -> bool {
        self.0 & Bits::INPUT.0 != 0
    }

    pub(super) fn has_output(self) -> bool {
        self.0 & Bits::OUTPUT.0 != 0
    }

    pub(super) fn has_end(self) -> bool {
        self.0 & Bits::END.0 != 0
    }
}

pub(super) struct Entry<C: 'static> {
    pub(super) reactor: Weak<Reactor<C>>,
    pub(super) source: Arc<dyn Source<C>>,
    pub(super) id: SourceId,
    state: AtomicU8,
    /// The peer has closed or the link broke: told once, and true for every turn from then on.
    has_ended: AtomicBool,
    /// How many times it was taken in hand.
    turns: AtomicU64,
    /// Which of these times it is in hand now; 0: it was given back.
    in_hand: AtomicU64,
}

impl<C: 'static> Entry<C> {
    /// Notes what came; whether the source is to be put among the ready.
    pub(super) fn mark(&self, came: Bits) -> bool {
        if came.has_end() {
            self.has_ended.store(true, Ordering::Release);
        }
        let next = |state: u8| {
            let wants_room = if state & Bits::IN_HAND == 0 { Bits::READY } else { 0 };
            Some(state | came.0 | wants_room)
        };
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        before.unwrap_or_else(|state| state) & (Bits::IN_HAND | Bits::READY) == 0
    }

    /// Takes the source, which was among the ready, in hand; the number of the turn, and what came.
    pub(super) fn take(&self) -> (u64, Bits) {
        let came = self.state.swap(Bits::IN_HAND, Ordering::AcqRel) & Bits::CAME;
        let end = if self.has_ended.load(Ordering::Acquire) { Bits::END.0 } else { 0 };
        let came = Bits(came | end);
        let turn = self.turns.fetch_add(1, Ordering::AcqRel) + 1;
        self.in_hand.store(turn, Ordering::Release);
        (turn, came)
    }

    /// Ends a turn; `false` when it had ended.
    pub(super) fn end_turn(&self, turn: u64) -> bool {
        self.in_hand.compare_exchange(turn, 0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Gives the source back; whether it is to be put among the ready, as something came meanwhile.
    pub(super) fn give_back(&self) -> bool {
        let next = |state: u8| {
            let came = state & Bits::CAME;
            Some(if came == 0 { 0 } else { came | Bits::READY })
        };
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        before.unwrap_or_else(|state| state) & Bits::CAME != 0
    }
}

/// All sources of a reactor, by id: index and generation.
pub(super) struct Entries<C: 'static> {
    slots: Vec<Slot<C>>,
    free: Vec<u32>,
}

struct Slot<C: 'static> {
    generation: u32,
    entry: Option<Arc<Entry<C>>>,
}

impl<C: 'static> Default for Entries<C> {
    fn default() -> Self {
        Entries { slots: vec![], free: vec![] }
    }
}

impl<C: 'static> Entries<C> {
    pub(super) fn insert(
        &mut self,
        reactor: Weak<Reactor<C>>,
        source: Arc<dyn Source<C>>,
    ) -> Arc<Entry<C>> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, entry: None });
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let slot = &mut self.slots[index as usize];
        // The highest id of all is the readiness' own.
        slot.generation = (slot.generation + 1) & (u32::MAX >> 1);
        let id = SourceId(u64::from(slot.generation) << 32 | u64::from(index));
        let (state, turns, in_hand) = (AtomicU8::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let has_ended = AtomicBool::new(false);
        let entry = Arc::new(Entry { reactor, source, id, state, has_ended, turns, in_hand });
        slot.entry = Some(Arc::clone(&entry));
        entry
    }

    /// The only source, if there is just one.
    pub(super) fn only(&self) -> Option<Arc<dyn Source<C>>> {
        let mut entries = self.slots.iter().filter_map(|slot| slot.entry.as_ref());
        let only = entries.next()?;
        entries.next().is_none().then(|| Arc::clone(&only.source))
    }

    pub(super) fn get(&self, id: SourceId) -> Option<Arc<Entry<C>>> {
        let slot = self.slots.get(index(id))?;
        slot.entry.as_ref().filter(|entry| entry.id == id).cloned()
    }

    pub(super) fn remove(&mut self, id: SourceId) -> Option<Arc<Entry<C>>> {
        let slot = self.slots.get_mut(index(id))?;
        let removed = slot.entry.take_if(|entry| entry.id == id)?;
        self.free.extend(u32::try_from(index(id)));
        Some(removed)
    }

    pub(super) fn all(&self) -> Vec<Arc<dyn Source<C>>> {
        let entries = self.slots.iter().filter_map(|slot| slot.entry.as_ref());
        entries.map(|entry| Arc::clone(&entry.source)).collect()
    }
}

fn index(SourceId(id): SourceId) -> usize {
    (id & u64::from(u32::MAX)) as usize
}
