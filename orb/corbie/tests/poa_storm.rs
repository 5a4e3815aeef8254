//! Calls, deactivations and destructions all at once: whatever happens, an object has one servant
//! at a time, etherealised after its last request and before the next incarnation
//! (CORBA 3.3 P1 §15.3.6).

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod worker;

use corbie::{
    AdapterActivator, IdAssignment, Lifespan, ObjectId, Poa, RequestProcessing, Servant,
    ServantActivator, ServantManager, ServantRefusal, ServerRequest, SystemException,
    SystemExceptionKind,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use worker::{Site, WORKER};

const OBJECTS: usize = 3;

/// What is known of each object, over all lives of its POA.
#[derive(Default)]
struct Ledger {
    incarnated: [AtomicU32; OBJECTS],
    etherealised: [AtomicU32; OBJECTS],
    served: AtomicU32,
    wrong: AtomicU32,
}

struct Counted {
    ledger: Arc<Ledger>,
    gone: AtomicBool,
    inside: AtomicU32,
}

impl Servant for Counted {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[WORKER]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        std::thread::yield_now();
        if self.gone.load(Ordering::SeqCst) {
            self.ledger.wrong.fetch_add(1, Ordering::SeqCst);
        }
        self.ledger.served.fetch_add(1, Ordering::SeqCst);
        self.inside.fetch_sub(1, Ordering::SeqCst);
        request.reply(&|_| Ok(()))
    }
}

/// The servants that live now.
struct Keeper {
    ledger: Arc<Ledger>,
    servants: [std::sync::Mutex<Option<Arc<Counted>>>; OBJECTS],
}

fn number(id: &ObjectId) -> usize {
    id.to_string().parse().unwrap()
}

impl ServantActivator for Keeper {
    fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        let servant = Arc::new(Counted {
            ledger: Arc::clone(&self.ledger),
            gone: AtomicBool::new(false),
            inside: AtomicU32::new(0),
        });
        let before = self.servants[number(id)].lock().unwrap().replace(Arc::clone(&servant));
        if before.is_some() {
            self.ledger.wrong.fetch_add(1, Ordering::SeqCst);
        }
        self.ledger.incarnated[number(id)].fetch_add(1, Ordering::SeqCst);
        Ok(servant)
    }

    fn etherealize(&self, id: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {
        let servant = self.servants[number(id)].lock().unwrap().take();
        let Some(servant) = servant else {
            self.ledger.wrong.fetch_add(1, Ordering::SeqCst);
            return;
        };
        servant.gone.store(true, Ordering::SeqCst);
        let inside = servant.inside.load(Ordering::SeqCst);
        self.ledger.wrong.fetch_add(inside, Ordering::SeqCst);
        self.ledger.etherealised[number(id)].fetch_add(1, Ordering::SeqCst);
    }
}

struct Maker(Arc<Ledger>);

impl AdapterActivator for Maker {
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException> {
        let policies = [
            Lifespan::Persistent.into(),
            IdAssignment::UserId.into(),
            RequestProcessing::ServantManager.into(),
        ];
        let poa = parent.create_poa(name, Some(&parent.the_poa_manager()), &policies)?;
        let keeper = Keeper { ledger: Arc::clone(&self.0), servants: Default::default() };
        poa.set_servant_manager(ServantManager::activator(keeper))?;
        Ok(true)
    }
}

#[test]
fn an_object_has_one_servant_at_a_time_whatever_happens() {
    let site = Site::new();
    let ledger = Arc::new(Ledger::default());
    site.root.set_the_activator(Some(Arc::new(Maker(Arc::clone(&ledger)))));
    let poa = site.root.find_poa("storm", true).unwrap();
    let objects: Vec<_> = (0..OBJECTS).map(|n| site.object(&poa, &n.to_string())).collect();
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|thread| {
            let (objects, over) = (objects.clone(), Arc::clone(&over));
            std::thread::spawn(move || {
                for n in thread.. {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    // While the POA is being destroyed, clients are to try again.
                    if let Err(exception) = objects[n % OBJECTS].name() {
                        assert!(
                            [SystemExceptionKind::Transient, SystemExceptionKind::Marshal]
                                .contains(&exception.kind),
                            "{exception}"
                        );
                    }
                }
            })
        })
        .collect();
    for round in 0..300 {
        let enough = ledger.served.load(Ordering::SeqCst) + 10;
        worker::eventually("calls", || {
            (ledger.served.load(Ordering::SeqCst) > enough).then_some(())
        });
        // It may just be destroyed or not active.
        let Ok(poa) = site.root.find_poa("storm", true) else { continue };
        if round % 10 == 9 {
            poa.destroy(true, round % 20 == 9).unwrap();
        } else {
            let _ = poa.deactivate_object(&ObjectId::from(&*(round % OBJECTS).to_string()));
        }
    }
    over.store(true, Ordering::SeqCst);
    for caller in callers {
        caller.join().unwrap();
    }
    let poa = site.root.find_poa("storm", true).unwrap();
    poa.destroy(true, true).unwrap();
    assert_eq!(ledger.wrong.load(Ordering::SeqCst), 0);
    for n in 0..OBJECTS {
        let count = |counts: &[AtomicU32; OBJECTS]| counts[n].load(Ordering::SeqCst);
        // Of a POA before, whose destruction was not waited for, the last may just be going.
        worker::eventually("the last etherealisation", || {
            (count(&ledger.incarnated) == count(&ledger.etherealised)).then_some(())
        });
        assert!(count(&ledger.incarnated) > 10, "object {n}");
    }
}
