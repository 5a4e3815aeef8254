//! The client: names as text, typed references, and errors that say which part of a name is wrong.
//!
//! Works with every CosNaming server: it uses `NamingContext` only and makes names itself. What a
//! server leaves to its client (`CannotProceed`) is done here.

mod error;
mod tree;
mod watch;

pub use error::NamingError;
pub use tree::{Bounds, Node};
pub use watch::{Change, Watch};

use crate::NameComponent;
use crate::cos_naming::{Binding, BindingType, NamingContext};
use crate::name::{self, NAME_SERVICE};
use crate::refusal::Refusal;
use crate::store::Kind;
use corbie::{Interface, Object, Orb};
use std::time::Instant;

/// How often a client goes on at another context before it gives up.
const PROCEED_MAX: u32 = 32;

/// Bindings that are asked for in one call.
const PAGE: u32 = 200;

/// A naming context, used by names as text. Names are relative to it; the empty name is itself
/// where that makes sense.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let orb = corbie::Orb::init(Vec::<String>::new())?;
/// # let quoter: corbie_naming::cos_naming::NamingContext = unimplemented!();
/// use corbie_naming::Naming;
/// let naming = Naming::of(&orb)?;
/// naming.make_contexts("stock/exchange")?;
/// naming.rebind("stock/exchange/IBM.quoter", quoter.as_object())?;
/// let quoter: corbie_naming::cos_naming::NamingContext =
///     naming.resolve("stock/exchange/IBM.quoter")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Naming {
    context: NamingContext,
}

/// A binding, as `list` gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name within the context, as text.
    pub name: String,
    /// Whether it leads to a context.
    pub kind: Kind,
}

impl Naming {
    /// The naming service that the ORB knows: `-ORBInitRef NameService=…`.
    ///
    /// # Errors
    /// [`NamingError::System`] when the ORB knows none or it does not answer,
    /// [`NamingError::WrongType`] when it is something else.
    pub fn of(orb: &Orb) -> Result<Self, NamingError> {
        let found = orb.resolve_initial_references(NAME_SERVICE);
        Self::narrow(NAME_SERVICE, &found.map_err(NamingError::system(NAME_SERVICE))?)
    }

    /// The naming context with this reference: `corbaloc:…`, `IOR:…`, `corbaname:…`, `file:…`.
    ///
    /// # Errors
    /// As [`Naming::of`].
    pub fn at(orb: &Orb, url: &str) -> Result<Self, NamingError> {
        let found = orb.string_to_object(url);
        Self::narrow(url, &found.map_err(NamingError::system(url))?)
    }

    fn narrow(name: &str, object: &Object) -> Result<Self, NamingError> {
        match NamingContext::narrow(object) {
            Ok(Some(context)) => Ok(Self { context }),
            Ok(None) => Err(NamingError::wrong_type::<NamingContext>(name)),
            Err(exception) => Err(NamingError::system(name)(exception)),
        }
    }

    /// This context.
    #[must_use]
    pub fn as_context(&self) -> &NamingContext {
        &self.context
    }

    /// The object of that name, as what it is to be.
    ///
    /// # Errors
    /// [`NamingError::NotFound`] and the other variants by what the server raised;
    /// [`NamingError::WrongType`] when the object has another interface.
    pub fn resolve<I: Interface>(&self, name: &str) -> Result<I, NamingError> {
        let object = self.resolve_object(name)?;
        match I::narrow(&object) {
            Ok(Some(reference)) => Ok(reference),
            Ok(None) => Err(NamingError::wrong_type::<I>(name)),
            Err(exception) => Err(NamingError::system(name)(exception)),
        }
    }

    /// The object of that name. It is not called.
    ///
    /// # Errors
    /// As [`Naming::resolve`]; [`NamingError::Nil`] when a nil reference is bound.
    pub fn resolve_object(&self, name: &str) -> Result<Object, NamingError> {
        let found = self.proceed(name, |context, rest| context.resolve(rest))?;
        found.ok_or_else(|| NamingError::Nil { name: name.to_owned() })
    }

    /// Binds an object. The contexts on the way must be there: see [`Naming::make_contexts`].
    ///
    /// # Errors
    /// [`NamingError::AlreadyBound`] and the others.
    pub fn bind(&self, name: &str, object: &Object) -> Result<(), NamingError> {
        self.proceed(name, |context, rest| context.bind(rest, Some(object)))
    }

    /// Binds an object, in place of another one if need be.
    ///
    /// # Errors
    /// [`NamingError::NotFound`] with `not_object` when the name is a context's, and the others.
    pub fn rebind(&self, name: &str, object: &Object) -> Result<(), NamingError> {
        self.proceed(name, |context, rest| context.rebind(rest, Some(object)))
    }

    /// Binds a naming context of this server or of another.
    ///
    /// # Errors
    /// As [`Naming::bind`].
    pub fn bind_context(&self, name: &str, bound: &NamingContext) -> Result<(), NamingError> {
        self.proceed(name, |context, rest| context.bind_context(rest, Some(bound)))
    }

    /// Binds a naming context, in place of another one if need be.
    ///
    /// # Errors
    /// [`NamingError::NotFound`] with `not_context` when the name is an object's, and the others.
    pub fn rebind_context(&self, name: &str, bound: &NamingContext) -> Result<(), NamingError> {
        self.proceed(name, |context, rest| context.rebind_context(rest, Some(bound)))
    }

