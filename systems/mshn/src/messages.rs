//! What components ask of each other, as values: requests, replies, and a component that serves
//! them.
//!
//! One table, `operations!`, says for every operation of `mshn.idl` how it is a static call, a
//! dynamic one, an asynchronous one, and how its servant hands it on. So a component is written
//! once ([`Component`]), and a mechanism is a few lines (`mechanism.rs`).

use crate::idl::events::Kind;
use crate::idl::*;
use corbie::cdr::Error;
use corbie::dynamic::Exception;
use corbie::types::InterfaceDescription;
use corbie::{
    Decoder, Described as _, DynamicObject, Encoder, Interface, Marshal, Object, Operation, Orb,
    Poa, PoaError, PoaPolicy, Request as DynamicRequest, SystemException, SystemIds, Typed, minor,
};
use corbie_store::StoreFailure;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Takes the answer to a request, once, on whichever thread has it. It should not block.
pub type Done = Box<dyn FnOnce(Result<Reply, SystemException>) + Send>;

/// An answer that is to come.
pub type Coming = Pin<Box<dyn Future<Output = Result<Reply, SystemException>> + Send>>;

/// What a component is: something that answers requests, now or later.
pub trait Component: Send + Sync + 'static {
    /// Answers `request` by calling `done` once. Must not block for long.
    fn serve(&self, request: Request, done: Done);

    /// Calls `then`, with the reason, once the component cannot go on and another has to take its
    /// place; most never call it.
    fn on_failure(&self, then: Box<dyn FnOnce(&str) + Send>) {
        drop(then);
    }
}

/// The kinds of components that others call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The Scheduling Advisor.
    Advisor,
    /// The Resource Status Server.
    StatusServer,
    /// The Resource Requirement Database.
    RequirementDatabase,
    /// The daemon of a machine.
    Daemon,
}

impl Role {
    /// The name of its context in the naming service, and on command lines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Advisor => "advisor",
            Role::StatusServer => "status",
            Role::RequirementDatabase => "requirements",
            Role::Daemon => "daemon",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! replies {
    ($($reply:ident = $operation:ident),*) => {
        /// An answer.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "the types of the IDL, which explains them")]
        pub enum Reply { $($reply($reply),)* }

        impl Reply {
            /// Which member of an envelope it is.
            pub(crate) fn kind(&self) -> Kind {
                match self { $(Reply::$reply(_) => Kind::$reply,)* }
            }

            /// The operation of a typed event with this answer.
            pub(crate) fn event(&self) -> &'static Operation {
                match self { $(Reply::$reply(_) => {
                    static EVENT: Operation = Operation::twoway(stringify!($operation));
                    &EVENT
                })* }
            }

            /// Which answer a typed event of that operation is.
            pub(crate) fn kind_of(event: &str) -> Option<Kind> {
                match event {
                    $(stringify!($operation) => Some(Kind::$reply),)*
                    _ => None,
                }
            }

            /// As the member of an envelope.
            pub(crate) fn encode_member<'a>(&'a self, e: &mut Encoder<'a>) -> Result<(), Error> {
                match self { $(Reply::$reply(reply) => <$reply as Marshal>::encode(reply, e),)* }
            }

            /// The member of that kind, if it is one of an answer.
            pub(crate) fn decode_member(
                kind: Kind,
                d: &mut Decoder<'_>,
            ) -> Result<Option<Self>, Error> {
                Ok(match kind {
                    $(Kind::$reply => Some(Reply::$reply(<$reply as Marshal>::decode(d)?)),)*
                    _ => None,
                })
            }
        }

        $(impl From<$reply> for Reply {
            fn from(reply: $reply) -> Self { Reply::$reply(reply) }
        }

        impl TryFrom<Reply> for $reply {
            type Error = SystemException;

            fn try_from(reply: Reply) -> Result<Self, SystemException> {
                match reply {
                    Reply::$reply(reply) => Ok(reply),
                    other => Err(unexpected(&other, stringify!($reply))),
                }
            }
        })*
    };
}

