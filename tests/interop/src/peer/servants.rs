//! The servants of the catalogue that keep nothing between calls. The client uses those of
//! `Named` and `Callback`.

use super::rows;
use crate::idl::interop::*;
use crate::values::{self, *};
use corbie::idl::Wstring;
use corbie::types::{Any, TypeCode};
use corbie::{
    Bidirectional, CompletionStatus, ImplicitActivation, LongDouble, Marshal, Minor, Object, Orb,
    Poa, SystemException, SystemExceptionKind, WChar, minor,
};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The minor code of BAD_PARAM that says: look at `Root::last_mismatch`.
pub(super) const MISMATCH: u32 = 0x4342_ffff;

/// What every servant needs.
#[derive(Clone)]
pub(crate) struct Side {
    pub(super) orb: Orb,
    pub(super) poa: Poa,
    named: Arc<Mutex<BTreeMap<String, Named>>>,
    mismatch: Arc<Mutex<String>>,
}

impl Side {
    pub(super) fn new(orb: &Orb) -> Result<Side, Different> {
        let poa = orb.root_poa()?;
        let manager = poa.the_poa_manager();
        manager.activate().map_err(corbie::SystemException::from)?;
        let poa = match orb.settings().bidirectional {
            Bidirectional::Normal => poa,
            both => poa
                .create_poa(
                    "bidirectional",
                    Some(&manager),
                    &[both.into(), ImplicitActivation::Implicit.into()],
                )
                .map_err(super::server::failed)?,
        };
        Ok(Side { orb: orb.clone(), poa, named: Arc::default(), mismatch: Arc::default() })
    }

    /// What was found wrong last.
    pub(super) fn last_mismatch(&self) -> String {
        self.mismatch.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs the body of an operation; a difference is kept for `Root::last_mismatch`.
    pub(super) fn guarded<T>(
        &self,
        body: impl FnOnce() -> Result<T, Different>,
    ) -> Result<T, SystemException> {
        body().map_err(|different| {
            let text = different.to_string();
            self.mismatch.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&text);
            SystemException::bad_param(Minor::of::<MISMATCH>(), CompletionStatus::No)
                .with_detail(text)
        })
    }

    /// A `Named` of that name, activated once.
    pub(super) fn named(&self, name: &str) -> Result<Named, Different> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = named.get(name) {
            return Ok(it.clone());
        }
        let skeleton = NamedSkeleton::new(NamedOne(name.to_owned()));
        let it = self.poa.activate(skeleton).map_err(|e| Different(e.to_string()))?;
        named.insert(name.to_owned(), it.clone());
        Ok(it)
    }

    pub(super) fn named_seq(&self, n: i64, who: &str) -> Result<NamedSeq, Different> {
        Ok(vec![
            Some(self.named(&format!("{who}-{n}"))?),
            None,
            Some(self.named(&format!("{who}-{}", n + 1))?),
        ])
    }

    pub(super) fn holder(&self, n: i64, who: &str) -> Result<Holder, Different> {
        Ok(Holder {
            label: string(n),
            one: Some(self.named(&format!("{who}-{n}"))?),
            other: Some(self.named(&format!("{who}-{}", n + 1))?.into_object()),
            more: self.named_seq(n, who)?,
        })
    }

    /// The n-th any of a kind, made by this side.
    pub(super) fn any(&self, kind: i32, n: i64, who: &str) -> Result<Any, Different> {
        any_value(kind, n, who, Some(&|name| self.named(name)))
    }
}

pub(super) fn check_named(
    what: &str,
    got: Option<&Named>,
    n: i64,
    who: &str,
) -> Result<(), Different> {
    let named = got.ok_or_else(|| Different(format!("{what}: got nil")))?;
    check_equal(what, &named.name()?, &format!("{who}-{n}"))
}

pub(super) fn check_object(
    what: &str,
    got: Option<&Object>,
    n: i64,
    who: &str,
) -> Result<(), Different> {
    let object = got.ok_or_else(|| Different(format!("{what}: got nil")))?;
    check_named(what, Named::narrow(object)?.as_ref(), n, who)
}

pub(super) fn check_named_seq(
    what: &str,
    got: &[Option<Named>],
    n: i64,
    who: &str,
) -> Result<(), Different> {
    let [first, nil, third] = got else {
        return Err(Different(format!("{what}: not three references")));
    };
    check_named(what, first.as_ref(), n, who)?;
    expect(nil.is_none(), "the second reference is not nil")?;
    check_named(what, third.as_ref(), n + 1, who)
}

pub(super) fn check_holder(what: &str, got: &Holder, n: i64, who: &str) -> Result<(), Different> {
    check_equal(what, &got.label, &string(n))?;
    check_named(what, got.one.as_ref(), n, who)?;
    check_object(what, got.other.as_ref(), n + 1, who)?;
    check_named_seq(what, &got.more, n, who)
}

