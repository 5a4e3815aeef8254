//! Corbie's own minor codes. One number, one meaning, whatever the exception: a log line with
//! the number alone can be looked up here. Append; never renumber.

super::minor_codes! { super::VMCID;
    Marshal {
        0x001 MARSHAL_UNEXPECTED_END "the message ends before its values do";
        0x002 MARSHAL_INVALID_VALUE "the octets are no value of their type";
        0x003 MARSHAL_HEADER "the message header is malformed";
    }
    ImpLimit {
        0x010 IMP_LIMIT_DECODING "the message exceeds a limit of the decoder";
        0x011 IMP_LIMIT_MESSAGE_SIZE "the message is larger than the limit message_octets";
        0x012 IMP_LIMIT_NAME "a name has more or longer components than the naming server takes";
        0x013 IMP_LIMIT_REFERENCE "a reference is longer than the naming server takes";
        0x014 IMP_LIMIT_NAMES "the naming server has all the contexts or bindings that it takes";
    }
    BadParam {
        0x020 BAD_PARAM_NOT_SENDABLE "a value cannot be sent as its IDL type";
        0x021 BAD_PARAM_WRONG_TYPE "the any holds a value of another type";
        0x022 BAD_PARAM_ARGUMENT "an argument is not acceptable";
    }
    InvObjref {
        0x030 INV_OBJREF_MALFORMED "the object reference is malformed";
        0x031 INV_OBJREF_NIL "the object reference is nil";
    }
    BadTypecode {
        0x040 BAD_TYPECODE_MALFORMED "the TypeCode is malformed or does not fit its value";
    }
    NoImplement {
        0x050 NO_IMPLEMENT_FEATURE "Corbie does not have this feature yet";
    }
    CommFailure {
        0x060 COMM_FAILURE_CLOSED "the peer closed the connection while a reply was awaited";
        0x061 COMM_FAILURE_SEND "the request could not be sent";
        0x062 COMM_FAILURE_RECEIVE "the reply could not be received";
        0x063 COMM_FAILURE_MESSAGE_ERROR "the peer answered with MessageError";
        0x064 COMM_FAILURE_PROTOCOL "the peer sent what GIOP does not allow";
    }
    Transient {
        0x070 TRANSIENT_CONNECT_FAILED "no address of the reference accepts a connection";
        0x071 TRANSIENT_CLOSE_CONNECTION
            "the peer closed the connection before it read the request";
        0x072 TRANSIENT_HOST_UNKNOWN "the host name of the reference cannot be resolved";
        0x073 TRANSIENT_TOO_MANY_CONNECTIONS "the limit on connections is reached";
        0x074 TRANSIENT_TOO_MANY_FORWARDS "the reference was forwarded too often";
        0x075 TRANSIENT_OVERLOAD "the server has more requests than it takes";
        0x076 TRANSIENT_SENT_ON
            "the request has to go to another place, but its arguments were not kept";
        0x077 TRANSIENT_STORE "the store of the service does not answer";
    }
    Timeout {
        0x080 TIMEOUT_CONNECT "the connection was not made within the time allowed";
        0x081 TIMEOUT_CALL "the reply did not come within the time allowed";
        0x082 TIMEOUT_SEND "the request could not be sent within the time allowed";
    }
    Initialize {
        0x090 INITIALIZE_ARGUMENT "an option or setting of the ORB is not acceptable";
        0x091 INITIALIZE_LISTEN "the ORB cannot listen on the address configured";
        0x092 INITIALIZE_CONFIGURATION "the configuration file cannot be used";
    }
    NoResources {
        0x0a0 NO_RESOURCES_THREAD "no thread could be started";
        0x0a1 NO_RESOURCES_DESCRIPTOR "no file descriptor is left";
        0x0a2 NO_RESOURCES_STORE_FULL "the store of the service has no room left";
    }
    Internal {
        0x0b0 INTERNAL_STATE "the ORB is in a state that it should not reach";
        0x0b1 INTERNAL_SERVANT_PANIC "the servant panicked";
    }
    Rebind {
        0x0c0 REBIND_FORWARD "the server forwards to a reference that has other policies";
        0x0c1 REBIND_RECONNECT "a connection would have to be opened again";
    }
    PersistStore {
        0x0d0 PERSIST_STORE_FAILED "the store of the service failed";
    }
    NoPermission {
        0x0e0 NO_PERMISSION_ROOT_CONTEXT "the root context of a naming server stays";
    }
}
