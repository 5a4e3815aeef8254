//! The `Yard` of `adapters.idl`: objects of every kind that a POA has, their ends, and the states
//! of a POA manager. Called by `server`, which hands it out; `on_demand` has the servant managers.

mod on_demand;

use super::servants::Side;
use super::server::failed;
use crate::idl::adapters::{Ending, Item, ItemServant, ItemSkeleton, Kind, YardServant};
use crate::idl::interop::{ForwardMode, Forwarded, ForwardedSkeleton};
use crate::values::Different;
use corbie::{
    IdAssignment, IdUniqueness, Minor, ObjectId, Poa, PoaPolicy, RequestProcessing, ServantManager,
    ServantRetention, SystemException,
};
use on_demand::{Adapters, ForwardingActivator, ForwardingLocator, History, Located};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Octets that `corbaloc` has escaped, `/` and blanks among them.
const NAME: &str = "The Yard/south, 100 % \u{20ac}";

/// The servant of every item; it knows which object it is from `POACurrent` alone.
pub(super) struct ItemOne {
    side: Side,
    calls: AtomicI32,
}

impl ItemOne {
    pub(super) fn skeleton(side: &Side) -> ItemSkeleton<ItemOne> {
        ItemSkeleton::new(ItemOne { side: side.clone(), calls: AtomicI32::new(0) })
    }
}

impl ItemServant for ItemOne {
    fn who(&self) -> Result<String, SystemException> {
        let current = self.side.orb.poa_current();
        let mut adapter = current.get_poa()?;
        let mut path = current.get_object_id()?.as_octets().to_vec();
        while let Some(parent) = adapter.the_parent() {
            path.insert(0, b'/');
            path.splice(0..0, adapter.the_name().bytes());
            adapter = parent;
        }
        Ok(String::from_utf8_lossy(&path).into_owned())
    }
    fn calls(&self) -> Result<i32, SystemException> {
        Ok(self.calls.fetch_add(1, Ordering::SeqCst) + 1)
    }
    fn incarnation(&self) -> Result<String, SystemException> {
        Ok(std::process::id().to_string())
    }
}

/// The servant of the yard.
pub(super) struct YardOne {
    side: Side,
    history: Arc<History>,
    kept: Poa,
    stable: Poa,
    shared: Poa,
    located: Poa,
    gated: Poa,
    gated_item: Item,
    /// How many POAs were made for `get_ended`.
    endings: AtomicI32,
}

impl YardOne {
    pub(super) fn new(side: &Side) -> Result<YardOne, Different> {
        let root = &side.poa;
        let history = Arc::<History>::default();
        root.set_the_activator(Some(Arc::new(Adapters::new(side, &history))));
        let with_manager = root.the_poa_manager();
        let child = |name: &str, policies: &[PoaPolicy]| {
            root.create_poa(name, Some(&with_manager), policies).map_err(failed)
        };
        let user_id = PoaPolicy::from(IdAssignment::UserId);
        let not_kept = PoaPolicy::from(ServantRetention::NonRetain);
        let shared = child(
            "shared",
            &[
                user_id,
                not_kept,
                IdUniqueness::MultipleId.into(),
                RequestProcessing::DefaultServant.into(),
            ],
        )?;
        shared.set_servant(Arc::new(ItemOne::skeleton(side))).map_err(failed)?;
        let located =
            child("located", &[user_id, not_kept, RequestProcessing::ServantManager.into()])?;
        let locator = Located { side: side.clone(), history: Arc::clone(&history) };
        located.set_servant_manager(ServantManager::locator(locator)).map_err(failed)?;
        let gated = root.create_poa("gated", None, &[user_id]).map_err(failed)?;
        gated.the_poa_manager().activate().map_err(failed)?;
        let gated_item = gated.activate_with_id("item", ItemOne::skeleton(side)).map_err(failed)?;
        let stable = child("stable", &PoaPolicy::PERSISTENT_USER_ID)?;
        let by_name =
            stable.activate_with_id("by name", ItemOne::skeleton(side)).map_err(failed)?;
        side.orb.bind_object_key(NAME, by_name.as_object());
        Ok(YardOne {
            side: side.clone(),
            history,
            kept: child("kept", &[user_id])?,
            stable,
            shared,
            located,
            gated,
            gated_item,
            endings: AtomicI32::new(0),
        })
    }

    fn poa(&self, which: Kind) -> Result<Poa, SystemException> {
        Ok(match which {
            Kind::Kept => self.kept.clone(),
            Kind::Stable => self.stable.clone(),
            Kind::OnDemand => self.side.poa.find_poa("archive", true)?.find_poa("boxes", true)?,
            Kind::Shared => self.shared.clone(),
            Kind::Located => self.located.clone(),
        })
    }