    /// Makes a context and binds it.
    ///
    /// # Errors
    /// As [`Naming::bind`].
    pub fn bind_new_context(&self, name: &str) -> Result<Naming, NamingError> {
        let made = self.proceed(name, |context, rest| context.bind_new_context(rest))?;
        let context = made.ok_or_else(|| NamingError::Nil { name: name.to_owned() })?;
        Ok(Naming { context })
    }

    /// The context of that name, made with all contexts on the way that are not there yet.
    ///
    /// # Errors
    /// [`NamingError::WrongType`] when a part of the name is an object, and the others.
    pub fn make_contexts(&self, name: &str) -> Result<Naming, NamingError> {
        let mut here = self.clone();
        for component in components(name)? {
            let step = name::stringify(std::slice::from_ref(&component));
            here = match here.bind_new_context(&step) {
                Err(NamingError::AlreadyBound { .. }) => here.context(&step)?,
                made => made?,
            };
        }
        Ok(here)
    }

    /// Takes a binding away; what it led to stays.
    ///
    /// # Errors
    /// [`NamingError::NotFound`] and the others.
    pub fn unbind(&self, name: &str) -> Result<(), NamingError> {
        self.proceed(name, |context, rest| context.unbind(rest))
    }

    /// Destroys the empty context of that name and takes its binding away.
    ///
    /// # Errors
    /// [`NamingError::NotEmpty`], [`NamingError::WrongType`] for an object, and the others.
    pub fn destroy(&self, name: &str) -> Result<(), NamingError> {
        let refused = self.context(name)?.context.destroy().map_err(Refusal::from);
        refused.map_err(|refusal| NamingError::of(name, refusal))?;
        self.unbind(name)
    }

    /// The context of that name; this one for the empty name.
    ///
    /// # Errors
    /// As [`Naming::resolve`].
    pub fn context(&self, name: &str) -> Result<Naming, NamingError> {
        if name.is_empty() {
            return Ok(self.clone());
        }
        Ok(Naming { context: self.resolve(name)? })
    }

    /// All bindings of the context of that name, in the server's order.
    ///
    /// # Errors
    /// As [`Naming::resolve`].
    pub fn list(&self, name: &str) -> Result<Vec<Entry>, NamingError> {
        self.list_at_most(name, usize::MAX)
    }

    /// The first bindings of the context of that name.
    ///
    /// # Errors
    /// As [`Naming::resolve`].
    pub fn list_at_most(&self, name: &str, most: usize) -> Result<Vec<Entry>, NamingError> {
        let context = self.context(name)?.context;
        let system = NamingError::system(name);
        let (bindings, iterator) = context.list(PAGE).map_err(&system)?;
        let mut entries: Vec<Entry> = bindings.into_iter().map(Entry::from).collect();
        let Some(iterator) = iterator else {
            entries.truncate(most);
            return Ok(entries);
        };
        while entries.len() < most {
            let (more, bindings) = iterator.next_n(PAGE).map_err(&system)?;
            // A server that has more and gives none would be asked for ever.
            let is_over = !more || bindings.is_empty();
            entries.extend(bindings.into_iter().map(Entry::from));
            if is_over {
                break;
            }
        }
        entries.truncate(most);
        // It would end by itself; to say so is polite.
        let _ = iterator.destroy();
        Ok(entries)
    }

    /// Does `call`, and goes on at another context as long as the server says so.
    fn proceed<T, E: Into<Refusal>>(
        &self,
        name: &str,
        call: impl Fn(&NamingContext, &[NameComponent]) -> Result<T, E>,
    ) -> Result<T, NamingError> {
        let mut rest = components(name)?;
        let mut context = self.context.clone();
        let mut is_elsewhere = false;
        // A call may take so long, and so may all of them together, but for the last.
        let patience = context.as_object().orb().settings().request_timeout;
        let began = Instant::now();
        for _ in 0..PROCEED_MAX {
            if is_elsewhere && patience.is_some_and(|patience| began.elapsed() > patience) {
                break;
            }
            match call(&context, &rest).map_err(Into::into) {
                Ok(result) => return Ok(result),
                Err(Refusal::CannotProceed(stop)) => match stop.cxt {
                    // Else it would go round at the same place.
                    Some(next) if next != context || stop.rest_of_name.len() < rest.len() => {
                        (context, rest, is_elsewhere) = (next, stop.rest_of_name, true);
                    }
                    _ => return Err(NamingError::stuck(name, &stop.rest_of_name, None)),
                },
                Err(Refusal::System(exception)) if is_elsewhere => {
                    return Err(NamingError::stuck(name, &rest, Some(exception)));
                }
                Err(refusal) => return Err(NamingError::of(name, refusal)),
            }
        }
        Err(NamingError::stuck(name, &rest, None))
    }
}

impl From<NamingContext> for Naming {
    fn from(context: NamingContext) -> Self {
        Self { context }
    }
}

impl From<Binding> for Entry {
    fn from(binding: Binding) -> Self {
        let kind = match binding.binding_type {
            BindingType::Ncontext => Kind::Context,
            BindingType::Nobject => Kind::Object,
        };
        Entry { name: name::stringify(&binding.binding_name), kind }
    }
}

fn components(text: &str) -> Result<Vec<NameComponent>, NamingError> {
    name::parse(text).map_err(|error| NamingError::InvalidName {
        name: text.to_owned(),
        why: format!(
            "at character {}: found {}, needed {}",
            error.at + 1,
            error.found,
            error.needed
        ),
    })
}
