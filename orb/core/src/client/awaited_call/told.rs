//! What a request tells its server of the connection that it goes over: the code sets, and where
//! this end listens. Each is told once, with the first request. And as which user it is made.

use super::{Kept, not_kept};
use crate::client::Target;
use crate::client::invocation::Invocation;
use crate::connection::Connection;
use crate::server::bidirectional::to_offer;
use corbie_cdr::CodeSets;
use corbie_giop::ListenPoints;
use corbie_types::SystemException;

/// See the module.
pub(super) struct Told<'o> {
    pub(super) announces: bool,
    pub(super) points: Option<&'o ListenPoints>,
    /// As which user it is made.
    pub(super) evidence: Option<&'o [u8]>,
}

impl Told<'_> {
    /// The request was sent.
    pub(super) fn note(&self, connection: &Connection) {
        if self.announces {
            connection.note_announced();
        }
        if self.points.is_some() {
            connection.note_offered();
        }
    }
}

impl Invocation<'_, '_> {
    /// What a request over `connection` is written with, and tells; `kept`: of its arguments.
    ///
    /// # Errors
    /// `TRANSIENT` (`COMPLETED_NO`) when they were kept in other code sets.
    pub(super) fn tells(
        &self,
        connection: &Connection,
        target: &Target,
        kept: &Kept,
    ) -> Result<(CodeSets, Told<'_>), SystemException> {
        let announces = announces(target, connection, kept.announces);
        let state = connection.state();
        if announces && state.endpoint.is_none() && !connection.has_announced() {
            // A client opened it and has not told the code sets.
            state.code_sets.set(target.pool.code_sets());
        }
        let code_sets = state.code_sets.get();
        if kept.code_sets.is_some_and(|kept| kept != code_sets) {
            return Err(not_kept(self.operation));
        }
        let points = to_offer(self.object.orb(), connection, target.version);
        Ok((code_sets, Told { announces, points, evidence: None }))
    }
}

/// Whether the next request over `connection` tells the server the code sets; `in_any_case`: as
/// kept arguments that did.
fn announces(target: &Target, connection: &Connection, in_any_case: bool) -> bool {
    let is_announced = || connection.has_announced();
    target.announces_code_sets && (in_any_case || !is_announced())
}
