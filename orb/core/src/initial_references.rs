//! The names that an application starts from: `resolve_initial_references` (CORBA 3.3 P1 §8.5.2).
//!
//! In this order: what was registered in this process, `-ORBInitRef`, `-ORBDefaultInitRef`, and the
//! services that the ORB has itself.

use crate::handles::Part;
use crate::policy::{PolicyCurrent, PolicyManager};
use crate::{Object, Orb};
use corbie_threads::lock::{Guard, Ranked, rank};
use corbie_types::ior::{MessagesProfile, profile_tag};
use corbie_types::url::{Corbaloc, ObjectAddress, parse_name};
use corbie_types::{Ior, ObjectUrl, SystemException, TaggedProfile, UiopProfile, minor};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

/// What is known by a name.
#[derive(Default)]
pub(crate) struct InitialReferences {
    /// References registered under names.
    registered: Ranked<rank::Leaf, BTreeMap<String, Object>>,
    /// Local objects, by name, with their repository ids. References are made when they are asked
    /// for: one that was kept would keep its ORB alive.
    local: Ranked<rank::Leaf, BTreeMap<&'static str, &'static str>>,
}

const POLICY_MANAGER: &str = "ORBPolicyManager";
const POLICY_CURRENT: &str = "PolicyCurrent";

/// `CORBA::ORB::InvalidName`: a name that no initial reference can be registered under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    /// The name.
    pub name: String,
    why: &'static str,
}

impl std::error::Error for InvalidName {}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} cannot be registered as an initial reference: {}", self.name, self.why)
    }
}

impl From<InvalidName> for SystemException {
    /// For programs that pass a failure on: `BAD_PARAM`, `COMPLETED_NO`.
    fn from(error: InvalidName) -> Self {
        bad_param(error.to_string())
    }
}

/// A URL that leads to another URL that leads … ends here.
const MAX_INDIRECTIONS: u32 = 8;

impl InitialReferences {
    pub(crate) fn lock(&self) -> Guard<'_, rank::Leaf, BTreeMap<String, Object>> {
        self.registered.lock()
    }

    fn local(&self) -> Guard<'_, rank::Leaf, BTreeMap<&'static str, &'static str>> {
        self.local.lock()
    }
}

impl Part for InitialReferences {}

impl Orb {
    pub(crate) fn initial_references(&self) -> &InitialReferences {
        self.extensions().initial_references.get()
    }

    /// The reference that is known by `name`: registered with
    /// [`Orb::register_initial_reference`], or configured with `-ORBInitRef name=…`, or found below
    /// `-ORBDefaultInitRef`. The reference is not called.
    ///
    /// # Errors
    /// `InvalidName` of the specification is `BAD_PARAM` here, `COMPLETED_NO`: no such name;
    /// the errors of [`Orb::string_to_object`] for a configured URL that leads nowhere.
    pub fn resolve_initial_references(&self, name: &str) -> Result<Object, SystemException> {
        self.resolve(name, 0)
    }

    /// The names that [`Orb::resolve_initial_references`] knows without a default.
    pub fn list_initial_services(&self) -> Vec<String> {
        let mut names: Vec<String> = self.initial_references().lock().keys().cloned().collect();
        names.extend(self.initial_references().local().keys().map(|name| (*name).to_owned()));
        names.extend(self.settings().init_refs.iter().map(|reference| reference.name.clone()));
        names.sort();
        names.dedup();
        names
    }

    /// Makes a local object known by `name`: its reference has one profile, with the tag
    /// `CORBIE_LOCAL` and the name as its data, and is not called. What the name means is up to
    /// the code that registers it, as the object adapter does with `POACurrent`.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`) when the name is taken.
    pub fn register_local_reference(
        &self,
        name: &'static str,
        repository_id: &'static str,
    ) -> Result<(), SystemException> {
        match self.initial_references().local().insert(name, repository_id) {
            None => Ok(()),
            Some(_) => Err(bad_param(format!("the initial reference {name:?} is taken"))),
        }
    }

