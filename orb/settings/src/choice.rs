//! Settings with a few named values: strategies and preferences.
//!
//! Each is a plain enum (architecture, invariant 6), made from one list of names.

use crate::value::SettingValue;

/// Declares an enum whose values have a name in settings.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident, $kind:literal {
        $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $( $(#[$variant_meta])* $variant, )+ }

        impl $name {
            /// The name in settings.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $text, )+ }
            }
        }

        impl SettingValue for $name {
            const KIND: &'static str = $kind;

            fn parse(text: &str) -> Result<Self, String> {
                match text.trim().to_ascii_lowercase().replace('_', "-").as_str() {
                    $( $text => Ok(Self::$variant), )+
                    _ => Err("there is no such choice".to_owned()),
                }
            }

            fn show(&self) -> String {
                self.name().to_owned()
            }
        }
    };
}

choice! {
    /// How a thread waits for the octets that it needs next.
    ///
    /// Waking a thread that sleeps on another core costs 50 µs and more on common machines,
    /// far more than a call itself; watching the socket for a bounded time avoids it.
    WaitStrategy, "`block`, `spin` or `adaptive`" {
        /// Sleep in the kernel until octets arrive: no processor time is used by waiting.
        Block = "block",
        /// Watch the socket for the spin budget on every wait, then sleep.
        Spin = "spin",
        /// Watch the socket only while recent waits show that it pays, then sleep.
        Adaptive = "adaptive",
    }
}

choice! {
    /// What guards the active object maps of POAs that do not say it themselves.
    PoaLock, "`thread` or `null`" {
        /// A lock: any thread may use the POA.
        Thread = "thread",
        /// Nothing: the POA belongs to the thread that uses it first. For an ORB whose requests
        /// are all served by one thread.
        Null = "null",
    }
}

choice! {
    /// Which thread serves a request.
    ServerConcurrency, "`thread-per-connection`, `thread-pool`, `thread-per-request`, \
        `reactive` or `reactor-per-thread`" {
        /// One thread reads, dispatches and answers everything of one connection: the least
        /// latency. Others take over reading during long upcalls, `pool_threads_max` at most.
        ThreadPerConnection = "thread-per-connection",
        /// A pool takes turns (leader/followers): many connections, few threads.
        ThreadPool = "thread-pool",
        /// Each request gets a thread of its own, at most `pool_threads_max` at once.
        ThreadPerRequest = "thread-per-request",
        /// The threads in `Orb::run` and `Orb::perform_work` serve everything: the ORB starts no
        /// threads of its own. With one such thread, servants never run concurrently.
        Reactive = "reactive",
        /// `reactor_threads` threads, each with an event loop and connections of its own: servants
        /// of one connection run one after the other.
        ReactorPerThread = "reactor-per-thread",
    }
}

choice! {
    /// Which threads run the ORB's event loop, and so deliver replies to asynchronous calls.
    EventLoop, "`background` or `application`" {
        /// A thread of the ORB, started at the first need.
        Background = "background",
        /// Threads of the application: in `Orb::run` and `Orb::perform_work`, and those that wait
        /// for a reply with the event loop. No reply handler runs anywhere else.
        Application = "application",
    }
}

choice! {
    /// Over which connections synchronous calls go (paper AMI §3.1, transport multiplexing).
    TransportMultiplexing, "`exclusive` or `muxed`" {
        /// One connection for each call under way.
        Exclusive = "exclusive",
        /// One connection to an endpoint, for all threads.
        Muxed = "muxed",
    }
}

choice! {
    /// How a synchronous call waits for its reply (paper AMI §3.1, wait strategies).
    ReplyWait, "`read`, `reactor` or `leader-followers`" {
        /// The thread reads the connection: the least latency. Handlers of replies to other calls
        /// on a shared connection may run in it.
        Read = "read",
        /// The thread runs an event loop of its own until its reply is there. With `event_loop =
        /// application` it runs that of the ORB in it, too: nested calls are served by a program
        /// with a single thread.
        Reactor = "reactor",
        /// The threads share the event loop of the ORB: one leads, runs the loop and delivers the
        /// replies of all; the others sleep until their replies are there or they are to lead.
        LeaderFollowers = "leader-followers",
    }
}

