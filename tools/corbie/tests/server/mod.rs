//! A server of `Every::Echo` (`tests/idl/every_type.idl`) in the test's own process.
//!
//! Written against the façade without generated code: operations with one parameter of the type
//! that they return answer with the octets that came, whatever the type.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use corbie::types::{CompletionStatus, SystemException};
use corbie::{Minor, ObjectId, Orb, Poa, Servant, ServerRequest};

const ECHO: &str = "IDL:Every/Echo:1.0";
const BASE: &str = "IDL:Every/Base:1.0";

/// A server that listens on a loopback port until it is dropped.
pub(crate) struct Server {
    orb: Orb,
    poa: Poa,
    id: ObjectId,
    /// The reference of its object.
    pub(crate) reference: String,
    /// What `forget` was told.
    pub(crate) told: mpsc::Receiver<String>,
}

impl Server {
    /// Starts one on a port that the system chooses.
    pub(crate) fn start() -> Self {
        Self::start_with(&["-ORBListenEndpoints", "iiop://127.0.0.1:0"])
    }

    /// Starts one with these settings.
    pub(crate) fn start_with(settings: &[&str]) -> Self {
        let orb = Orb::init(settings.iter().copied()).expect("an ORB");
        let poa = orb.root_poa().expect("a root POA");
        poa.the_poa_manager().activate().expect("an active manager");
        let (sender, told) = mpsc::channel();
        let servant = Echo { title: Mutex::new("untitled".to_owned()), told: Mutex::new(sender) };
        let id = poa.activate_object(Arc::new(servant)).expect("an active object");
        let reference = poa.id_to_reference(&id).expect("its reference").to_string();
        Self { orb, poa, id, reference, told }
    }

    /// Takes the object away; the server goes on.
    pub(crate) fn deactivate(&self) {
        self.poa.deactivate_object(&self.id).expect("the object was active");
    }

    /// The port that it listens on.
    pub(crate) fn port(&self) -> u16 {
        let endpoint = self.orb.listen_endpoints().first().expect("an endpoint").to_string();
        let (_, port) = endpoint.rsplit_once(':').expect("a port");
        port.parse().expect("a number")
    }

    /// Makes the object known as `corbaloc::host:port/Echo`.
    pub(crate) fn bind_plain_key(&self) {
        let object = self.poa.id_to_reference(&self.id).expect("its reference");
        self.orb.bind_object_key("Echo", &object);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.orb.shutdown(false);
    }
}

struct Echo {
    title: Mutex<String>,
    told: Mutex<mpsc::Sender<String>>,
}

impl Servant for Echo {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[ECHO, BASE]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let mut d = request.arguments();
        match request.operation() {
            "who" => request.reply(&|e| e.write_string("an echo")),
            "nothing" => request.reply(&|_| Ok(())),
            "add" => {
                let sum = d.read_longlong()?.wrapping_add(d.read_longlong()?);
                request.reply(&|e| {
                    e.write_longlong(sum);
                    Ok(())
                })
            }
            operation @ ("three" | "four") => {
                let (a, b) = (d.read_long()?, d.read_long()?);
                request.reply(&|e| {
                    if operation == "four" {
                        e.write_long(a + b);
                    }
                    e.write_long(b + 1);
                    e.write_long(a * 10);
                    Ok(())
                })
            }
            // How many strings the context has: its length has to be there.
            "in_context" => {
                d.read_octet()?;
                let strings = d.read_ulong()?;
                request.reply(&|e| {
                    e.write_ulong(strings);
                    Ok(())
                })
            }
            "forget" => {
                let sender = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = sender.send(d.read_string()?.into_owned());
                Ok(())
            }
            "refuse" => {
                let why = d.read_string()?.into_owned();
                request.reply_exception("IDL:Every/Refused:1.0", &|e| {
                    e.write_string(&why)?;
                    e.write_long(3);
                    e.write_long(-4);
                    Ok(())
                })
            }
            "refuse_empty" => request.reply_exception("IDL:Every/Empty:1.0", &|_| Ok(())),
            "unlisted" => request.reply_exception("IDL:Every/Unlisted:1.0", &|_| Ok(())),
            "fail" => Err(SystemException::no_permission(Minor::of::<1>(), CompletionStatus::No)),
            "_get_title" => {
                let title = self.title.lock().unwrap_or_else(PoisonError::into_inner).clone();
                request.reply(&|e| e.write_string(&title))
            }
            "_set_title" => {
                let title = d.read_string()?.into_owned();
                *self.title.lock().unwrap_or_else(PoisonError::into_inner) = title;
                request.reply(&|_| Ok(()))
            }
            "_get_count" => request.reply(&|e| {
                e.write_ulonglong(u64::MAX);
                Ok(())
            }),
            "unknown_operation" => Err(request.unknown_operation()),
            // One argument in, the same value out.
            _ => {
                let octets = d.read_octets(d.remaining())?;
                request.reply(&|e| {
                    e.write_octets(octets);
                    Ok(())
                })
            }
        }
    }
}