    /// Makes the local objects of the core known by their names: `ORBPolicyManager`
    /// ([`PolicyManager::narrow`]) and `PolicyCurrent` ([`PolicyCurrent::narrow`]).
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`) when a name is taken.
    pub fn register_own_references(&self) -> Result<(), SystemException> {
        self.register_local_reference(POLICY_MANAGER, "IDL:omg.org/CORBA/PolicyManager:1.0")?;
        self.register_local_reference(POLICY_CURRENT, "IDL:omg.org/CORBA/PolicyCurrent:1.0")
    }

    /// Makes `object` known by `name` within this ORB.
    ///
    /// # Errors
    /// [`InvalidName`] when the name is empty, was registered before, or is that of an object of
    /// the ORB itself (`RootPOA` and so on).
    pub fn register_initial_reference(
        &self,
        name: &str,
        object: &Object,
    ) -> Result<(), InvalidName> {
        let refused = |why| Err(InvalidName { name: name.to_owned(), why });
        if name.is_empty() {
            return refused("it is empty");
        }
        if self.initial_references().local().contains_key(name) {
            return refused("it is an object of the ORB itself");
        }
        match self.initial_references().lock().entry(name.to_owned()) {
            Entry::Occupied(_) => return refused("it is taken"),
            Entry::Vacant(entry) => drop(entry.insert(object.clone())),
        }
        Ok(())
    }

    /// Whether `object` is the local one that [`Orb::register_local_reference`] made known by
    /// `name`.
    #[must_use]
    pub fn is_local_reference(object: &Object, name: &str) -> bool {
        let local = TaggedProfile { tag: profile_tag::CORBIE_LOCAL, data: name.into() };
        object.ior().profiles == [local]
    }

    /// The object of a stringified reference: `IOR:…`, `corbaloc:…`, `corbaname:…` or
    /// `file://…`. Nothing is called, except the naming service for `corbaname:`.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`) with the minor codes 7 to 10 for a string that cannot be read,
    /// saying where; for `file:` also when the file cannot be read; for `corbaname:` what the
    /// naming service says; `INV_OBJREF` for a nil reference.
    pub fn string_to_object(&self, text: &str) -> Result<Object, SystemException> {
        self.object_of_url(text, 0)
    }

    /// The stringified reference `IOR:…` of `object`.
    pub fn object_to_string(&self, object: &Object) -> String {
        object.to_string()
    }

    fn resolve(&self, name: &str, depth: u32) -> Result<Object, SystemException> {
        if let Some(object) = self.initial_references().lock().get(name) {
            return Ok(object.clone());
        }
        let configured = self.settings().init_refs.iter().find(|reference| reference.name == name);
        if let Some(reference) = configured {
            return self.object_of_url(&reference.url, depth + 1);
        }
        let local = self.initial_references().local().get_key_value(name).map(|(n, id)| (*n, *id));
        if let Some((name, repository_id)) = local {
            let data = name.as_bytes().to_vec();
            let profiles = vec![TaggedProfile { tag: profile_tag::CORBIE_LOCAL, data }];
            return Ok(Object::new(self, Ior { type_id: repository_id.to_owned(), profiles }));
        }
        if let Some(prefix) = &self.settings().default_init_ref {
            return self.object_of_url(&format!("{prefix}/{name}"), depth + 1);
        }
        Err(bad_param(format!(
            "there is no initial reference {name:?}: give it with -ORBInitRef {name}=<URL>, or \
             all of them with -ORBDefaultInitRef"
        )))
    }

