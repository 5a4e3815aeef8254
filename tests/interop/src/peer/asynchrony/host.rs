//! The way in to the asynchronous part of the catalogue: activates the `Calls` of the style that
//! was asked for. Called by `server`.

use super::dynamic::Dynamic;
use super::executor::OneThread;
use super::futures::Waiting;
use super::plain::Plain;
use super::recorder::RecorderOne;
use super::responding::Responding;
use super::{State, Style};
use crate::idl::asynchrony::{
    AmhCallsSkeleton, AsyncCallsSkeleton, Calls, CallsSkeleton, Host, HostServant, HostSkeleton,
    Recorder, RecorderSkeleton,
};
use crate::peer::servants::Side;
use crate::values::Different;
use corbie::{DynamicServant, Poa, PoaError, ServerConcurrency, SystemException};
use std::sync::Arc;

struct HostOne {
    calls: Calls,
    recorder: Recorder,
}

impl HostServant for HostOne {
    fn get_calls(&self) -> Result<Option<Calls>, SystemException> {
        Ok(Some(self.calls.clone()))
    }
    fn get_recorder(&self) -> Result<Option<Recorder>, SystemException> {
        Ok(Some(self.recorder.clone()))
    }
}

/// Activates a Host whose Calls have that style.
pub(in crate::peer) fn start(side: &Side, style: Style) -> Result<Host, Different> {
    let failed = |error: PoaError| Different(error.to_string());
    let calls = calls(side, style).map_err(failed)?;
    let recorder = RecorderSkeleton::new(RecorderOne::new(side)?);
    let recorder = side.poa.activate(recorder).map_err(failed)?;
    side.poa.activate(HostSkeleton::new(HostOne { calls, recorder })).map_err(failed)
}

fn calls(side: &Side, style: Style) -> Result<Calls, PoaError> {
    let poa: &Poa = &side.poa;
    let known = |state: Arc<State>, calls: Calls| {
        state.set_this(calls.clone());
        calls
    };
    Ok(match style {
        Style::Plain => {
            let servant = Plain::new(held_at_most(side));
            known(servant.state.clone(), poa.activate(CallsSkeleton::new(servant))?)
        }
        Style::Amh => {
            let servant = Responding::default();
            known(servant.state.clone(), poa.activate(AmhCallsSkeleton::new(servant))?)
        }
        Style::AsyncFn => {
            side.orb.set_executor(Arc::new(OneThread::start()));
            let servant = Waiting::default();
            known(servant.state.clone(), poa.activate(AsyncCallsSkeleton::new(servant))?)
        }
        Style::Dsi => {
            Calls::unchecked_narrow(poa.activate(DynamicServant::new(Dynamic::default()))?)
        }
    })
}

/// A plain servant that holds requests keeps the threads that serve them.
fn held_at_most(side: &Side) -> u32 {
    match side.orb.settings().server_concurrency {
        ServerConcurrency::ThreadPool | ServerConcurrency::ThreadPerRequest => 4,
        _ => 0,
    }
}
