//! The table of settings: every name, type, default, range and reason, once.
//!
//! [`Settings`], [`PartialSettings`], the parsers of all sources and the reference page are made
//! from it (see `table`). The order here is the order of the documentation.

mod table;

pub use table::{Places, Setting};

use std::time::Duration;

use corbie_cdr::{CodeSet, Limits, Version};

use crate::choice::{
    AddressFamily, Bidirectional, CollocationScope, CollocationStrategy, CsiUsers, EventLoop,
    PoaLock, ReplyWait, ServerConcurrency, SyncScope, TlsClients, TlsProtection,
    TransportMultiplexing, WaitStrategy, WhenFull,
};
use crate::endpoint::{InitialReference, PublishedAddress};
use crate::listen::ListenEndpoint;
use crate::preference::ProtocolPreference;
use crate::value::SettingValue;
use table::settings;

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

const fn microseconds(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// The longest time-out: a day. For more there is `none`.
const DAY: Duration = seconds(86_400);
const MILLISECOND: Duration = Duration::from_millis(1);
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

settings! {
    /// The name of this ORB among those of the process (CORBA 3.3 P1 §8.5.1).
    orb_id: String = String::new(), "-ORBid";

    /// The name of this server, for tools and log lines (CORBA 3.3 P1 §8.5.1).
    server_id: String = String::new(), "-ORBServerId";

    /// The file to read settings from; without it `corbie.toml` in the working folder, if there
    /// is one. A file named here has to exist.
    config_file: Option<String> = None, "-ORBConfigFile" [NotInFile];

    /// Accepted for compatibility (CORBA 3.3 P1 §8.5.1); Corbie has no proprietary activation.
    no_proprietary_activation: bool = false, "-ORBNoProprietaryActivation";

    /// The file that says which peers may call what (the book: "Access"). Without it
    /// every peer may call everything. `Orb::reload_access` reads it again.
    access_file: Option<String> = None, "-ORBAccessFile";

    /// What `resolve_initial_references` returns for a name: `NAME=URL`, any number of times. In
    /// the file a table: `[init_refs]`, then `NameService = "corbaloc::host:2809/NameService"`.
    /// Names of all sources are joined; for the same name the higher source wins.
    init_refs: Vec<InitialReference> = Vec::new(), "-ORBInitRef";

    /// Where every other initial reference is looked for: `/NAME` is appended to this URL
    /// (CORBA 3.3 P1 §8.5.3.3).
    default_init_ref: Option<String> = None, "-ORBDefaultInitRef";

    /// Where a server listens: `iiop://host:port`, several with commas. No host: every interface.
    /// Port 0: the system chooses. `giop:tcp:host:port` means the same. `ssliop://host:port` is
    /// TLS over TCP, with `tls_certificate`. `uiop:///path` is a unix-domain socket,
    /// `uiop://@name` an abstract one, `uiop://` one of any name; `shmiop://` likewise shared
    /// memory; other schemes are those of transports that the application registers. Messages are
    /// GIOP unless another protocol stands before the transport: `giopl+uiop://` is GIOPlite,
    /// `giopl://host:port` over TCP. References carry a profile for each pair.
    /// Nothing is opened before the first reference is made or the first POA is activated.
    /// With `none`, which needs `bidirectional = both`, the process listens nowhere and is called
    /// back over its own connections only.
    listen_endpoints: Vec<ListenEndpoint> = vec![ListenEndpoint::any()], "-ORBListenEndpoints";

    /// The file with this process's certificate and those that lead from it to an authority, in
    /// PEM, or in PKCS#12 together with the key. A server that listens on `ssliop://` needs one; a
    /// client shows it to servers that ask. This file and the three named next are read again when
    /// they change, for connections that are opened from then on.
    tls_certificate: Option<String> = None, "-ORBTlsCertificate";

    /// The file with the private key of `tls_certificate`, in PEM (PKCS#8, PKCS#1 or SEC1, not
    /// encrypted). Without it the key is looked for in the file of the certificate.
    tls_key: Option<String> = None, "-ORBTlsKey";

    /// The password of `tls_certificate`, where that is PKCS#12: `file:PATH` reads the first line
    /// of a file, `env:NAME` a variable. The password itself is not taken, as others could read it
    /// in the list of processes.
    tls_password: Option<String> = None, "-ORBTlsPassword";

    /// The file with the certificates of the authorities that peers are trusted by, in PEM. No
    /// authority is trusted unless it is named here.
    tls_trust: Option<String> = None, "-ORBTlsTrust";

    /// The file with lists of revoked certificates, in PEM. Where it is set, each certificate has
    /// to have a list of its authority in it that is not out of date.
    tls_revocation: Option<String> = None, "-ORBTlsRevocation";

    /// Whether the clients of a server have to show a certificate. Required, as a server without
    /// TLS knows nothing of them, and one with it should.
    tls_clients: TlsClients = TlsClients::Required, "-ORBTlsClients";

    /// Whether messages that leave the machine go over TLS. Unix-domain sockets, shared memory and
    /// calls within the process are no concern of it.
    tls_protection: TlsProtection = TlsProtection::Preferred, "-ORBTlsProtection";

    /// Takes the certificate of a server that `tls_trust` vouches for whatever host it names.
    /// Without it the certificate has to name the host of the reference, or its address where the
    /// reference has one. With it, any server that has a certificate can pass for any other.
    tls_any_host: bool = false, "-ORBTlsAnyHost";

    /// `BidirectionalPolicy` of the ORB. `both`: a client offers its connections to servers for
    /// requests to objects of its POAs with this policy, and a server takes such offers, so that it
    /// reaches objects behind a firewall or a router. Works with GIOP 1.2, over TCP and TLS.
    bidirectional: Bidirectional = Bidirectional::Normal, "-ORBBidirectional";
    /// Whether a server has its clients say as which user they call, by name and password (CSIv2).
    /// The users stand in the access file, or the application brings them along
    /// (`Orb::set_users`); without either nothing is asked, unless it says `required`.
    csi_users: CsiUsers = CsiUsers::Requested, "-ORBCsiUsers";

    /// The name of the security domain that users are of, as references have it. A server that does
    /// not set it has `corbie`. A client sends a password only to servers of its own realm, and to
    /// none while this is not set.
    csi_realm: String = String::new(), "-ORBCsiRealm";

    /// Whether a server keeps security contexts, so that a client sends its password once a
    /// connection and a number with each request.
    csi_stateful: bool = true, "-ORBCsiStateful";

    /// Security contexts that a server keeps of one connection. Of more, the one that was used
    /// least recently is forgotten, and its client sends its password again.
    csi_contexts_max: u32 = 64, "-ORBCsiContextsMax", within (1, 10_000);

    /// Passwords of one peer that a server checks in a second, and after a quiet second as many at
    /// once; requests with more get `TRANSIENT`. One check takes 20 ms of a processor and more. A
    /// password that was checked a minute ago at most is known, and not checked again.
    csi_checks_per_peer: Option<u32> = Some(10), "-ORBCsiChecksPerPeer",
        within (Some(1), Some(1_000_000));

    /// The user that a client calls as, where servers take users, with the password in
    /// `csi_password_file`.
    csi_user: Option<String> = None, "-ORBCsiUser";

    /// The file whose first line is the password of `csi_user`. The password itself is not taken,
    /// as others could read it in the list of processes.
    csi_password_file: Option<String> = None, "-ORBCsiPasswordFile";

    /// Whether passwords may travel over TCP without TLS: then each machine on the way can read
    /// them. A client does not send, and a server does not take any such password without it.
    csi_plain_passwords: bool = false, "-ORBCsiPlainPasswords";

    /// Whether calls that are made while a request is served are made for the user of that request
    /// (identity assertion), where the server that is called takes that. It has to trust this one.
    csi_assert: bool = false, "-ORBCsiAssert";

    /// The address written into references instead of the one listened on, for servers behind
    /// address translation or a container: `host` or `host:port`, several with commas (the first
    /// goes into the profile, the others become alternate addresses). Without it: the host
    /// listened on if one was named, else the first address of this machine that is not a
    /// loopback. Never `0.0.0.0` or `::`.
    published_addresses: Vec<PublishedAddress> = Vec::new(), "-ORBPublishedAddress";

    /// Which protocol comes first where a reference has several: in references made here, and when
    /// those of others are called. The next one is tried when a connection cannot be opened.
    /// Protocols of one machine are passed over when the server is on another. GIOPlite comes just
    /// before GIOP over the same transport, unless it is named: `giopl+uiop`.
    protocol_preference: ProtocolPreference = ProtocolPreference::default(),
        "-ORBProtocolPreference";

    /// Which family comes first in references when this machine has addresses of both.
    address_family: AddressFamily = AddressFamily::Ipv4, "-ORBAddressFamily";

    /// Publishes every address of this machine as alternate address, not only the first. Off:
    /// peers try addresses in turn, and each that cannot be reached costs them a time-out.
    publish_all_addresses: bool = false, "-ORBPublishAllAddresses";

    /// The highest GIOP version spoken and published. A connection uses the lower of this and the
    /// version of the profile.
    giop_version: Version = Version::V1_2, "-ORBGIOPVersion";

    /// Whether a client speaks GIOPlite to servers whose references say that they listen for it
    /// (`giopl://`, `giopl+uiop://`): messages that leave out what both ends know. Only servers of
    /// this ORB do, and only those of this machine's byte order; to all others GIOP is spoken.
    gioplite: bool = false, "-ORBgioplite";

    /// Octets of a message body after which it is sent in fragments (GIOP 1.1 and 1.2). `none`:
    /// messages are sent whole, which every peer understands and costs least.
    fragment_octets: Option<usize> = None, "-ORBFragmentOctets", within (Some(KIB), Some(GIB));

    /// The code set of `char` and `string` that is announced as native (CORBA 3.3 P2 §7.10). The
    /// other one is announced as a conversion.
    native_char_code_set: CodeSet = CodeSet::UTF_8, "-ORBNativeCharCodeSet";

    /// The code set of `wchar` and `wstring` that is announced as native.
    native_wchar_code_set: CodeSet = CodeSet::UTF_16, "-ORBNativeWCharCodeSet";

    /// How a client's thread waits for its reply. `block`, `spin`, or `adaptive`: spin while that
    /// has paid, within the budget. Adaptive because sleeping and being woken on another core costs
    /// ten times a call, and because a thread that never gets its answer early soon only sleeps.
    wait_strategy: WaitStrategy = WaitStrategy::Adaptive, "-ORBWaitStrategy";

    /// How long a client's thread watches the socket before it sleeps. The default is what one
    /// sleep and wake-up costs: spinning is then at most twice as dear as the better choice.
    spin_budget: Duration = microseconds(50), "-ORBSpinBudget",
        within (Duration::ZERO, microseconds(100_000));

    /// How a server's thread waits for the next request on its connection.
    server_wait_strategy: WaitStrategy = WaitStrategy::Adaptive, "-ORBServerWaitStrategy";

    /// How long a server's thread watches the socket before it sleeps.
    server_spin_budget: Duration = microseconds(50), "-ORBServerSpinBudget",
        within (Duration::ZERO, microseconds(100_000));

    /// Which thread serves a request. `thread-per-connection` has the least latency; choose
    /// `thread-pool` for many connections, `reactive` or `reactor-per-thread` for servants that
    /// never wait (AMH), `thread-per-request` for few requests that take long.
    server_concurrency: ServerConcurrency = ServerConcurrency::ThreadPerConnection,
        "-ORBServerConcurrency";

    /// What guards the objects of a POA that was created with `DEFAULT_LOCK` or no word about it:
    /// `null` for an ORB core and POA per thread (paper POA §2.4).
    poa_lock: PoaLock = PoaLock::Thread, "-ORBPoaLock";

    /// What delivers replies to asynchronous calls: a thread of the ORB, or only threads that the
    /// application lends it by `Orb::run` and `Orb::perform_work`.
    event_loop: EventLoop = EventLoop::Background, "-ORBEventLoop";

    /// Threads that a pool keeps when there is nothing to do.
    pool_threads_min: u32 = 2, "-ORBPoolThreadsMin", within (1, 10_000);

    /// Threads that a pool grows to while all are inside servants. A servant that calls back
    /// through the same server needs a second thread, so 1 can deadlock. With
    /// `thread-per-connection` it bounds the threads of one connection, and those that read for
    /// others during long upcalls on all connections; 1: a connection has one thread.
    pool_threads_max: u32 = 64, "-ORBPoolThreadsMax", within (1, 10_000);

    /// How many upcalls of one thread may be nested, each served while the one before waits for a
    /// reply (`reactive`, `reactor-per-thread`, `event_loop = application`). Beyond it requests are
    /// not read until an upcall has ended. Stops clients that would fill the stack by calling.
    nested_upcalls_max: u32 = 32, "-ORBNestedUpcallsMax", within (1, 1_000);

    /// Threads of `reactor-per-thread`, each with connections of its own; 0: one for each
    /// processor. More than that only pays when servants wait.
    reactor_threads: u32 = 0, "-ORBReactorThreads", within (0, 1_000);

    /// Requests of one connection whose answer a servant has deferred and still owes (AMH, `async`
    /// servants). When there are so many, no more requests of the connection are read until some
    /// were answered; none is refused. Each holds 200 octets and what the servant keeps for it.
    pending_responses_max: u32 = 16_384, "-ORBPendingResponsesMax", within (1, 1 << 24);

    /// As `pending_responses_max`, of all connections together.
    pending_responses_total_max: u32 = 262_144, "-ORBPendingResponsesTotalMax",
        within (1, 1 << 24);

    /// Requests that wait because their POA manager holds requests, in all: more are refused with
    /// `TRANSIENT`.
    held_requests_max: u32 = 1_000, "-ORBHeldRequestsMax", within (0, 1 << 24);

    /// The octets of their messages, in all. Also, separately, of the messages of requests that
    /// wait for their turn, where a POA serves one at a time (`SINGLE_THREAD_MODEL`,
    /// `MAIN_THREAD_MODEL`): none of these is refused, but connections that have one are not read
    /// while there are so many.
    held_octets_max: usize = 64 * MIB, "-ORBHeldOctetsMax", within (0, 64 * GIB);

    /// Connections that a server accepts; with `thread-per-connection` also its threads, and more
    /// only for connections whose servants wait for calls of their own. Stops a peer that opens
    /// connections until memory or descriptors end.
    server_connections_max: u32 = 1_000, "-ORBServerConnectionsMax", within (1, 1_000_000);

    /// Connections that a server accepts of one peer: of an address, whatever its port (of IPv6 the
    /// first 64 bits), or of a user of this machine. Besides, a sixteenth of all places is for
    /// peers that have no connection yet. Stops one peer that takes all places.
    connections_per_peer_max: u32 = 900, "-ORBConnectionsPerPeerMax", within (1, 1_000_000);

    /// Connections that one peer may open in a second, and after a quiet second as many at once;
    /// more are refused. Opening and closing them costs a server more than keeping them. A client
    /// keeps its connections, so a thousand are more than one has use for.
    connection_rate_per_peer: Option<u32> = Some(1_000), "-ORBConnectionRatePerPeer",
        within (Some(1), Some(1_000_000));

    /// Messages that one peer may send in a second, over all of its connections, and after a quiet
    /// second as many at once. More are not refused: they are not read until their time has come,
    /// so the client waits. `none`, as an honest client may well send some 100,000.
    request_rate_per_peer: Option<u32> = None, "-ORBRequestRatePerPeer",
        within (Some(1), Some(100_000_000));

    /// Lines that one peer may cause in the log of a server of the command `corbie` in a minute,
    /// over all places of the code; others are counted, and the count is told. Holds for the levels
    /// ERROR, WARN and INFO. The ORB itself writes no log: what an application's subscriber
    /// leaves out is the application's choice.
    log_lines_per_peer: Option<u32> = Some(60), "-ORBLogLinesPerPeer",
        within (Some(1), Some(1_000_000));

    /// Whether each request that is served is a span of `tracing`, named `request`, with `peer`,
    /// `operation` and `request_id`: what the servant logs says of which request it is. The span is
    /// of the level INFO and the target `corbie::request`. Without it a request costs nothing more.
    request_spans: bool = false, "-ORBRequestSpans";

    /// What happens to the next connection when there are that many.
    when_full: WhenFull = WhenFull::CloseIdle, "-ORBWhenFull";

    /// Connections that a client opens to one endpoint. A call takes one for itself; when all are
    /// in use, further threads wait for one; calls made from inside a servant never wait. The
    /// default bounds what one client costs a server, and is more than most clients have threads.
    connections_per_endpoint: u32 = 64, "-ORBConnectionsPerEndpoint", within (1, 100_000);

    /// Over which connections synchronous calls go: one for each call under way, or one for all
    /// calls to an endpoint. Exclusive ones have the least latency; a shared one needs fewer
    /// descriptors, here and at the server. Asynchronous calls always share.
    transport_multiplexing: TransportMultiplexing = TransportMultiplexing::Exclusive,
        "-ORBTransportMultiplexing";

    /// How a synchronous call waits for its reply: by reading its connection, or in an event loop,
    /// where the thread may do other work meanwhile, as serving nested calls of a client with one
    /// thread.
    reply_wait: ReplyWait = ReplyWait::Read, "-ORBReplyWait";

    /// Calls that may wait for their replies on one connection. Beyond it, a thread that calls
    /// synchronously waits until half of them are answered. An asynchronous call never waits: four
    /// times as many are taken, then TRANSIENT; as many may wait for a connection. Bounds the
    /// memory: some 300 octets and the arguments each.
    pending_requests_max: u32 = 16_384, "-ORBPendingRequestsMax", within (1, 32_768);

    /// Buffers for messages that a thread keeps for its next ones; 0: none are kept anywhere. This
    /// and the two limits after it hold for the process: of several ORBs, those of the one made
    /// last.
    thread_buffers_max: u32 = 64, "-ORBThreadBuffersMax", within (0, 65_536);

    /// Octets in the buffers that a thread keeps. Enough for what small calls need; a thousand
    /// threads hold a gigabyte at most.
    thread_buffer_octets_max: usize = MIB, "-ORBThreadBufferOctetsMax", within (0, GIB);

    /// Octets in the buffers that the process keeps for all threads: those that a thread had too
    /// many of, and all of 1 MiB or more, so that large messages need no new memory each.
    shared_buffer_octets_max: usize = 64 * MIB, "-ORBSharedBufferOctetsMax",
        within (0, 64 * GIB);

    /// How often buffers are freed that nothing needed since the last time. `none`: never.
    buffer_trim_interval: Option<Duration> = Some(seconds(10)), "-ORBBufferTrimInterval",
        within (Some(seconds(1)), Some(DAY));

    /// Octets that may wait to be sent over one connection: requests of calls that share it, or
    /// replies. Beyond it, a thread that calls waits for room; threads that must not wait may fill
    /// it four times.
    queued_octets_max: usize = 4 * MIB, "-ORBQueuedOctetsMax", within (KIB, GIB);

    /// When requests or replies that follow one another closely are sent in batches: octets after
    /// which a batch goes out at once.
    batch_octets: usize = 32 * KIB, "-ORBBatchOctets", within (1, MIB);

    /// Octets of each of the two rings that a connection over shared memory has; rounded up to a
    /// power of two. A server's setting. Twice this is taken for each connection when it is opened;
    /// larger messages go through in pieces.
    shm_ring_octets: usize = 64 * KIB, "-ORBShmRingOctets", within (4 * KIB, 16 * MIB);

    /// What a oneway waits for where no `SyncScopePolicy` says otherwise. `with-transport`: a
    /// oneway that cannot be sent raises an exception, and one that can costs no round trip.
    sync_scope: SyncScope = SyncScope::WithTransport, "-ORBSyncScope";

    /// Which objects of the process are called without a connection: none, those of the ORB that
    /// calls, or those of every ORB. Without one a call costs nanoseconds, not microseconds, and
    /// runs on the thread that makes it.
    collocation: CollocationScope = CollocationScope::Global, "-ORBCollocation";

    /// How such calls reach this ORB's objects, where a POA has no policy of its own: straight to
    /// the servant, or by the POA's lookup each time. Both keep what the POA promises.
    collocation_strategy: CollocationStrategy = CollocationStrategy::Direct,
        "-ORBCollocationStrategy";

    /// The priority group of this ORB. An endpoint with the option `priority_group=N` is called
    /// without a connection only by ORBs of the group N: keeps clients of low priority off servants
    /// that are served at a higher one (paper POA §3.1).
    priority_group: Option<u32> = None, "-ORBPriorityGroup";

    /// Connections that a client keeps in all; beyond it the one unused longest is closed.
    client_connections_max: u32 = 1_000, "-ORBClientConnectionsMax", within (1, 1_000_000);

    /// After how long an unused connection of a client is closed. Shorter than the server's, so
    /// that the side which knows that no call is coming closes first and no call meets a closing
    /// connection.
    client_idle_timeout: Option<Duration> = Some(seconds(120)), "-ORBClientIdleTimeout",
        within (Some(MILLISECOND), Some(DAY));

    /// How long opening a connection may take, for each address. A machine that is switched off
    /// answers nothing; the kernel alone would try for two minutes.
    connect_timeout: Option<Duration> = Some(seconds(10)), "-ORBConnectTimeout",
        within (Some(MILLISECOND), Some(DAY));

    /// How long a call may take, from sending to the reply: then TIMEOUT. Finite, so that a
    /// server that hangs never hangs its clients for ever; a minute is longer than any
    /// user waits. Opening a connection and waiting for one are part of the call; only
    /// asking the system for the addresses of a host name is not.
    request_timeout: Option<Duration> = Some(seconds(60)), "-ORBRequestTimeout",
        within (Some(MILLISECOND), Some(DAY));

    /// How long a server that is told to end (SIGTERM, SIGINT; `Orb::run_until_signal`) waits for
    /// requests that are in servants, and for clients to take their answers.
    shutdown_grace: Duration = seconds(10), "-ORBShutdownGrace", within (Duration::ZERO, DAY);

    /// How long a connection accepted may stay without a first octet.
    first_octet_timeout: Option<Duration> = Some(seconds(30)), "-ORBFirstOctetTimeout",
        within (Some(MILLISECOND), Some(DAY));

    /// How long one message may take from its first octet to its last, in receiving and in
    /// sending. Stops peers that send one octet a second, and peers that never read.
    message_timeout: Option<Duration> = Some(seconds(60)), "-ORBMessageTimeout",
        within (Some(MILLISECOND), Some(DAY));

    /// After how long without a message a server closes a connection (`CloseConnection`: clients
    /// reconnect at the next call).
    server_idle_timeout: Option<Duration> = Some(seconds(180)), "-ORBServerIdleTimeout",
        within (Some(MILLISECOND), Some(DAY));

    /// The largest message taken, after reassembly. Stops a header that claims 4 GiB.
    message_octets_max: usize = 64 * MIB, "-ORBMessageOctetsMax", within (KIB, 4 * GIB - 1);

    /// How deeply values, encapsulations and type codes may nest. Stops a value that exhausts the
    /// stack.
    nesting_depth_max: u32 = 64, "-ORBNestingDepthMax", within (8, 1_000);

    /// The most elements of one sequence. A length is also checked against the octets that remain,
    /// but elements may be larger in memory than on the wire.
    sequence_elements_max: u32 = 64 << 20, "-ORBSequenceElementsMax", within (1, u32::MAX);

    /// The most nodes of one TypeCode, repeated ones counted each time. Stops a TypeCode whose
    /// indirections describe more than a program can walk through.
    type_code_nodes_max: u32 = 65_536, "-ORBTypeCodeNodesMax", within (64, u32::MAX);

    /// The most values of one message in `any`s and in the arguments of dynamic calls (octet
    /// sequences count as one), and of valuetypes, of which each counts as eight. Stops a message
    /// whose values take thirty times its size in memory.
    dynamic_values_max: u32 = 4 << 20, "-ORBDynamicValuesMax", within (64, u32::MAX);

    /// Whether values of valuetypes may lead back to themselves. A cycle stays in memory until the
    /// program breaks it, and for ever when the program never saw it: set it where the peers are
    /// trusted, and the servants break the cycles that they receive.
    value_cycles: bool = false, "-ORBValueCycles";

    /// Octets that peers may make the process hold, beyond 64 KiB for each message and connection:
    /// messages that arrive or are served, replies that are not taken, requests that are not
    /// answered, what services keep (half of it at most). Beyond it the largest connection of the
    /// peer that holds most is closed, so that others go on. `none`: half of the
    /// memory of the machine, or of the control group that the process is in. Holds for the
    /// process: of several ORBs, that of the one made last.
    memory_max: Option<usize> = None, "-ORBMemoryMax", within (Some(MIB), Some(64 << 40));

    /// The most addresses of one reference that is called, alternate ones counted; a profile with
    /// more, or with four times as many components, is passed over. Stops a small reference that
    /// costs a connection pool for each of a thousand addresses.
    reference_addresses_max: u32 = 64, "-ORBReferenceAddressesMax", within (1, 65_536);

    /// The most octets of the object key in a reference that is called. Each request carries the
    /// key.
    object_key_octets_max: usize = 64 * KIB, "-ORBObjectKeyOctetsMax", within (64, 16 * MIB);

    /// The most fragments of one message. Stops a message of a million empty fragments.
    fragments_max: u32 = 65_536, "-ORBFragmentsMax", within (1, u32::MAX);

    /// The most messages of one connection that may be under reassembly at once (GIOP 1.2).
    reassembly_messages_max: u32 = 16, "-ORBReassemblyMessagesMax", within (1, 65_536);

    /// The most octets of one connection in messages that still miss fragments.
    reassembly_octets_max: usize = 128 * MIB, "-ORBReassemblyOctetsMax", within (KIB, 64 * GIB);
}

impl Settings {
    /// Where every message goes over TLS, a server that was not told where to listen listens for
    /// TLS. A reactive server has only the application's threads: they run the event loop, also
    /// while they wait for a reply, or nested calls would wait for one another.
    #[must_use]
    pub fn with_what_they_imply(mut self) -> Self {
        if self.tls_protection == TlsProtection::Required
            && self.listen_endpoints == [ListenEndpoint::any()]
        {
            self.listen_endpoints = vec![ListenEndpoint::any_tls()];
        }
        if self.server_concurrency == ServerConcurrency::Reactive {
            self.event_loop = EventLoop::Application;
            if self.reply_wait == ReplyWait::Read {
                self.reply_wait = ReplyWait::Reactor;
            }
        }
        self
    }

    /// What the decoder of values checks.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            message_octets: self.message_octets_max,
            nesting_depth: self.nesting_depth_max,
            sequence_elements: self.sequence_elements_max,
            type_code_nodes: self.type_code_nodes_max,
            dynamic_values: self.dynamic_values_max,
            value_cycles: self.value_cycles,
            ..Limits::DEFAULT
        }
    }
}