struct NamedOne(String);

impl NamedServant for NamedOne {
    fn name(&self) -> Result<String, SystemException> {
        Ok(self.0.clone())
    }
}

/// Calls the server back until the depth is used up.
pub(super) struct CallbackOne {
    /// Its own reference; set after activation.
    pub(super) myself: OnceLock<Callback>,
}

impl CallbackServant for CallbackOne {
    fn ping(&self, server: Option<&References>, depth: i32) -> Result<i32, SystemException> {
        if depth <= 0 {
            return Ok(1);
        }
        match server {
            Some(server) => Ok(1 + server.call_back(self.myself.get(), depth - 1)?),
            None => {
                Err(SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, CompletionStatus::No))
            }
        }
    }
}

// ------------------------------------------------------------------ pass in every direction

/// The result, the inout and the out value.
type Passed<M> =
    Result<(<M as Marshal>::Value, <M as Marshal>::Value, <M as Marshal>::Value), SystemException>;

fn pass<M: Marshal>(
    side: &Side,
    name: &str,
    a: &M::Value,
    b: &M::Value,
    value: fn(i64) -> M::Value,
) -> Passed<M>
where
    M::Value: Debug,
{
    side.guarded(|| {
        check::<M>(&format!("{name} in"), a, &value(1))?;
        check::<M>(&format!("{name} inout"), b, &value(2))?;
        Ok((value(5), value(3), value(4)))
    })
}

macro_rules! serve {
    ($servant:ident; $($kind:ident $op:ident $name:ident $marker:ty, $argument:ty;)*) => {
        impl $servant for Side {
            $(serve_one! { $kind $op $name $marker, $argument })*
        }
    };
}
macro_rules! serve_one {
    (value $op:ident $name:ident $marker:ty, $argument:ty) => {
        fn $op(&self, a: $argument, b: $argument) -> Passed<$marker> {
            pass::<$marker>(self, stringify!($name), &a, &b, values::$name)
        }
    };
    (reference $op:ident $name:ident $marker:ty, $argument:ty) => {
        fn $op(&self, a: &$argument, b: &$argument) -> Passed<$marker> {
            pass::<$marker>(self, stringify!($name), &a.to_owned(), &b.to_owned(), values::$name)
        }
    };
}

rows::primitives! { serve!(PrimitivesServant;) }
rows::texts! { serve!(TextsServant;) }
rows::structs! { serve!(StructsServant;) }
rows::unions! { serve!(UnionsServant;) }
rows::sequences! { serve!(SequencesServant;) }
rows::arrays! { serve!(ArraysServant;) }
rows::fixeds! { serve!(FixedsServant;) }
rows::extensions! { serve!(ExtensionsServant;) }

// ------------------------------------------------------------------ the rest

impl AnysServant for Side {
    fn pass_any(&self, kind: i32, a: &Any, b: &Any) -> Result<(Any, Any, Any), SystemException> {
        self.guarded(|| {
            check_any("any in", a, kind, 1, "client", &self.orb)?;
            check_any("any inout", b, kind, 2, "client", &self.orb)?;
            let make = |n| self.any(kind, n, "server");
            Ok((make(5)?, make(3)?, make(4)?))
        })
    }

    fn pass_any_seq(
        &self,
        a: &[Any],
        b: &[Any],
    ) -> Result<(AnySeq, AnySeq, AnySeq), SystemException> {
        self.guarded(|| {
            check_any_seq("any_seq in", a, 1, &self.orb)?;
            check_any_seq("any_seq inout", b, 2, &self.orb)?;
            Ok((any_seq(5)?, any_seq(3)?, any_seq(4)?))
        })
    }

    fn pass_typecode(
        &self,
        kind: i32,
        a: &TypeCode,
        b: &TypeCode,
    ) -> Result<(TypeCode, TypeCode, TypeCode), SystemException> {
        self.guarded(|| {
            check_type_code("TypeCode in", a, kind)?;
            check_type_code("TypeCode inout", b, kind + 1)?;
            Ok((type_code(kind + 4), type_code(kind + 2), type_code(kind + 3)))
        })
    }
}