    fn item(&self, which: Kind, id: &str) -> Result<Item, SystemException> {
        let poa = self.poa(which)?;
        let id = ObjectId::from(id);
        let is_activated_here = matches!(which, Kind::Kept | Kind::Stable);
        let object = match poa.id_to_reference(&id) {
            Ok(object) => object,
            Err(_) if is_activated_here => {
                poa.activate_object_with_id(&id, Arc::new(ItemOne::skeleton(&self.side)))?;
                poa.id_to_reference(&id)?
            }
            Err(_) => poa.create_reference_with_id(&id, Item::REPOSITORY_ID)?,
        };
        Ok(Item::unchecked_narrow(object))
    }

    fn url(&self, object_key: &[u8]) -> Result<String, SystemException> {
        let address = self.side.orb.listen_addresses().into_iter().next();
        let address = address.ok_or_else(|| not_here("no endpoint has an address of TCP"))?;
        let mut url = format!("corbaloc:iiop:1.2@{address}/");
        for octet in object_key {
            let stays = octet.is_ascii_alphanumeric() || b";:?@&=+$,-_.!~*'()".contains(octet);
            // Writing to a string does not fail.
            let _ = match stays {
                true => write!(url, "{}", char::from(*octet)),
                false => write!(url, "%{octet:02x}"),
            };
        }
        Ok(url)
    }
}

fn not_here(why: &str) -> SystemException {
    SystemException::no_resources(Minor::of::<1>(), corbie::CompletionStatus::No).with_detail(why)
}

impl YardServant for YardOne {
    fn get_item(&self, which: Kind, id: &str) -> Result<Option<Item>, SystemException> {
        Ok(Some(self.item(which, id)?))
    }
    fn get_url(&self, which: Kind, id: &str) -> Result<String, SystemException> {
        let item = self.item(which, id)?;
        let key = item.as_object().object_key().ok_or_else(|| not_here("no object key"))?;
        self.url(&key)
    }
    fn get_name_url(&self) -> Result<String, SystemException> {
        self.url(NAME.as_bytes())
    }
    fn deactivate(&self, which: Kind, id: &str) -> Result<(), SystemException> {
        Ok(self.poa(which)?.deactivate_object(&ObjectId::from(id))?)
    }
    fn history(&self, id: &str) -> Result<String, SystemException> {
        Ok(self.history.of(id))
    }
    fn get_ended(&self, how: Ending) -> Result<Option<Item>, SystemException> {
        let name = format!("ending {}", self.endings.fetch_add(1, Ordering::SeqCst));
        let poa = self.side.poa.create_poa(&name, None, &[])?;
        poa.the_poa_manager().activate()?;
        let item = poa.activate(ItemOne::skeleton(&self.side))?;
        match how {
            Ending::Deactivated => {
                poa.deactivate_object(&poa.reference_to_id(item.as_object())?)?
            }
            Ending::Inactive => poa.the_poa_manager().deactivate(false, false)?,
            Ending::Destroyed => poa.destroy(true, false)?,
        }
        Ok(Some(item))
    }
    fn get_gated(&self) -> Result<Option<Item>, SystemException> {
        Ok(Some(self.gated_item.clone()))
    }
    fn hold(&self) -> Result<(), SystemException> {
        Ok(self.gated.the_poa_manager().hold_requests(false)?)
    }
    fn discard(&self) -> Result<(), SystemException> {
        Ok(self.gated.the_poa_manager().discard_requests(false)?)
    }
    fn activate(&self) -> Result<(), SystemException> {
        Ok(self.gated.the_poa_manager().activate()?)
    }
    fn held(&self) -> Result<u32, SystemException> {
        Ok(u32::try_from(self.gated.the_poa_manager().requests_held()).unwrap_or(u32::MAX))
    }
}

/// References whose servant managers send every caller on to another object.
pub(super) struct Forwarding {
    by_locator: Poa,
    by_activator: Poa,
}

impl Forwarding {
    pub(super) fn new(side: &Side) -> Result<Forwarding, Different> {
        let target = side.poa.activate(ForwardedSkeleton::new(side.clone())).map_err(failed)?;
        let target = target.into_object();
        let manager = side.poa.the_poa_manager();
        let child = |name, retention: ServantRetention, servants| {
            let policies = [RequestProcessing::ServantManager.into(), retention.into()];
            let poa = side.poa.create_poa(name, Some(&manager), &policies).map_err(failed)?;
            poa.set_servant_manager(servants).map_err(failed)?;
            Ok::<Poa, Different>(poa)
        };
        let locator = ServantManager::locator(ForwardingLocator(target.clone()));
        let activator = ServantManager::activator(ForwardingActivator(target));
        Ok(Forwarding {
            by_locator: child("by locator", ServantRetention::NonRetain, locator)?,
            by_activator: child("by activator", ServantRetention::Retain, activator)?,
        })
    }

    /// A new object of the POA, which nothing but its reference knows.
    pub(super) fn reference(&self, how: ForwardMode) -> Result<Forwarded, SystemException> {
        let poa = match how {
            ForwardMode::ByLocator => &self.by_locator,
            ForwardMode::ByActivator => &self.by_activator,
        };
        Ok(Forwarded::unchecked_narrow(poa.create_reference(Forwarded::REPOSITORY_ID)?))
    }
}
