//! Synchronous requests to servers that take users: with evidence, and with an eye on what the
//! reply says of the security context.

use super::{Exchange, Invocation};
use crate::client::Reply;
use crate::client::attempts::Answer;
use crate::client::csi::{self, Evidence};
use crate::client::fault::CallFault;
use crate::portable_interceptor::Watch;
use crate::profile::security::UsersWanted;
use corbie_types::Ior;

impl Exchange<'_> {
    /// As [`Exchange::request`], to a server that takes users. `watch`: for interceptors, as
    /// [`Exchange::request_watched`].
    #[cold]
    pub(super) fn request_of_user(
        mut self,
        invocation: &Invocation<'_, '_>,
        ior: &Ior,
        watch: Option<&Watch>,
    ) -> Result<Answer<Reply>, CallFault> {
        let evidence = match &self.target.users {
            Some(wanted) => self.evidence(wanted, invocation)?,
            None => None,
        };
        let data = evidence.as_ref().map(|evidence| &*evidence.data);
        let reply = self.reply_to(invocation, ior, data)?;
        if let Some(watch) = watch {
            reply.show_contexts(watch);
        }
        Ok(reply.into_answer_of_user(invocation.operation, Evidence::names(evidence.as_ref())))
    }

    /// As which user the request is made, to a server that takes what `wanted` says.
    fn evidence(
        &mut self,
        wanted: &UsersWanted,
        invocation: &Invocation<'_, '_>,
    ) -> Result<Option<Evidence>, CallFault> {
        let (orb, established) = (self.object.orb(), self.connection.get()?.established);
        let behalf = csi::behalf(orb);
        Ok(csi::evidence(self.object, wanted, &behalf, established, invocation.response)?)
    }
}