replies!(
    Placement = answer_placement,
    Receipt = answer_receipt,
    Outcome = answer_outcome,
    StatusReport = answer_status,
    Requirements = answer_requirements,
    News = answer_news
);

#[cold]
fn unexpected(reply: &Reply, wanted: &str) -> SystemException {
    SystemException::internal(minor::INTERNAL_STATE, corbie::CompletionStatus::Yes)
        .with_detail(format!("the answer should be a {wanted}, but is {reply:?}"))
}

/// A component as the servant of its interface: every request is handed on with what answers it.
#[derive(Clone)]
struct Served(Arc<dyn Component>);

macro_rules! operations {
    ($($role:ident ($servant:ident, $skeleton:ident, $module:ident, $events:ident) {
        $($variant:ident = $operation:ident, $later:ident, $response:ident
            ($argument:ident) -> $reply:ident;)*
        $(@oneway $notice:ident = $notify:ident ($said:ident);)?
    })*) => {
        /// A request: the operation, and its one argument.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "the operations of the IDL, which explains them")]
        pub enum Request { $($($variant($argument),)* $($notice($said),)?)* }

        impl Request {
            /// Whose interface the operation belongs to.
            #[must_use]
            pub fn role(&self) -> Role {
                match self { $(
                    $(Request::$variant(_) => Role::$role,)*
                    $(Request::$notice(_) => Role::$role,)?
                )* }
            }

            /// The name of the operation.
            #[must_use]
            pub fn operation(&self) -> &'static str {
                match self { $(
                    $(Request::$variant(_) => stringify!($operation),)*
                    $(Request::$notice(_) => stringify!($notify),)?
                )* }
            }

            /// The operation of a typed event with this request.
            pub(crate) fn event(&self) -> &'static Operation {
                match self { $(
                    $(Request::$variant(_) => {
                        static EVENT: Operation = Operation::twoway(stringify!($operation));
                        &EVENT
                    })*
                    $(Request::$notice(_) => {
                        static EVENT: Operation = Operation::twoway(stringify!($notify));
                        &EVENT
                    })?
                )* }
            }

            /// Which request a typed event of that operation is.
            pub(crate) fn kind_of(event: &str) -> Option<Kind> {
                match event {
                    $($(stringify!($operation) => Some(Kind::$variant),)*
                    $(stringify!($notify) => Some(Kind::$notice),)?)*
                    _ => None,
                }
            }

            /// Whether an answer comes.
            pub(crate) fn is_answered(&self) -> bool {
                match self { $(
                    $(Request::$variant(_) => true,)*
                    $(Request::$notice(_) => false,)?
                )* }
            }

            /// Which member of an envelope it is.
            pub(crate) fn kind(&self) -> Kind {
                match self { $(
                    $(Request::$variant(_) => Kind::$variant,)*
                    $(Request::$notice(_) => Kind::$notice,)?
                )* }
            }

            /// As the member of an envelope.
            pub(crate) fn encode_member<'a>(&'a self, e: &mut Encoder<'a>) -> Result<(), Error> {
                match self { $(
                    $(Request::$variant(argument) => <$argument as Marshal>::encode(argument, e),)*
                    $(Request::$notice(said) => <$said as Marshal>::encode(said, e),)?
                )* }
            }

            /// The member of that kind, if it is one of a request.
            pub(crate) fn decode_member(
                kind: Kind,
                d: &mut Decoder<'_>,
            ) -> Result<Option<Self>, Error> {
                Ok(match kind {
                    $($(Kind::$variant => {
                        Some(Request::$variant(<$argument as Marshal>::decode(d)?))
                    })*
                    $(Kind::$notice => Some(Request::$notice(<$said as Marshal>::decode(d)?)),)?)*
                    _ => None,
                })
            }

            /// As a call of a generated stub.
            pub(crate) fn invoke(&self, target: &Object) -> Result<Reply, SystemException> {
                match self { $(
                    $(Request::$variant(argument) => {
                        <$role>::from_object(target.clone()).$operation(argument).map(Reply::from)
                    })*
                    $(Request::$notice(said) => {
                        <$role>::from_object(target.clone()).$notify(said)?;
                        Ok(sent())
                    })?
                )* }
            }

            /// As an asynchronous call of a generated stub.
            pub(crate) fn invoke_later(&self, target: &Object) -> Coming {
                match self { $(
                    $(Request::$variant(argument) => {
                        let call = <$role>::from_object(target.clone()).$later(argument);
                        Box::pin(async move { call.await.map(Reply::from) })
                    })*
                    $(Request::$notice(said) => {
                        let outcome = <$role>::from_object(target.clone()).$notify(said);
                        Box::pin(std::future::ready(outcome.map(|()| sent())))
                    })?
                )* }
            }

            /// As a dynamic request, not sent yet; whether an answer comes.
            pub(crate) fn dynamic(
                &self,
                target: &Object,
            ) -> Result<(DynamicRequest, bool), SystemException> {
                let mut request = target.request(self.operation());
                let is_answered = match self { $(
                    $(Request::$variant(argument) => {
                        request.add_in::<$argument>("argument", argument)?;
                        request.set_return_type(<$reply as Typed>::type_code());
                        true
                    })*
                    $(Request::$notice(said) => {
                        request.add_in::<$said>("argument", said)?;
                        false
                    })?
                )* };
                Ok((request, is_answered))
            }

            /// What the answered dynamic request gave.
            pub(crate) fn dynamic_reply(
                &self,
                request: &DynamicRequest,
            ) -> Result<Reply, SystemException> {
                match self { $(
                    $(Request::$variant(_) => request.returned::<$reply>().map(Reply::from),)*
                    $(Request::$notice(_) => Ok(sent()),)?
                )* }
            }
        }

        impl Role {
            /// The interface of its requests as typed events.
            pub(crate) fn event_interfaces(self) -> &'static [&'static str] {
                match self {
                    $(Role::$role => {
                        &[events::$events::REPOSITORY_ID, events::Probed::REPOSITORY_ID]
                    })*
                }
            }
        }

        /// What typed channels know of MSHN's events.
        pub(crate) fn event_descriptions() -> Vec<InterfaceDescription> {
            vec![$(events::$events::describe(),)* events::Answers::describe()]
        }

        $(impl $servant for Served {
            $(fn $operation(&self, response: $module::$response, argument: &$argument) {
                let done = move |outcome: Result<Reply, SystemException>| {
                    let outcome = outcome.and_then(<$reply>::try_from);
                    // A client that is gone asks again.
                    let _ = corbie::TypedResponse::finish(response, outcome);
                };
                self.0.serve(Request::$variant(argument.clone()), Box::new(done));
            })*
            $(fn $notify(&self, said: &$said) -> Result<(), SystemException> {
                self.0.serve(Request::$notice(said.clone()), Box::new(|_| ()));
                Ok(())
            })?
        })*

        /// Activates `component` as an object of the interface of `role`.
        ///
        /// # Errors
        /// What the object adapter says.
        pub fn activate(
            poa: &Poa,
            role: Role,
            component: Arc<dyn Component>,
        ) -> Result<Object, PoaError> {
            match role {
                $(Role::$role => {
                    let reference: $role = poa.activate($skeleton::new(Served(component)))?;
                    Ok(reference.into_object())
                })*
            }
        }
    };
}

