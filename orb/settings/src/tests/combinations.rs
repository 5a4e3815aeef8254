//! Combinations that cannot work: the sentence names both settings.
//! Each value of a refused pair is also shown to work alone.

use super::*;

#[test]
fn each_refused_pair_is_named() {
    for (args, first, second) in [
        ("-ORBFragmentOctets 64KiB -ORBGIOPVersion 1.0", "fragment_octets", "giop_version"),
        (
            "-ORBFragmentOctets 2MiB -ORBMessageOctetsMax 1MiB",
            "fragment_octets",
            "message_octets_max",
        ),
        ("-ORBReassemblyOctetsMax 1MiB", "reassembly_octets_max", "message_octets_max"),
        ("-ORBPoolThreadsMin 9 -ORBPoolThreadsMax 8", "pool_threads_min", "pool_threads_max"),
        (
            "-ORBConnectionsPerEndpoint 10 -ORBClientConnectionsMax 9",
            "connections_per_endpoint",
            "client_connections_max",
        ),
        ("-ORBServerConnectionsMax 40000", "server_concurrency", "server_connections_max"),
        ("-ORBWaitStrategy spin -ORBSpinBudget 0s", "wait_strategy", "spin_budget"),
        ("-ORBServerSpinBudget 0s", "server_wait_strategy", "server_spin_budget"),
        ("-ORBWaitStrategy spin -ORBReplyWait reactor", "wait_strategy", "reply_wait"),
        (
            "-ORBServerWaitStrategy spin -ORBServerConcurrency thread-pool",
            "server_wait_strategy",
            "server_concurrency",
        ),
        ("-ORBReactorThreads 4", "reactor_threads", "server_concurrency"),
        ("-ORBCsiUser alice", "csi_user", "csi_password_file"),
        ("-ORBCsiUser alice -ORBCsiPasswordFile f", "csi_user", "csi_realm"),
        (
            "-ORBPublishedAddress h -ORBPublishAllAddresses",
            "published_addresses",
            "publish_all_addresses",
        ),
        ("-ORBListenEndpoints ssliop://", "listen_endpoints", "tls_certificate"),
        ("-ORBListenEndpoints ssliop:// -ORBTlsCertificate c", "tls_clients", "tls_trust"),
        (
            "-ORBListenEndpoints ssliop:// -ORBTlsCertificate c -ORBTlsTrust t \
             -ORBTlsProtection forbidden",
            "listen_endpoints",
            "tls_protection",
        ),
        (
            "-ORBListenEndpoints iiop://h:1 -ORBTlsProtection required",
            "listen_endpoints",
            "tls_protection",
        ),
        (
            "-ORBListenEndpoints ssliop:// -ORBTlsCertificate c -ORBTlsTrust t \
             -ORBGIOPVersion 1.0",
            "listen_endpoints",
            "giop_version",
        ),
    ] {
        let text = refusal(args);
        let named = |key: &str| text.contains(&format!("{key} (-ORB"));
        assert!(named(first) && named(second), "{args}: {text}");
    }
}

#[test]
fn the_same_values_work_alone() {
    for args in [
        "-ORBListenEndpoints ssliop://:1 -ORBTlsCertificate c -ORBTlsTrust t",
        "-ORBListenEndpoints giop:ssl::1 -ORBTlsCertificate c -ORBTlsClients none",
        "-ORBTlsProtection required",
        "-ORBTlsProtection forbidden -ORBListenEndpoints iiop://h:1",
        "-ORBFragmentOctets 64KiB",
        "-ORBGIOPVersion 1.0",
        "-ORBServerConnectionsMax 40000 -ORBServerConcurrency thread-pool",
        "-ORBWaitStrategy block -ORBSpinBudget 0s",
        "-ORBMessageOctetsMax 1MiB -ORBReassemblyOctetsMax 1MiB",
        "-ORBWaitStrategy spin -ORBServerWaitStrategy spin",
        "-ORBWaitStrategy adaptive -ORBReplyWait reactor -ORBServerConcurrency reactive",
        "-ORBReactorThreads 4 -ORBServerConcurrency reactor-per-thread",
    ] {
        assert!(join(args, &[], None).is_ok(), "{args}");
    }
}

#[test]
fn code_sets_suit_their_kind_of_character() {
    assert!(refusal("-ORBNativeCharCodeSet UTF-16").contains("is for wchar"));
    assert!(refusal("-ORBNativeWCharCodeSet utf-8").contains("is for char"));
    assert!(refusal("-ORBNativeCharCodeSet EBCDIC").contains("not known here"));
    assert!(join("-ORBNativeCharCodeSet iso_8859-1", &[], None).is_ok());
}

#[test]
fn an_endpoint_is_named_once() {
    assert!(refusal("-ORBListenEndpoints iiop://:7,giop:tcp::7").contains("named twice"));
    assert!(join("-ORBListenEndpoints iiop://:0,iiop://:0", &[], None).is_ok());
}

#[test]
fn the_default_init_ref_is_a_url() {
    assert!(refusal("-ORBDefaultInitRef host").contains("default_init_ref (-ORBDefaultInitRef)"));
    assert!(join("-ORBDefaultInitRef corbaloc::host:2809", &[], None).is_ok());
}
