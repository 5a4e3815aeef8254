//! The servant of a naming context: every operation of `NamingContext` and `NamingContextExt`
//! (Naming Service 1.3 §2.2 to §2.5).
//!
//! Called by the skeleton, by several threads at once; what orders changes is the store.

use super::Shared;
use super::iterator::Cursor;
use super::walk::{End, Found, refusal_at};
use crate::cos_naming::naming_context::{
    BindContextError, BindError, BindNewContextError, DestroyError, InvalidName,
    RebindContextError, RebindError, ResolveError, UnbindError,
};
use crate::cos_naming::naming_context_ext::{
    InvalidAddress, ResolveStrError, ToNameError, ToStringError, ToUrlError,
};
use crate::cos_naming::{
    Binding, BindingIterator, NamingContext, NamingContextExtServant, NamingContextServant,
};
use crate::name::{self, BadUrl};
use crate::refusal::{Refusal, system};
use crate::store::{ContextId, Mode, StoreError, Target};
use crate::{Name, NameComponent};
use corbie::transport::PeerOrigin;
use corbie::{CompletionStatus, Ior, Object, SystemException, minor};
use std::sync::{Arc, OnceLock};

/// A naming context, for one request.
pub(super) struct Context {
    shared: Arc<Shared>,
    id: ContextId,
    client: Client,
}

/// The peer that a request is of; none: a call of the process itself.
pub(super) type Client = Arc<OnceLock<PeerOrigin>>;

/// A text is at most this many times as long as its name: every character escaped, and the dot.
const TEXT_FACTOR: usize = 2;

impl Context {
    pub(super) fn new(shared: Arc<Shared>, id: ContextId, client: Client) -> Self {
        Self { shared, id, client }
    }

    fn bind_object(
        &self,
        name: &[NameComponent],
        object: Option<&Object>,
        mode: Mode,
    ) -> Result<(), Refusal> {
        match self.shared.walk(self.id, name)? {
            End::Here { context, last } => {
                let ior = object.map_or_else(Ior::nil, |object| object.ior().clone());
                self.store(context, last, Target::Object(ior), mode)
            }
            End::Elsewhere { context, rest } => {
                self.shared.elsewhere::<(), Refusal>(&context, rest, |there| match mode {
                    Mode::New => there.bind(rest, object).map_err(Refusal::from),
                    Mode::Replace => there.rebind(rest, object).map_err(Refusal::from),
                })
            }
        }
    }

    fn bind_a_context(
        &self,
        name: &[NameComponent],
        bound: Option<&NamingContext>,
        mode: Mode,
    ) -> Result<(), Refusal> {
        let end = self.shared.walk(self.id, name)?;
        let Some(bound) = bound else {
            let exception =
                SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, CompletionStatus::No)
                    .with_detail("a nil reference cannot be bound as a naming context");
            return Err(exception.into());
        };
        match end {
            End::Here { context, last } => {
                let target = match self.shared.objects.context_of(bound.as_object()) {
                    Some(own) => Target::Context(own),
                    None => {
                        bound.as_object().check_egress()?;
                        Target::ForeignContext(bound.as_object().kept_ior())
                    }
                };
                self.store(context, last, target, mode)
            }
            End::Elsewhere { context, rest } => {
                let bound = Some(bound);
                self.shared.elsewhere::<(), Refusal>(&context, rest, |there| match mode {
                    Mode::New => there.bind_context(rest, bound).map_err(Refusal::from),
                    Mode::Replace => there.rebind_context(rest, bound).map_err(Refusal::from),
                })
            }
        }
    }

    fn store(
        &self,
        context: ContextId,
        last: &NameComponent,
        target: Target,
        mode: Mode,
    ) -> Result<(), Refusal> {
        if let Target::Object(ior) | Target::ForeignContext(ior) = &target {
            self.shared.limits.check_reference(ior.to_string().len())?;
        }
        let quota = self.shared.limits.quota();
        self.shared
            .store
            .bind(context, last, &target, mode, quota)
            .map_err(|error| self.refusal(error, context, last))
    }

    /// An error of the store about the last component.
    fn refusal(&self, error: StoreError, context: ContextId, last: &NameComponent) -> Refusal {
        refusal_at(error, context == self.id, std::slice::from_ref(last))
    }

    fn look_up(&self, name: &[NameComponent]) -> Result<Option<Object>, Refusal> {
        match self.shared.find(self.id, name)? {
            Found::Here(Target::Object(ior)) => {
                Ok((!ior.is_nil()).then(|| Object::new(&self.shared.orb, ior)))
            }
            Found::Here(Target::ForeignContext(ior)) => {
                let context = Object::kept(&self.shared.orb, ior);
                let ior = context.ior().clone();
                Ok((!ior.is_nil()).then(|| Object::new(&self.shared.orb, ior)))
            }
            Found::Here(Target::Context(id)) => {
                Ok(Some(self.shared.objects.reference(id)?.into_object()))
            }
            Found::Elsewhere { context, rest } => {
                self.shared.look_elsewhere(&context, rest, |there| there.resolve(rest))
            }
        }
    }

    fn unbind_name(&self, name: &[NameComponent]) -> Result<(), Refusal> {
        match self.shared.walk(self.id, name)? {
            End::Here { context, last } => {
                let unbound = self.shared.store.unbind(context, last);
                unbound.map_err(|error| self.refusal(error, context, last))
            }
            End::Elsewhere { context, rest } => {
                self.shared.elsewhere(&context, rest, |there| there.unbind(rest))
            }
        }
    }

    fn bind_a_new_context(&self, name: &[NameComponent]) -> Result<Option<NamingContext>, Refusal> {
        match self.shared.walk(self.id, name)? {
            End::Here { context, last } => {
                let made =
                    self.shared.store.create_bound(context, last, self.shared.limits.quota());
                let id = made.map_err(|error| self.refusal(error, context, last))?;
                Ok(Some(self.shared.objects.reference(id)?.into()))
            }
            End::Elsewhere { context, rest } => {
                self.shared.elsewhere(&context, rest, |there| there.bind_new_context(rest))
            }
        }
    }

    /// The name of a text, within the limits before it is taken apart.
    fn name_of(&self, text: &str) -> Result<Name, Refusal> {
        let limits = &self.shared.limits;
        let most = limits
            .name_components
            .saturating_mul(limits.component_octets.saturating_add(2))
            .saturating_mul(TEXT_FACTOR);
        if text.len() > most {
            let found = text.len();
            let text = format!("the name has {found} octets as text; at most {most} may be");
            return Err(super::limits::beyond(minor::IMP_LIMIT_NAME, text).into());
        }
        let name = name::parse(text).map_err(|_| Refusal::InvalidName(InvalidName {}))?;
        limits.check_name(&name)?;
        Ok(name)
    }
}

