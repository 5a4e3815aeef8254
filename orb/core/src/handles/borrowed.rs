//! A servant seen as the trait that it implements, and kept without being kept alive.
//!
//! [`View`] carries a `&dyn QuoterServant` out of a servant of unknown type, by the [`TypeId`]
//! of the trait object. [`Borrowed`] remembers such a reference as a pointer and gives
//! it back only while the thread is inside an upcall of the object. Two of the few uses of `unsafe`
//! in Corbie: a safe `Weak` costs two locked instructions a call, which is twice the whole call.
#![expect(unsafe_code, reason = "see above; each use says why it is sound")]

use corbie_upcall::{Activation, ActiveObject, Entered};
use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A pointer to a value of a type that is known elsewhere, wide or not.
#[derive(Clone, Copy)]
struct Erased(MaybeUninit<[*const (); 2]>);

impl Erased {
    fn new<T: ?Sized>(value: &T) -> Self {
        const { assert!(size_of::<NonNull<T>>() <= size_of::<Erased>()) };
        const { assert!(align_of::<NonNull<T>>() <= align_of::<Erased>()) };
        let mut room: MaybeUninit<[*const (); 2]> = MaybeUninit::uninit();
        let place = room.as_mut_ptr().cast::<NonNull<T>>();
        // SAFETY: `place` points to `room`, which is large enough and aligned (asserted above).
        unsafe { place.write(NonNull::from(value)) };
        Erased(room)
    }

    /// The pointer.
    ///
    /// # Safety
    /// It was made by [`Erased::new`] with the same `T`.
    #[inline]
    // SAFETY: nothing but the caller's word is needed.
    unsafe fn get<T: ?Sized>(&self) -> NonNull<T> {
        // SAFETY: by the caller's word a `NonNull<T>` was written here.
        unsafe { self.0.as_ptr().cast::<NonNull<T>>().read() }
    }
}

/// What is asked of a servant: itself as one certain trait object. Servants offer what they are by
/// `Servant::_view`; what was asked for is kept.
pub struct View<'a> {
    interface: TypeId,
    /// Made of a `&'a T` where `TypeId::of::<T>() == interface`.
    found: Option<Erased>,
    /// Whether anything was offered at all.
    is_offered: bool,
    of_servant: PhantomData<&'a ()>,
}

/// Has a servant show itself to a view.
pub(crate) type Show<S> = for<'v> fn(&'v S, &mut View<'v>);

impl<'a> View<'a> {
    /// Whether anything was offered.
    pub(crate) fn is_offered(&self) -> bool {
        self.is_offered
    }

    /// Asks for the trait object type `interface`.
    pub(crate) fn new(interface: TypeId) -> Self {
        View { interface, found: None, is_offered: false, of_servant: PhantomData }
    }

    /// The servant as `T`. The first offer of a type counts.
    pub fn offer<T: ?Sized + Send + Sync + 'static>(&mut self, servant: &'a T) {
        self.is_offered = true;
        if self.found.is_none() && self.interface == TypeId::of::<T>() {
            self.found = Some(Erased::new(servant));
        }
    }

    /// What was found, if `T` is what was asked for.
    pub(crate) fn get<T: ?Sized + 'static>(&self) -> Option<&'a T> {
        let found = self.found.filter(|_| self.interface == TypeId::of::<T>())?;
        // SAFETY: `offer` made it of a `&'a T` of this very type.
        Some(unsafe { found.get::<T>().as_ref() })
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("is_found", &self.found.is_some()).finish_non_exhaustive()
    }
}

/// The servant of an active object, seen as one trait object. Does not keep it alive: it is lent
/// only while its object is entered.
pub(crate) struct Borrowed {
    activation: Arc<Activation>,
    interface: TypeId,
    /// Points to (a part of) the servant of the [`ActiveObject`] that `activation` is of, as the
    /// type `interface`.
    servant: Erased,
}

// SAFETY: what `servant` points to is `Send` and `Sync` (`View::offer` asks for it), and everything
// else is by itself.
unsafe impl Send for Borrowed {}
// SAFETY: as above; nothing is changed through `&Borrowed`.
unsafe impl Sync for Borrowed {}

impl Borrowed {
    /// The servant of `object` as `interface`; `None` when `show` does not offer it so.
    pub(crate) fn new<S: ?Sized>(
        object: &ActiveObject<S>,
        show: Show<S>,
        interface: TypeId,
    ) -> Option<Self> {
        let mut view = View::new(interface);
        show(object.servant(), &mut view);
        let activation = Arc::clone(object.activation());
        Some(Borrowed { activation, interface, servant: view.found? })
    }

    /// The activation that it is of.
    pub(crate) fn activation(&self) -> &Activation {
        &self.activation
    }

    /// Whether it is of this interface, and its object was not deactivated.
    #[inline]
    pub(crate) fn is_good_for(&self, interface: TypeId) -> bool {
        self.interface == interface && self.activation.is_active()
    }

    /// Enters the object: the servant as `T`, until dropped. `None` when it is of another
    /// interface, or when the object adapter has to be asked (see [`Activation::enter`]).
    #[inline(always)]
    pub(crate) fn enter<T: ?Sized + 'static>(&self) -> Option<Lent<'_, T>> {
        if self.interface != TypeId::of::<T>() {
            return None;
        }
        let entered = self.activation.enter()?;
        // SAFETY: the pointer is of this type. It was made of a borrow of the servant that the
        // `ActiveObject` of this activation holds. `corbie_upcall::ActiveObject` promises that the
        // servant is not dropped while an `Entered` of the activation lives, and `entered` does as
        // long as what is lent here.
        let servant = unsafe { self.servant.get::<T>().as_ref() };
        Some(Lent { servant, _entered: entered })
    }
}

/// A servant, as long as its object is entered.
pub(crate) struct Lent<'b, T: ?Sized> {
    servant: &'b T,
    _entered: Entered<'b>,
}

impl<T: ?Sized> Deref for Lent<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.servant
    }
}
