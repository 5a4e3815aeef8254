//! The same middle tier as an `async fn`: what `tier.rs` does by hand, the compiler does.
//! Runs on whatever executor the application has; here on the smallest (`executor.rs`).

use std::error::Error;
use std::sync::Arc;

use corbie::Orb;

use crate::executor::OneThread;
use crate::idl::quotes::quoter::GetQuoteError;
use crate::idl::quotes::{AsyncQuoterServant, AsyncQuoterSkeleton, Quoter};

struct MiddleTier {
    sink: Quoter,
}

impl AsyncQuoterServant for MiddleTier {
    async fn get_quote(&self, stock_name: &str) -> Result<i32, GetQuoteError> {
        self.sink.get_quote_async(stock_name).await
    }
}

/// Serves until standard input ends.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (sink, rest) = arguments.split_first().ok_or("where is the sink?")?;
    let orb = Orb::init(crate::server_arguments(rest))?;
    orb.set_executor(Arc::new(OneThread::start()));
    let object = orb.string_to_object(sink)?;
    let sink = Quoter::narrow(&object)?.ok_or("the sink is no Quotes::Quoter")?;
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    let tier = poa.activate(AsyncQuoterSkeleton::new(MiddleTier { sink }))?;
    crate::serve(&orb, &orb.object_to_string(tier.as_object()));
    Ok(())
}
