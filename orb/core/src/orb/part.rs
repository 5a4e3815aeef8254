//! A part of the ORB that a crate above brings along, such as the deferred requests of the dynamic
//! invocation interface (`orb/messaging`).

use crate::Orb;
use std::any::Any;
use std::sync::OnceLock;

/// A part of an [`Orb`] that the core does not know.
pub trait OrbPart: Any + Send + Sync {
    /// The ORB was shut down.
    fn shut_down(&self);
}

/// What the ORB has in its extension `part`.
#[derive(Default)]
struct PartSlot(OnceLock<Box<dyn OrbPart>>);

impl Orb {
    /// The part of this ORB that another crate brings along, made by the first call.
    ///
    /// # Panics
    /// When the ORB has a part of another type: there is one place.
    pub fn part<P: OrbPart + Default>(&self) -> &P {
        let part: &dyn Any = self.part_slot().0.get_or_init(|| Box::<P>::default()).as_ref();
        part.downcast_ref().expect("an ORB has one part of another crate")
    }

    pub(super) fn shut_down_part(&self) {
        if let Some(part) = self.part_slot().0.get() {
            part.shut_down();
        }
    }

    fn part_slot(&self) -> &PartSlot {
        self.extensions().part.get()
    }
}