impl ExceptionsServant for Side {
    fn raise_empty(&self) -> Result<(), exceptions::RaiseEmptyError> {
        Err(Empty {}.into())
    }
    fn raise_details(&self) -> Result<(), exceptions::RaiseDetailsError> {
        Err(details(2).into())
    }
    fn raise_lists(&self, a: i32, b: i32) -> Result<(i32, i32, i32), exceptions::RaiseListsError> {
        self.guarded(|| {
            check::<i32>("raise_lists in", &a, &long(1))?;
            check::<i32>("raise_lists inout", &b, &long(2))
        })?;
        Err(lists(4).into())
    }
    fn raise_nearby(&self) -> Result<String, exceptions::RaiseNearbyError> {
        Err(exceptions::Nearby { number: long(4) }.into())
    }
    fn raise_one_of(&self, which: i32) -> Result<String, exceptions::RaiseOneOfError> {
        match which {
            1 => Err(Empty {}.into()),
            2 => Err(details(3).into()),
            3 => Err(exceptions::Nearby { number: long(3) }.into()),
            _ => Ok("none".to_owned()),
        }
    }
    fn raise_system(
        &self,
        name: &str,
        minor: u32,
        completed: Completion,
    ) -> Result<(), SystemException> {
        let kind = self.guarded(|| {
            let found = SystemExceptionKind::ALL.iter().find(|kind| kind.name() == name);
            found.ok_or_else(|| Different(format!("no standard exception is called {name}")))
        })?;
        Err(SystemException::received(*kind, minor, status(completed)))
    }
    /// The servant fails in Rust's own way.
    fn raise_foreign(&self) -> Result<(), SystemException> {
        std::panic::panic_any("what Rust has and CORBA has not")
    }
}

pub(super) fn status(completed: Completion) -> CompletionStatus {
    match completed {
        Completion::CompletedYes => CompletionStatus::Yes,
        Completion::CompletedNo => CompletionStatus::No,
        Completion::CompletedMaybe => CompletionStatus::Maybe,
    }
}

/// `References` of the server; it hands itself out in call-backs.
pub(super) struct ReferencesOne {
    pub(super) side: Side,
    /// Its own reference; set after activation.
    pub(super) myself: OnceLock<References>,
}

impl ReferencesServant for ReferencesOne {
    fn pass_object(
        &self,
        a: Option<&Object>,
        b: Option<&Object>,
    ) -> Result<(Option<Object>, Option<Object>, Option<Object>), SystemException> {
        self.side.guarded(|| {
            check_object("object in", a, 1, "client")?;
            check_object("object inout", b, 2, "client")?;
            let make = |name| Ok::<_, Different>(Some(self.side.named(name)?.into_object()));
            Ok((make("server-5")?, make("server-3")?, make("server-4")?))
        })
    }
    fn pass_named(
        &self,
        a: Option<&Named>,
        b: Option<&Named>,
    ) -> Result<(Option<Named>, Option<Named>, Option<Named>), SystemException> {
        self.side.guarded(|| {
            check_named("named in", a, 1, "client")?;
            check_named("named inout", b, 2, "client")?;
            let make = |name| Ok::<_, Different>(Some(self.side.named(name)?));
            Ok((make("server-5")?, make("server-3")?, make("server-4")?))
        })
    }
    fn pass_nil(
        &self,
        a: Option<&Named>,
        b: Option<&Object>,
    ) -> Result<(Option<Named>, Option<Object>, Option<Named>), SystemException> {
        self.side.guarded(|| expect(a.is_none() && b.is_none(), "nil: got a reference"))?;
        Ok((None, None, None))
    }
    fn pass_named_seq(
        &self,
        a: &[Option<Named>],
        b: &[Option<Named>],
    ) -> Result<(NamedSeq, NamedSeq, NamedSeq), SystemException> {
        self.side.guarded(|| {
            check_named_seq("named_seq in", a, 1, "client")?;
            check_named_seq("named_seq inout", b, 2, "client")?;
            let make = |n| self.side.named_seq(n, "server");
            Ok((make(5)?, make(3)?, make(4)?))
        })
    }
    fn pass_holder(
        &self,
        a: &Holder,
        b: &Holder,
    ) -> Result<(Holder, Holder, Holder), SystemException> {
        self.side.guarded(|| {
            check_holder("holder in", a, 1, "client")?;
            check_holder("holder inout", b, 2, "client")?;
            let make = |n| self.side.holder(n, "server");
            Ok((make(5)?, make(3)?, make(4)?))
        })
    }
    fn bounce(&self, it: Option<&Callback>) -> Result<Option<Callback>, SystemException> {
        Ok(it.cloned())
    }
    fn call_back(&self, it: Option<&Callback>, depth: i32) -> Result<i32, SystemException> {
        match it {
            Some(it) => Ok(1 + it.ping(self.myself.get(), depth)?),
            None => {
                Err(SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, CompletionStatus::No))
            }
        }
    }
    fn gone(&self) -> Result<Option<Named>, SystemException> {
        self.side.guarded(|| {
            let skeleton = NamedSkeleton::new(NamedOne("gone".to_owned()));
            let gone = self.side.poa.activate(skeleton).map_err(|e| Different(e.to_string()))?;
            let id = self.side.poa.reference_to_id(gone.as_object());
            let id = id.map_err(|e| Different(e.to_string()))?;
            self.side.poa.deactivate_object(&id).map_err(|e| Different(e.to_string()))?;
            Ok(Some(gone))
        })
    }
}