    fn object_of_url(&self, text: &str, depth: u32) -> Result<Object, SystemException> {
        if depth > MAX_INDIRECTIONS {
            return Err(bad_param(format!("{text:?} leads in a circle")));
        }
        match text.parse::<ObjectUrl>()? {
            ObjectUrl::Ior(ior) => self.object_of_ior(Some(ior)),
            ObjectUrl::Corbaloc(corbaloc) => match corbaloc.initial_reference() {
                Some(name) => self.resolve(&name, depth + 1),
                None => self.object_of_ior(self.ior_of(&corbaloc)?),
            },
            ObjectUrl::Corbaname(corbaname) => {
                let context = match corbaname.context.initial_reference() {
                    Some(name) => self.resolve(&name, depth + 1)?,
                    None => self.object_of_ior(self.ior_of(&corbaname.context)?)?,
                };
                resolve_name(&context, &corbaname.name)
            }
            ObjectUrl::File(path) => {
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    bad_param(format!("the reference file {path:?} cannot be read: {error}"))
                })?;
                self.object_of_url(text.trim(), depth + 1)
            }
        }
    }

    /// A profile for each address, also of third-party transports.
    fn ior_of(&self, corbaloc: &Corbaloc) -> Result<Option<Ior>, SystemException> {
        let mut profiles = Vec::with_capacity(corbaloc.addresses.len());
        for address in &corbaloc.addresses {
            let Some(profile) = self.profile_of(address, corbaloc)? else { return Ok(None) };
            profiles.push(profile);
        }
        Ok(Some(Ior { type_id: String::new(), profiles }))
    }

    /// The profile for one of the addresses; `None` for `rir:`.
    fn profile_of(
        &self,
        address: &ObjectAddress,
        corbaloc: &Corbaloc,
    ) -> Result<Option<TaggedProfile>, SystemException> {
        if let Some(profile) = address.to_profile(&corbaloc.key)? {
            return Ok(Some(profile));
        }
        let (protocol, version, address) = match address {
            ObjectAddress::Rendezvous { protocol, version, address } => {
                (protocol, *version, address)
            }
            ObjectAddress::Spoken { messages, over } => {
                let carrier = self.profile_of(over, corbaloc)?;
                let around = carrier.map(|carrier| MessagesProfile::around(messages, carrier));
                return Ok(around.transpose()?);
            }
            _ => return Ok(None),
        };
        let transport = self.transports().by_scheme(protocol).ok_or_else(|| {
            minor::BAD_PARAM_URL_ADDRESS
                .no(format!("the protocol {protocol:?} of {corbaloc} is not known"))
        })?;
        let profile = UiopProfile::new(version, address.clone(), corbaloc.key.clone());
        let (tag, data) = (transport.profile_tag(), transport.encode_profile(&profile)?);
        Ok(Some(TaggedProfile { tag, data }))
    }

    fn object_of_ior(&self, ior: Option<Ior>) -> Result<Object, SystemException> {
        match ior.filter(|ior| !ior.is_nil()) {
            Some(ior) => Ok(Object::new(self, ior)),
            None => {
                Err(minor::INV_OBJREF_NIL.no("the string is a nil reference, which is no object"))
            }
        }
    }
}

impl PolicyManager {
    /// What `orb.resolve_initial_references("ORBPolicyManager")` gave; `None` for any other
    /// reference.
    #[must_use]
    pub fn narrow(object: &Object) -> Option<Self> {
        let is_it = Orb::is_local_reference(object, POLICY_MANAGER);
        is_it.then(|| object.orb().policy_manager())
    }
}

impl PolicyCurrent {
    /// What `orb.resolve_initial_references("PolicyCurrent")` gave; `None` for any other
    /// reference.
    #[must_use]
    pub fn narrow(object: &Object) -> Option<Self> {
        Orb::is_local_reference(object, POLICY_CURRENT).then(PolicyCurrent::default)
    }
}

/// `NamingContext::resolve` on the wire (Naming Service 1.3 §2.2.2): an empty name is the context
/// itself. Not `resolve_str`, which contexts need not have: the name is taken apart here.
fn resolve_name(context: &Object, text: &str) -> Result<Object, SystemException> {
    const RESOLVE: crate::Operation = crate::Operation::twoway("resolve");
    let name = parse_name(text)?;
    if name.is_empty() {
        return Ok(context.clone());
    }
    let mut reply = context.invoke(&RESOLVE, &|e| {
        e.write_length(name.len())?;
        for component in &name {
            e.write_string(&component.id)?;
            e.write_string(&component.kind)?;
        }
        Ok(())
    })?;
    if let Some(exception) = reply.user_exception() {
        return Err(bad_param(format!("the name {text:?} does not resolve: {exception}")));
    }
    let found = reply.results(<Object as corbie_cdr::Marshal>::decode)?;
    found.ok_or_else(|| bad_param(format!("the name {text:?} is bound to a nil reference")))
}

#[cold]
fn bad_param(detail: String) -> SystemException {
    let minor = minor::BAD_PARAM_URL_SCHEME_SPECIFIC;
    minor.no(detail)
}
