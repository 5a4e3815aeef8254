//! Corbie's own minor codes. One number, one meaning, whatever the exception: a log line with
//! the number alone can be looked up here. Append; never renumber, and never use the number of a
//! code that is gone (0x062, 0x072, 0x073, 0x082, 0x090, 0x0a1, 0x0b1, 0x106).
//!
//! `cargo xtask tidy` checks that a test has each code raised; `tests/minor_codes.rs` writes the
//! page of the book.

super::minor_codes! { super::VMCID;
    Marshal {
        0x001 MARSHAL_UNEXPECTED_END "the message ends before its values do"
            "compile client and server from the same IDL";
        0x002 MARSHAL_INVALID_VALUE "the octets are no value of their type"
            "compile client and server from the same IDL";
        0x003 MARSHAL_HEADER "the header of a message, or what follows it, cannot be decoded"
            "the peer breaks GIOP: record the connection and report it to the peer's maker";
    }
    ImpLimit {
        0x010 IMP_LIMIT_DECODING "the message exceeds a limit of the decoder"
            "raise the limit that the detail names, or send less in one call";
        0x011 IMP_LIMIT_MESSAGE_SIZE "the message is larger than the receiver takes"
            "raise message_octets_max, or send less in one call";
        0x012 IMP_LIMIT_NAME "a name has more or longer components than the naming server takes"
            "choose a shorter name";
        0x013 IMP_LIMIT_REFERENCE "a reference is longer than the receiver takes"
            "use one with a shorter key and fewer addresses, or raise the limit in the detail";
        0x014 IMP_LIMIT_NAMES "a limit of the service is reached"
            "remove entries that are not used, or raise the limit that the detail names";
        0x015 IMP_LIMIT_FRAGMENTS "incomplete messages exceed a limit of the receiver"
            "raise fragments_max, reassembly_messages_max or reassembly_octets_max";
        0x016 IMP_LIMIT_MEMORY "the memory that peers may use is used up"
            "raise memory_max, or send less at once";
        0x017 IMP_LIMIT_TRANSPORT "no event loop can watch connections of this transport"
            "make synchronous calls with transport_multiplexing = exclusive and reply_wait = read";
    }
    BadParam {
        0x020 BAD_PARAM_NOT_SENDABLE "a value cannot be sent as its IDL type"
            "give a value that the IDL type has";
        0x021 BAD_PARAM_WRONG_TYPE "the any holds a value of another type"
            "ask the any for the type that its TypeCode names";
        0x022 BAD_PARAM_ARGUMENT "an argument is not acceptable"
            "give what the detail says is expected";
        0x023 BAD_PARAM_TRANSPORT
            "a transport or message protocol, or an endpoint of it, cannot be used"
            "register each once, under a scheme and profile tag, or a name, of its own";
    }
    InvObjref {
        0x030 INV_OBJREF_MALFORMED "the object reference is malformed"
            "get the reference anew from where it came";
        0x031 INV_OBJREF_NIL "the object reference is nil"
            "check for nil before calling";
    }
    BadTypecode {
        0x040 BAD_TYPECODE_MALFORMED "the TypeCode is malformed or does not fit its value"
            "compile client and server from the same IDL";
    }
    NoImplement {
        0x050 NO_IMPLEMENT_FEATURE "this feature is not there, or is switched off"
            "see the detail, and the book for what is supported";
    }
    CommFailure {
        0x060 COMM_FAILURE_CLOSED "the connection ended while a reply was awaited"
            "find out why the server ended; repeat the call only if it may be carried out twice";
        0x061 COMM_FAILURE_SEND "the request could not be sent"
            "repeat the call; if it fails again, see whether the server runs";
        0x063 COMM_FAILURE_MESSAGE_ERROR "the peer answered with MessageError"
            "use a lower GIOP version or smaller messages: the peer did not understand one";
        0x064 COMM_FAILURE_PROTOCOL "the peer sent what GIOP does not allow"
            "see that the port belongs to a CORBA server; report the octets to the peer's maker";
        0x065 COMM_FAILURE_CHANNEL "the event channel between two components broke"
            "see whether the channel's server runs; the other component may have acted";
    }
    Transient {
        0x070 TRANSIENT_CONNECT_FAILED "no address of the reference accepts a connection"
            "see whether the server runs and its addresses can be reached, then repeat the call";
        0x071 TRANSIENT_CLOSE_CONNECTION
            "the peer closed the connection before it read the request"
            "repeat the call";
        0x074 TRANSIENT_TOO_MANY_FORWARDS "the reference was forwarded too often"
            "correct the servers that forward to each other in a circle";
        0x075 TRANSIENT_OVERLOAD "more requests wait than the limits allow"
            "repeat the call later, or raise the limit that the detail names";
        0x076 TRANSIENT_SENT_ON
            "the request has to go to another place, but its arguments were not kept"
            "repeat the call: it goes to the new place";
        0x077 TRANSIENT_STORE "the store of the service does not answer"
            "see whether the store can be reached, then repeat the call";
        0x078 TRANSIENT_CHANNEL "an event channel, or an object behind it, cannot be used now"
            "repeat the call later";
        0x079 TRANSIENT_NOT_NOW "the component cannot do this now"
            "repeat the call later; the detail says what is missing";
        0x07a TRANSIENT_NO_WAY_BACK
            "the client's own connection, the only way to its object, is gone"
            "repeat the call after the client has called this server again";
    }
    Timeout {
        0x080 TIMEOUT_CONNECT "the connection was not made within the time allowed"
            "see whether the address can be reached, or raise connect_timeout";
        0x081 TIMEOUT_CALL "the reply did not come within the time allowed"
            "allow more time, or the server more threads; it may still carry out the call";
        0x083 TIMEOUT_JOB "the job did not end within the time allowed"
            "wait again: the job goes on";
    }
    Initialize {
        0x091 INITIALIZE_LISTEN "the ORB cannot serve the address configured"
            "choose a free address of this machine with -ORBListenEndpoints";
        0x092 INITIALIZE_CONFIGURATION "the configuration file cannot be used"
            "correct the line that the detail names";
        0x093 INITIALIZE_TLS "the files of certificates cannot be used"
            "correct the file that the detail names (tls_certificate, tls_key, tls_trust)";
        0x094 INITIALIZE_INTERCEPTORS "an ORB initializer gave up"
            "correct what the detail names: a name that is taken, or an initial reference";
    }
    NoResources {
        0x0a0 NO_RESOURCES_THREAD "no thread could be started"
            "raise the limit of threads (ulimit -u), or lower the number of threads configured";
        0x0a2 NO_RESOURCES_STORE_FULL "the store of the service has no room left"
            "make room on its disk, or raise its limit";
        0x0a3 NO_RESOURCES_EVENT_LOOP "the event loop cannot be made or takes no more connections"
            "raise the limit of open descriptors (ulimit -n)";
        0x0a4 NO_RESOURCES_POA_FULL "the POA has no place for another object"
            "deactivate objects, or use several POAs";
        0x0a5 NO_RESOURCES_REQUESTS "the component has as many waiting requests as it takes"
            "repeat the call later";
        0x0a6 NO_RESOURCES_EVENTS "the channel did not take all events"
            "push more slowly, or raise the limits of the channel";
    }
    Internal {
        0x0b0 INTERNAL_STATE "the program is in a state that it should not reach"
            "please report this with the detail";
    }
    Rebind {
        0x0c0 REBIND_FORWARD "the server forwards to a reference that has other policies"
            "set RebindPolicy to TRANSPARENT, or bind again";
        0x0c1 REBIND_RECONNECT "a connection would have to be opened again"
            "set RebindPolicy to TRANSPARENT or NO_REBIND, or bind again";
    }
    PersistStore {
        0x0d0 PERSIST_STORE_FAILED "the store of the service failed"
            "see the service's log: the disk or the store needs repair";
    }
    NoPermission {
        0x0e0 NO_PERMISSION_ROOT_CONTEXT "the root context of a naming server stays"
            "destroy a context below it";
        0x0e1 NO_PERMISSION_ACCESS "the access rules of the server do not let this peer call that"
            "ask the operator of the server for a rule in its access file";
        0x0e2 NO_PERMISSION_EGRESS
            "a server does not connect there on behalf of the peer that handed the reference over"
            "hand over one with the peer's own address, or ask the operator for a rule of egress";
        0x0e8 NO_PERMISSION_TLS "the two sides of a connection over TLS do not trust each other"
            "the detail says which certificate is at fault; correct it, or the authorities trusted";
        0x0e9 NO_PERMISSION_TLS_NEEDED
            "the reference has no address that tls_protection lets be used"
            "let its server listen on ssliop://, name a tls_trust, or change tls_protection";
        0x0ea NO_PERMISSION_USER "a user name, a password or an asserted identity is not accepted"
            "correct csi_user and csi_password_file, or ask the operator of the server";
        0x0eb NO_PERMISSION_USER_NEEDED "the server takes calls of users only"
            "set csi_user and csi_password_file, or Orb::set_credentials";
        0x0ec NO_PERMISSION_PASSWORD_PLAIN "a password does not travel in plain text"
            "let the server listen on ssliop://, or set csi_plain_passwords";
    }
    ObjectNotExist {
        0x0f0 OBJECT_NOT_EXIST_UNKNOWN "the server answers, but does not know the object"
            "get the reference anew from where it came";
        0x0f1 OBJECT_NOT_EXIST_POA_DESTROYED "the POA was destroyed"
            "make the POA again";
        0x0f2 OBJECT_NOT_EXIST_DISCONNECTED "the proxy, channel, context or iterator has ended"
            "connect or ask again, at the object that made it";
        0x0f3 OBJECT_NOT_EXIST_JOB "no advisor knows the job"
            "submit it again, unless it ended so long ago that it is forgotten";
    }
    BadInvOrder {
        0x100 BAD_INV_ORDER_ANSWERED "the request was answered already"
            "answer each request once";
        0x101 BAD_INV_ORDER_NO_EXECUTOR "an async servant was called, but there is no executor"
            "call Orb::set_executor before activating the servant";
        0x102 BAD_INV_ORDER_POLLER_IN_SET "a poller in a pollable set cannot have a handler"
            "remove the poller from the set first";
        0x103 BAD_INV_ORDER_ADAPTER_EXISTS "the ORB has an object adapter already"
            "use the root POA that the ORB has";
        0x104 BAD_INV_ORDER_NO_UPCALL "the calling thread serves no request"
            "ask Current within an upcall only, and call Orb::current before requests come";
        0x105 BAD_INV_ORDER_NOT_CONNECTED "the proxy is not connected, or is connected already"
            "connect each proxy once, before events are given or asked for";
    }
    NoResponse {
        0x110 NO_RESPONSE_UNANSWERED "the server gave the request up without an answer"
            "correct the servant: it has to answer each request";
    }
    ObjAdapter {
        0x120 OBJ_ADAPTER_NO_ENDPOINT "the ORB does not listen on any address"
            "set listen_endpoints before making references";
        0x121 OBJ_ADAPTER_REFUSED "the POA or its manager does not do what was asked"
            "see the detail: it names the policy, state or name in the way";
        0x122 OBJ_ADAPTER_NOT_BIDIRECTIONAL
            "the object is not called back over connections of its own process"
            "make its POA with the BidirectionalPolicy BOTH, or call it over a connection to it";
    }
    Unknown {
        0x130 UNKNOWN_SERVANT_PANIC "the servant panicked"
            "correct the servant: the detail and the server's log say where it panicked";
        0x131 UNKNOWN_INTERCEPTOR_PANIC "an interceptor panicked"
            "correct the interceptor: the log of its process says where it panicked";
    }
}
