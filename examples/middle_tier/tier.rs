//! The middle tier of paper AMH §4.1: an AMH servant that gives each response to an AMI callback,
//! and the callback answers when the sink has. One thread holds as many requests as there are.

use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use corbie::messaging::ExceptionHolder;
use corbie::{Orb, Poa, SystemException};

use crate::idl::quotes::amh_quoter::GetQuoteResponse;
use crate::idl::quotes::quoter::GetQuoteError;
use crate::idl::quotes::{
    AmhQuoterServant, AmhQuoterSkeleton, AmiQuoterExceptionHolder, AmiQuoterHandler,
    AmiQuoterHandlerServant, AmiQuoterHandlerSkeleton, Quoter,
};

/// The AMH servant.
struct MiddleTier {
    sink: Quoter,
    poa: Poa,
}

impl AmhQuoterServant for MiddleTier {
    /// Returns as soon as the sink was asked.
    fn get_quote(&self, response: GetQuoteResponse, stock_name: &str) {
        if let Err(error) = self.ask(response, stock_name) {
            // The response went with the callback: its client has NO_RESPONSE already.
            eprintln!("middle tier: cannot ask the sink: {error}");
        }
    }
}

impl MiddleTier {
    fn ask(&self, response: GetQuoteResponse, stock_name: &str) -> Result<(), Box<dyn Error>> {
        let callback = Callback {
            response: Mutex::new(Some(response)),
            own: OnceLock::new(),
            poa: self.poa.clone(),
        };
        let callback = Arc::new(callback);
        let skeleton = AmiQuoterHandlerSkeleton::new(Arc::clone(&callback));
        let handler = self.poa.activate(skeleton)?;
        let _ = callback.own.set(handler.clone());
        let sent = self.sink.sendc_get_quote(&handler, stock_name);
        if sent.is_err() {
            callback.retire();
        }
        Ok(sent?)
    }
}

/// Has the response of one client until the sink has answered.
struct Callback {
    response: Mutex<Option<GetQuoteResponse>>,
    /// Its own reference, by which it is deactivated: it serves one reply.
    own: OnceLock<AmiQuoterHandler>,
    poa: Poa,
}

impl Callback {
    /// Takes the callback out of the object adapter; hands out the response it had.
    fn retire(&self) -> Option<GetQuoteResponse> {
        if let Some(own) = self.own.get()
            && let Ok(id) = self.poa.reference_to_id(own.as_object())
        {
            // An error means that it is out already.
            let _ = self.poa.deactivate_object(&id);
        }
        self.response.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl AmiQuoterHandlerServant for Callback {
    /// The sink has a price.
    fn get_quote(&self, ami_return_val: i32) -> Result<(), SystemException> {
        match self.retire() {
            Some(response) => response.get_quote(ami_return_val),
            None => Ok(()),
        }
    }

    /// The sink, or the way to it, has an exception: it goes on to the client as it is.
    fn get_quote_excep(&self, excep_holder: &ExceptionHolder) -> Result<(), SystemException> {
        let Some(response) = self.retire() else { return Ok(()) };
        match AmiQuoterExceptionHolder::from(excep_holder).raise_get_quote() {
            Err(GetQuoteError::InvalidStockSymbol(exception)) => {
                response.get_quote_excep(exception)
            }
            Err(GetQuoteError::System(exception)) => response.get_quote_excep(exception),
        }
    }
}

/// Serves until standard input ends.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (sink, rest) = arguments.split_first().ok_or("where is the sink?")?;
    let orb = Orb::init(crate::server_arguments(rest))?;
    let object = orb.string_to_object(sink)?;
    let sink = Quoter::narrow(&object)?.ok_or("the sink is no Quotes::Quoter")?;
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    let tier = poa.activate(AmhQuoterSkeleton::new(MiddleTier { sink, poa: poa.clone() }))?;
    crate::serve(&orb, &orb.object_to_string(tier.as_object()));
    Ok(())
}