operations! {
    Advisor (AmhAdvisorServant, AmhAdvisorSkeleton, amh_advisor, AdvisorEvents) {
        Schedule = schedule, schedule_async, ScheduleResponse (Job) -> Placement;
        Submit = submit, submit_async, SubmitResponse (Job) -> Receipt;
        OutcomeOf = outcome_of, outcome_of_async, OutcomeOfResponse (JobId) -> Outcome;
        Violated = violated, violated_async, ViolatedResponse (Violation) -> Receipt;
        Finished = finished, finished_async, FinishedResponse (Outcome) -> Receipt;
    }
    StatusServer (
        AmhStatusServerServant, AmhStatusServerSkeleton, amh_status_server, StatusServerEvents
    ) {
        Status = status, status_async, StatusResponse (Scope) -> StatusReport;
        Watch = watch, watch_async, WatchResponse (WatchOrder) -> Receipt;
        Unwatch = unwatch, unwatch_async, UnwatchResponse (JobId) -> Receipt;
        @oneway Report = report (MachineStatus);
    }
    RequirementDatabase (
        AmhRequirementDatabaseServant, AmhRequirementDatabaseSkeleton, amh_requirement_database,
        RequirementDatabaseEvents
    ) {
        Record = record, record_async, RecordResponse (Usage) -> Receipt;
        MeansOf = means_of, means_of_async, MeansOfResponse (Application) -> Requirements;
        NewsSince = news_since, news_since_async, NewsSinceResponse (Known) -> News;
    }
    Daemon (AmhDaemonServant, AmhDaemonSkeleton, amh_daemon, DaemonEvents) {
        Start = start, start_async, StartResponse (StartOrder) -> Receipt;
        Stop = stop, stop_async, StopResponse (JobId) -> Receipt;
        State = state, state_async, StateResponse (JobId) -> Outcome;
    }
}