impl NamingContextServant for Context {
    fn bind(&self, n: &[NameComponent], obj: Option<&Object>) -> Result<(), BindError> {
        Ok(self.bind_object(n, obj, Mode::New)?)
    }

    fn rebind(&self, n: &[NameComponent], obj: Option<&Object>) -> Result<(), RebindError> {
        Ok(self.bind_object(n, obj, Mode::Replace)?)
    }

    fn bind_context(
        &self,
        n: &[NameComponent],
        nc: Option<&NamingContext>,
    ) -> Result<(), BindContextError> {
        Ok(self.bind_a_context(n, nc, Mode::New)?)
    }

    fn rebind_context(
        &self,
        n: &[NameComponent],
        nc: Option<&NamingContext>,
    ) -> Result<(), RebindContextError> {
        Ok(self.bind_a_context(n, nc, Mode::Replace)?)
    }

    fn resolve(&self, n: &[NameComponent]) -> Result<Option<Object>, ResolveError> {
        Ok(self.look_up(n)?)
    }

    fn unbind(&self, n: &[NameComponent]) -> Result<(), UnbindError> {
        Ok(self.unbind_name(n)?)
    }

    fn new_context(&self) -> Result<Option<NamingContext>, SystemException> {
        if !self.shared.store.exists(self.id).map_err(|error| system(&error))? {
            return Err(system(&StoreError::NoContext));
        }
        let made = self.shared.store.create(self.shared.limits.quota());
        let id = made.map_err(|error| system(&error))?;
        Ok(Some(self.shared.objects.reference(id)?.into()))
    }

    fn bind_new_context(
        &self,
        n: &[NameComponent],
    ) -> Result<Option<NamingContext>, BindNewContextError> {
        Ok(self.bind_a_new_context(n)?)
    }

    fn destroy(&self) -> Result<(), DestroyError> {
        if self.id == ContextId::ROOT {
            let no_root = minor::NO_PERMISSION_ROOT_CONTEXT;
            let exception = SystemException::no_permission(no_root, CompletionStatus::No)
                .with_detail("the root context of a naming server cannot be destroyed");
            return Err(exception.into());
        }
        let destroyed = self.shared.store.destroy(self.id);
        destroyed.map_err(|error| Refusal::of_store(error, &[]))?;
        Ok(())
    }

    fn list(
        &self,
        how_many: u32,
    ) -> Result<(Vec<Binding>, Option<BindingIterator>), SystemException> {
        let mut cursor = Cursor::new(Arc::clone(&self.shared.store), self.id);
        let most = self.shared.limits.list.min(how_many as usize);
        let listed = cursor.take(most)?;
        let iterator = if cursor.is_at_end()? {
            None
        } else {
            let client = self.client.get().cloned().unwrap_or(PeerOrigin::Here);
            Some(self.shared.iterators.add(&self.shared.orb, cursor, client)?)
        };
        Ok((listed, iterator))
    }
}

impl NamingContextExtServant for Context {
    fn to_string(&self, n: &[NameComponent]) -> Result<String, ToStringError> {
        self.shared.limits.check_name(n)?;
        if n.is_empty() {
            return Err(InvalidName {}.into());
        }
        Ok(name::stringify(n))
    }

    fn to_name(&self, sn: &str) -> Result<Name, ToNameError> {
        self.name_of(sn).map_err(|refusal| match refusal {
            Refusal::System(exception) => exception.into(),
            _ => InvalidName {}.into(),
        })
    }

    fn to_url(&self, addr: &str, sn: &str) -> Result<String, ToUrlError> {
        if !sn.is_empty() {
            self.name_of(sn).map_err(|refusal| match refusal {
                Refusal::System(exception) => ToUrlError::from(exception),
                _ => InvalidName {}.into(),
            })?;
        }
        name::url(addr, sn).map_err(|bad| match bad {
            BadUrl::Address(_) => InvalidAddress {}.into(),
            BadUrl::Name(_) => InvalidName {}.into(),
        })
    }

    fn resolve_str(&self, sn: &str) -> Result<Option<Object>, ResolveStrError> {
        Ok(self.look_up(&self.name_of(sn)?)?)
    }
}
