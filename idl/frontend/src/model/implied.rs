//! Definitions that the compiler adds: which there are, and how to find them.
//!
//! [`Model::implied`] leads from an interface, operation or attribute to what it implies, and
//! [`Implied::origin`] leads back. CORBA Messaging §22.7-22.10 (AMI), paper AMH §2.

use super::{DefId, Definition, Model};

/// Why a definition is in the model although no text defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Implied {
    /// Its role.
    pub kind: ImpliedKind,
    /// The interface, operation or attribute that implies it.
    pub origin: DefId,
}

/// Which of the requests of an operation or attribute is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// To call an operation.
    Call,
    /// To read an attribute.
    Get,
    /// To write an attribute.
    Set,
}

/// The role of an implied definition. Those with an [`Access`] are operations, and their origin is
/// an operation or attribute; the others have an interface as origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ImpliedKind {
    /// `interface AMI_XHandler : Messaging::ReplyHandler`
    AmiHandler,
    /// In the handler: receives the results, each as an `in` parameter.
    AmiReply(Access),
    /// In the handler: `op_excep(in Messaging::ExceptionHolder excep_holder)`.
    AmiExcep(Access),
    /// In [`super::Interface::sends`]: `sendc_op(in AMI_XHandler ami_handler, …)`.
    AmiSendc(Access),
    /// `abstract valuetype AMI_XPoller : Messaging::Poller`
    AmiPoller,
    /// In the poller: `op(in unsigned long ami_timeout, out …)`.
    AmiPoll(Access),
    /// In [`super::Interface::sends`]: `AMI_XPoller sendp_op(…)`.
    AmiSendp(Access),
    /// `local interface AMH_X`: what an asynchronous servant implements.
    AmhServant,
    /// In `AMH_X`: `op(in AMH_XResponseHandler handler, …)`; a oneway operation, and one that was
    /// not chosen ([`crate::ImpliedIdl::amh_operations`]), is there as in the interface.
    AmhOperation(Access),
    /// `local interface AMH_XResponseHandler`
    AmhResponseHandler,
    /// In the response handler: sends the results, each an `in` parameter.
    AmhReply(Access),
    /// In the response handler: `op_excep(in AMH_XExceptionHolder holder)`.
    AmhExcep(Access),
    /// `valuetype AMH_XExceptionHolder`
    AmhExceptionHolder,
    /// In the exception holder: `raise_op() raises (…)`.
    AmhRaise(Access),
}

impl Definition {
    /// Whether the compiler added this definition.
    #[must_use]
    pub fn is_implied(&self) -> bool {
        self.implied.is_some()
    }

    /// Whether this is of what CORBA Messaging itself defines: module `Messaging`, and the
    /// pollable types of module `CORBA`. The ORB has these ready made.
    #[must_use]
    pub fn is_messaging(&self) -> bool {
        let mut parts = self.scoped_name.split("::");
        match (parts.next(), parts.next()) {
            (Some("Messaging"), _) => self.repository_id.starts_with("IDL:omg.org/Messaging"),
            (Some("CORBA"), Some("Pollable" | "DIIPollable" | "PollableSet")) => true,
            _ => false,
        }
    }
}

impl Model {
    /// The definition that `origin` implies in this role, if there is one.
    #[must_use]
    pub fn implied(&self, origin: DefId, kind: ImpliedKind) -> Option<DefId> {
        self.implied.get(&(origin, kind)).copied()
    }

    /// Whether an operation or attribute may be answered later: it has an asynchronous form in
    /// `AMH_X`, and is neither oneway nor left as it is.
    #[must_use]
    pub fn is_amh(&self, operation: DefId) -> bool {
        [Access::Call, Access::Get]
            .iter()
            .any(|&access| self.implied(operation, ImpliedKind::AmhReply(access)).is_some())
    }
}