/// What a oneway gives: it was sent.
pub(crate) fn sent() -> Reply {
    accepted().into()
}

/// A receipt that says yes.
#[must_use]
pub fn accepted() -> Receipt {
    Receipt { accepted: true, why: String::new() }
}

/// A receipt that says no, and why.
#[must_use]
pub fn refused(why: impl Into<String>) -> Receipt {
    Receipt { accepted: false, why: why.into() }
}

/// The answer of a component to a request that is not for its role.
pub(crate) fn not_mine(request: &Request) -> SystemException {
    SystemException::bad_operation(minor::BAD_OPERATION_UNKNOWN, corbie::CompletionStatus::No)
        .with_detail(format!("`{}` is for a component of another kind", request.operation()))
}

/// The answer of a component whose store failed.
pub(crate) fn not_kept(store: &str, failure: &StoreFailure) -> SystemException {
    use corbie::CompletionStatus::{Maybe, No};
    let completed = if failure.is_uncertain() { Maybe } else { No };
    SystemException::persist_store(minor::PERSIST_STORE_FAILED, completed)
        .with_detail(format!("{store}: {failure}"))
}

/// An exception of a dynamic call: MSHN's operations raise system exceptions only.
pub(crate) fn system(exception: Exception) -> SystemException {
    match exception {
        Exception::System(exception) => exception,
        Exception::User(_) => {
            SystemException::unknown(minor::UNKNOWN_USER_EXCEPTION, corbie::CompletionStatus::Maybe)
                .with_detail(exception.to_string())
        }
    }
}

/// The POA of what MSHN serves in an ORB. A process that may call one of its objects cannot work
/// out how to call the others.
const POA: &str = "MSHN";

/// The POA of what MSHN serves in `orb`, which begins to serve with its root POA.
///
/// # Errors
/// What the object adapter says.
pub fn poa_of(orb: &Orb) -> Result<Poa, SystemException> {
    let root = orb.root_poa()?;
    let manager = root.the_poa_manager();
    match root.create_poa(POA, Some(&manager), &[PoaPolicy::SystemIds(SystemIds::Secret)]) {
        Err(PoaError::AdapterAlreadyExists(_)) => Ok(root.find_poa(POA, false)?),
        made => Ok(made?),
    }
}

/// Activates a component in [`poa_of`] `orb`, and opens it.
///
/// # Errors
/// What the object adapter says.
pub fn activate_in(
    orb: &Orb,
    role: Role,
    component: Arc<dyn Component>,
) -> Result<Object, SystemException> {
    let poa = poa_of(orb)?;
    let reference = activate(&poa, role, component)?;
    poa.the_poa_manager().activate()?;
    Ok(reference)
}
