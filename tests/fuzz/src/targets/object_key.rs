//! Object keys, as an object adapter with POAs and servants of all kinds gets them.
//! A key reaches the object that it names, or nothing.

use corbie::{
    IdAssignment, IdUniqueness, Lifespan, ObjectId, Orb, Poa, PoaPolicy, RequestProcessing,
    Servant, ServantActivator, ServantDemux, ServantManager, ServantRefusal, ServerRequest,
    SystemException, minor,
};
use corbie_poa::measure::{Demultiplexer, key_again};
use std::sync::{Arc, OnceLock};

/// The octets of a transient key that differ from one life of a server to the next.
const INCARNATION: std::ops::Range<usize> = 2..6;

/// A server, and the incarnation in its transient keys.
struct Site {
    demultiplexer: Demultiplexer,
    incarnation: Vec<u8>,
    _root: Poa,
}

/// A key. One with the incarnation 0 is one of this server.
pub fn object_key(data: &[u8]) {
    static SITE: OnceLock<Option<Site>> = OnceLock::new();
    if let Some(again) = key_again(data) {
        assert_eq!(again, data);
    }
    let site = SITE.get_or_init(|| site().ok()).as_ref().expect("a server on the loopback");
    let mut key = data.to_vec();
    if let Some(incarnation) = key.get_mut(INCARNATION)
        && data.starts_with(b"\xCBT\0\0\0\0")
    {
        incarnation.copy_from_slice(&site.incarnation);
    }
    let mut calls = 0;
    let called = site.demultiplexer.call(&key, &mut |_| calls += 1);
    assert_eq!(calls, usize::from(called));
    // Octets that no POA understands never reach a servant.
    assert!(!called || key_again(&key).is_some());
}

fn site() -> Result<Site, SystemException> {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
    let root = orb.root_poa()?;
    let manager = root.the_poa_manager();
    manager.activate()?;
    let mut incarnation = vec![];
    for demux in [ServantDemux::Active, ServantDemux::DynamicHash, ServantDemux::Linear] {
        for lifespan in [Lifespan::Transient, Lifespan::Persistent] {
            let policies = [demux.into(), lifespan.into(), IdAssignment::UserId.into()];
            let name = format!("{demux:?}{lifespan:?}");
            let poa = root.create_poa(&name, Some(&manager), &policies)?;
            for id in ["a", "b"] {
                poa.activate_object_with_id(&ObjectId::from(id), Arc::new(TargetServant))?;
                let reference = poa.id_to_reference(&ObjectId::from(id))?;
                if lifespan == Lifespan::Transient {
                    let key = reference.object_key().unwrap_or_default();
                    incarnation = key.get(INCARNATION).unwrap_or_default().to_vec();
                }
            }
        }
    }
    by_request(&root, "default", RequestProcessing::DefaultServant)?
        .set_servant(Arc::new(TargetServant))?;
    by_request(&root, "activator", RequestProcessing::ServantManager)?
        .set_servant_manager(ServantManager::activator(ShortIds))?;
    Ok(Site { demultiplexer: Demultiplexer::of(&root), incarnation, _root: root })
}

fn by_request(
    root: &Poa,
    name: &str,
    processing: RequestProcessing,
) -> Result<Poa, SystemException> {
    let policies: [PoaPolicy; 4] = [
        Lifespan::Persistent.into(),
        IdAssignment::UserId.into(),
        IdUniqueness::MultipleId.into(),
        processing.into(),
    ];
    Ok(root.create_poa(name, Some(&root.the_poa_manager()), &policies)?)
}

struct TargetServant;

impl Servant for TargetServant {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Fuzz/Target:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        request.reply(&|_| Ok(()))
    }
}

/// Incarnates objects with ids of at most two octets, so that a long run takes little memory.
struct ShortIds;

impl ServantActivator for ShortIds {
    fn incarnate(&self, id: &ObjectId, poa: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        assert_eq!(poa.the_name(), "activator");
        if id.as_octets().len() > 2 {
            return Err(SystemException::object_not_exist(
                minor::OBJECT_NOT_EXIST_NO_MATCH,
                corbie::CompletionStatus::No,
            )
            .into());
        }
        Ok(Arc::new(TargetServant))
    }

    fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
}
