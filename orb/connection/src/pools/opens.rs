//! What pools need of a user of connections that opens them: the client half of the ORB, which
//! `orb/core` implements.

use super::{Pool, Pools};
use crate::connection::{Connection, User};
use corbie_cdr::CodeSets;
use corbie_giop::Roles;
use corbie_transport::{Endpoint, Link, WaitStrategy};
use std::io;
use std::sync::Arc;

/// A user that opens connections.
pub trait Opens: User {
    /// The connections that were opened for `context`.
    fn pools(context: &Self::Context) -> &Pools<Self>;

    /// `context`, as long as it is there: for threads that do not keep it.
    fn downgrade(context: &Self::Context) -> Box<dyn Fn() -> Option<Self::Context> + Send>;

    /// How a thread waits for what comes over a connection that it opened.
    fn wait(context: &Self::Context) -> WaitStrategy;

    /// A connection was opened: from now on the context purges those that are idle too long.
    fn note_opened(context: &Self::Context);

    /// What is kept with a connection that was opened over `link`, for these `roles`: where to, and
    /// with which code sets.
    fn opened(
        context: &Self::Context,
        to: (&Endpoint, CodeSets),
        link: &Link,
        roles: Roles,
    ) -> Self::State;

    /// The connection, which was opened here, is offered to its server: it is read from now on,
    /// whatever comes.
    ///
    /// # Errors
    /// What the system says when there is no thread or event loop for it.
    fn serve(context: &Self::Context, connection: &Arc<Connection<Self>>) -> io::Result<()>;

    /// A call that stood in a line of `pool` goes over the `connection` that was opened for it.
    fn send_over(call: Self::Call, pool: &Pool<Self>, connection: &Arc<Connection<Self>>);
}