choice! {
    /// What a server does with a new connection when it has as many as it may have.
    WhenFull, "`close-idle`, `refuse` or `wait`" {
        /// Close the connection that was silent longest and has no request under way
        /// (`CloseConnection`, which clients take as "reconnect and repeat"); refuse the new one
        /// when there is none.
        CloseIdle = "close-idle",
        /// Close the new connection at once.
        Refuse = "refuse",
        /// Leave it in the kernel's queue until a place becomes free.
        Wait = "wait",
    }
}

choice! {
    /// Which kind of address is preferred where a name or a machine has several.
    AddressFamily, "`ipv4` or `ipv6`" {
        /// IPv4 first: reached by every peer.
        Ipv4 = "ipv4",
        /// IPv6 first.
        Ipv6 = "ipv6",
    }
}

choice! {
    /// What a oneway waits for before it returns (CORBA Messaging §22.2.2).
    SyncScope, "`none`, `with-transport`, `with-server` or `with-target`" {
        /// Nothing: the request may be sent later, together with others.
        None = "none",
        /// That the transport has taken the request.
        WithTransport = "with-transport",
        /// That the server has the request and knows the object: forwards have been followed. To
        /// a server of GIOP 1.0 or 1.1, which has no word for it, the same as `with-target`.
        WithServer = "with-server",
        /// That the operation is done: its system exceptions are raised here.
        WithTarget = "with-target",
    }
}

choice! {
    /// Which objects of the process an ORB calls without a connection (paper POA §3.1).
    CollocationScope, "`none`, `per-orb` or `global`" {
        /// None: every call is a message. Others of the process call this ORB likewise.
        None = "none",
        /// Those that the ORB serves itself.
        PerOrb = "per-orb",
        /// Those that any ORB of the process serves, unless that one says otherwise.
        Global = "global",
    }
}

choice! {
    /// How calls from within the process reach the objects of an ORB (paper POA §3.1).
    CollocationStrategy, "`direct` or `through-poa`" {
        /// Straight to the servant while nothing is in the way; else through the POA.
        Direct = "direct",
        /// By the POA's lookup, for each call.
        ThroughPoa = "through-poa",
    }
}

choice! {
    /// Whether clients of a server have to prove what they are, over TLS.
    TlsClients, "`required`, `requested` or `none`" {
        /// A client without a certificate that `tls_trust` vouches for is refused.
        Required = "required",
        /// A client may show a certificate, which has to be good then.
        Requested = "requested",
        /// Clients are not asked.
        None = "none",
    }
}

#[allow(clippy::derivable_impls, reason = "the macro makes the enum")]
impl Default for Bidirectional {
    fn default() -> Self {
        Bidirectional::Normal
    }
}

choice! {
    /// `BidirectionalPolicy`: whether servers send requests over connections that clients opened to
    /// them. A setting of the ORB, and a policy of POAs (CORBA 3.3 P2 §9.8.2).
    Bidirectional, "`normal` or `both`" {
        /// Requests go one way over each connection: from the end that opened it.
        Normal = "normal",
        /// Requests may go both ways.
        Both = "both",
    }
}

#[allow(clippy::derivable_impls, reason = "the macro makes the enum")]
impl Default for TlsProtection {
    fn default() -> Self {
        TlsProtection::Preferred
    }
}

choice! {
    /// Whether messages go over TLS where they leave the machine: a setting, and a policy of POAs
    /// and of references.
    TlsProtection, "`required`, `preferred` or `forbidden`" {
        /// Always: a server listens on nothing that is plain, and a client calls no reference
        /// without TLS.
        Required = "required",
        /// Where it is offered: of a reference with TLS, the plain addresses are never used. A
        /// client that has no `tls_trust` cannot use TLS, and calls the plain ones.
        Preferred = "preferred",
        /// Never.
        Forbidden = "forbidden",
    }
}

choice! {
    /// Whether clients of a server say as which user they call, with a password (CSIv2).
    CsiUsers, "`required`, `requested` or `none`" {
        /// A request without a user is refused.
        Required = "required",
        /// A request may name a user, which has to be good then. In force once the server knows
        /// users: from its access file, or from code.
        Requested = "requested",
        /// Users are not asked for, and what clients say of them is passed over.
        None = "none",
    }
}
