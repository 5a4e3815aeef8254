//! The OMG's minor codes, numbers as registered (CORBA 3.3 P1 §A.5, omg/03-01-04), names and
//! texts in our words. Numbers whose meaning is not public knowledge are left out.

super::minor_codes! { super::OMGVMCID;
    BadContext {
        1 BAD_CONTEXT_NOT_FOUND "the IDL context was not found";
        2 BAD_CONTEXT_NO_PROPERTY "no property of the IDL context matches";
    }
    BadInvOrder {
        1 BAD_INV_ORDER_IFR_DEPENDENCY "something in the interface repository depends on it";
        2 BAD_INV_ORDER_IFR_INDESTRUCTIBLE "the interface repository object cannot be destroyed";
        3 BAD_INV_ORDER_WOULD_DEADLOCK "the operation would wait for itself";
        4 BAD_INV_ORDER_ORB_SHUTDOWN "the ORB has been shut down";
        5 BAD_INV_ORDER_REQUEST_USED_TWICE "a Request object was invoked or sent twice";
        6 BAD_INV_ORDER_SERVANT_MANAGER_SET "the POA has a servant manager already";
        7 BAD_INV_ORDER_ARGUMENTS
            "ServerRequest::arguments was called twice or after set_exception";
        8 BAD_INV_ORDER_CTX "ServerRequest::ctx was called out of order";
        9 BAD_INV_ORDER_SET_RESULT "ServerRequest::set_result was called out of order";
        10 BAD_INV_ORDER_REQUEST_SENT "the deferred request was sent before";
        11 BAD_INV_ORDER_REQUEST_NOT_SENT "the deferred request was not sent yet";
        12 BAD_INV_ORDER_RESULT_TAKEN "the result of the deferred request was taken before";
        13 BAD_INV_ORDER_REQUEST_SYNCHRONOUS "a synchronous request was polled";
        14 BAD_INV_ORDER_INTERCEPTOR_CALL "the interceptor may not call this at this point";
        15 BAD_INV_ORDER_SERVICE_CONTEXT_EXISTS "a service context with this id is there already";
        16 BAD_INV_ORDER_POLICY_FACTORY_EXISTS "a policy factory for this type is there already";
        17 BAD_INV_ORDER_POA_BEING_DESTROYED "the POA is being destroyed and creates no children";
        18 BAD_INV_ORDER_PRIORITY_REASSIGNED "the priority was assigned before";
        19 BAD_INV_ORDER_XA_OUTSIDE "an XA call returned XAER_OUTSIDE";
        20 BAD_INV_ORDER_XA_PROTO "an XA call returned XAER_PROTO";
        21 BAD_INV_ORDER_TRANSACTION_MISMATCH
            "request and thread have different transactions in an interceptor";
        22 BAD_INV_ORDER_POLLER_NOT_READY "the poller has no reply yet";
        23 BAD_INV_ORDER_PROFILE_FACTORY_EXISTS
            "a tagged profile factory for this id is there already";
        24 BAD_INV_ORDER_COMPONENT_FACTORY_EXISTS
            "a tagged component factory for this id is there already";
        25 BAD_INV_ORDER_ITERATION_ENDED "the iteration has no more elements";
        26 BAD_INV_ORDER_IN_POST_INIT "the operation may not be called in post_init";
    }
    BadOperation {
        1 BAD_OPERATION_SERVANT_TYPE "the servant manager returned a servant of the wrong type";
        2 BAD_OPERATION_UNKNOWN "the target object has no operation or attribute of this name";
    }
    BadParam {
        1 BAD_PARAM_VALUE_FACTORY "the value factory could not be registered or found";
        2 BAD_PARAM_IFR_ID_DEFINED "the repository id is defined already";
        3 BAD_PARAM_IFR_NAME_USED "the name is used already in the interface repository";
        4 BAD_PARAM_IFR_CONTAINER "the target is no valid container";
        5 BAD_PARAM_INHERITED_NAME_CLASH "the name clashes with an inherited one";
        6 BAD_PARAM_ABSTRACT_TYPE "the value is no acceptable type for its abstract interface";
        7 BAD_PARAM_URL_SCHEME "the object URL has an unknown scheme";
        8 BAD_PARAM_URL_ADDRESS "the object URL has a bad address";
        9 BAD_PARAM_URL_SCHEME_SPECIFIC "the part of the object URL after its scheme is malformed";
        10 BAD_PARAM_URL_OTHER "the object URL cannot be converted";
        11 BAD_PARAM_IFR_ABSTRACT_BASE "an abstract interface cannot have a non-abstract base";
        12 BAD_PARAM_IFR_VALUE_SUPPORTS "a value type supports at most one non-abstract interface";
        13 BAD_PARAM_INCOMPLETE_TYPECODE "the TypeCode is not complete";
        14 BAD_PARAM_OBJECT_ID "the object id is not valid for this POA";
        15 BAD_PARAM_TYPECODE_NAME "the name in the TypeCode is no IDL identifier";
        16 BAD_PARAM_TYPECODE_ID "the repository id in the TypeCode is malformed";
        17 BAD_PARAM_TYPECODE_MEMBER_NAME
            "a member name in the TypeCode is no IDL identifier or used twice";
        18 BAD_PARAM_TYPECODE_DUPLICATE_LABEL "a union label is used twice";
        19 BAD_PARAM_TYPECODE_LABEL_TYPE "a union label does not fit its discriminator type";
        20 BAD_PARAM_TYPECODE_DISCRIMINATOR "the type cannot be a union discriminator";
        21 BAD_PARAM_NOT_AN_EXCEPTION "the any given to set_exception holds no exception";
        22 BAD_PARAM_UNLISTED_EXCEPTION "the user exception is not in the raises clause";
        23 BAD_PARAM_NO_WCHAR_CODE_SET
            "the request has no transmission code set for wide characters";
        24 BAD_PARAM_SERVICE_CONTEXT_RANGE "the service context id is outside the OMG's range";
        25 BAD_PARAM_ENUM_RANGE "the enumerator does not exist";
        26 BAD_PARAM_SERVICE_CONTEXT_ID "there is no service context with this id";
        27 BAD_PARAM_NIL_INITIAL_REFERENCE "a nil reference cannot be an initial reference";
        28 BAD_PARAM_COMPONENT_ID "there is no tagged component with this id";
        29 BAD_PARAM_PROFILE_ID "there is no profile with this id, or it takes no components";
        30 BAD_PARAM_DUPLICATE_POLICY "two policies have the same type";
        31 BAD_PARAM_ONEWAY_DEFINITION "a oneway operation has results or user exceptions";
        32 BAD_PARAM_DII_IMPLICIT_OPERATION
            "the dynamic interface was asked for an implicit operation";
        33 BAD_PARAM_XA_INVAL "an XA call returned XAER_INVAL";
        34 BAD_PARAM_UNION_DISCRIMINATOR "the discriminator does not select this union member";
        35 BAD_PARAM_CONTEXT_PROPERTY "the name is no context property";
        36 BAD_PARAM_CONTEXT_SEARCH "the search string for context properties is malformed";
        37 BAD_PARAM_CONTEXT_NAME "the context name is malformed";
        38 BAD_PARAM_CONTEXT_NOT_EMPTY "the context is not empty";
        39 BAD_PARAM_STREAM_FORMAT "the stream format of the custom value is not supported";
        40 BAD_PARAM_NOT_A_VALUE_OUTPUT "the output stream takes no values";
        41 BAD_PARAM_NOT_A_VALUE_INPUT "the input stream gives no values";
        43 BAD_PARAM_ALREADY_IN_POLLABLE_SET "the pollable is in a pollable set already";
        44 BAD_PARAM_COMPRESSION_LEVEL "the compression level does not exist";
    }
    BadTypecode {
        1 BAD_TYPECODE_INCOMPLETE "the TypeCode is not complete";
        2 BAD_TYPECODE_MEMBER "a member of the TypeCode has an illegal type";
        3 BAD_TYPECODE_PARAMETER "a parameter has an illegal type";
    }
    CodesetIncompatible {
        1 CODESET_INCOMPATIBLE_NEGOTIATION "no code set is known to both sides";
        2 CODESET_INCOMPATIBLE_CONTEXT
            "the server does not support the code set of the code set context";
    }
    DataConversion {
        1 DATA_CONVERSION_CHARACTER "a character has no place in the transmission code set";
        2 DATA_CONVERSION_PRIORITY "the priority has no counterpart";
    }
    ImpLimit {
        1 IMP_LIMIT_NO_USABLE_PROFILE "no profile of the reference can be used";
    }
    Initialize {
        1 INITIALIZE_PRIORITY_RANGE "the priority range is too narrow for the ORB";
    }
    Internal {
        1 INTERNAL_XA_RMERR "an XA call returned XAER_RMERR";
        2 INTERNAL_XA_RMFAIL "an XA call returned XAER_RMFAIL";
    }
    IntfRepos {
        1 INTF_REPOS_NOT_AVAILABLE "there is no interface repository";
        2 INTF_REPOS_NO_ENTRY "the interface repository does not have the interface";
    }
    InvObjref {
        1 INV_OBJREF_WCHAR_UNSUPPORTED
            "the reference does not say how its server encodes wide characters";
        2 INV_OBJREF_CODE_SETS_REQUIRED
            "wide characters need a code set component in the reference";
    }
    InvPolicy {
        1 INV_POLICY_IRRECONCILABLE "the policies of the reference contradict those set here";
        2 INV_POLICY_TYPE "there is no such policy type";
        3 INV_POLICY_NO_FACTORY "no policy factory is registered for this type";
    }
    Marshal {
        1 MARSHAL_NO_VALUE_FACTORY "no factory for the value type is registered";
        2 MARSHAL_SET_RESULT_BEFORE_CTX "set_result was called before ctx";
        3 MARSHAL_NVLIST
            "the list given to ServerRequest::arguments does not describe all parameters";
        4 MARSHAL_LOCAL_OBJECT "a local object cannot be sent";
        5 MARSHAL_WIDE_CHARACTER_FROM_CLIENT "wide characters in a GIOP 1.0 request";
        6 MARSHAL_WIDE_CHARACTER_FROM_SERVER "wide characters in a GIOP 1.0 reply";
        7 MARSHAL_STREAM_FORMAT "the stream format of the custom value is not supported";
        8 MARSHAL_OPTIONAL_DATA "the optional data of the custom value is not there";
    }
    NoImplement {
        1 NO_IMPLEMENT_VALUE "the value type has no local implementation";
        2 NO_IMPLEMENT_VALUE_VERSION "the value type has an incompatible implementation";
        3 NO_IMPLEMENT_PROFILE "no profile of the reference can be used";
        4 NO_IMPLEMENT_DII_LOCAL "the dynamic interface cannot call a local object";
        5 NO_IMPLEMENT_BIO_RESET "the sequence analysis iterator cannot be reset";
        6 NO_IMPLEMENT_BIO_METADATA "the sequence analysis metadata is not there as XML";
        7 NO_IMPLEMENT_GENOMIC_RESET "the genomic map iterator cannot be reset";
    }
    NoResources {
        1 NO_RESOURCES_INTERCEPTOR "the language binding does not offer this to interceptors";
        2 NO_RESOURCES_NO_PRIORITY_CONNECTION
            "there is no connection for the priority of the request";
    }
    NoResponse {
        1 NO_RESPONSE_NOT_YET "the reply is not there yet and the call may not wait";
    }
    ObjAdapter {
        1 OBJ_ADAPTER_UNKNOWN_ADAPTER "the adapter activator raised a system exception";
        2 OBJ_ADAPTER_SERVANT_TYPE "the servant manager returned a servant of the wrong type";
        3 OBJ_ADAPTER_NO_DEFAULT_SERVANT "the POA has no default servant";
        4 OBJ_ADAPTER_NO_SERVANT_MANAGER "the POA has no servant manager";
        5 OBJ_ADAPTER_INCARNATE_POLICY "ServantActivator::incarnate violated a policy of the POA";
        6 OBJ_ADAPTER_COMPONENTS_ESTABLISHED "an IOR interceptor failed in components_established";
        7 OBJ_ADAPTER_NULL_SERVANT "the servant manager returned no servant";
    }
    ObjectNotExist {
        1 OBJECT_NOT_EXIST_NO_MATCH "the object is not active and nothing would activate it";
        2 OBJECT_NOT_EXIST_NO_ADAPTER "the object adapter does not exist and could not be created";
        3 OBJECT_NOT_EXIST_BIO "the sequence analysis service is gone";
        4 OBJECT_NOT_EXIST_ADAPTER_INACTIVE "the object adapter is inactive";
        5 OBJECT_NOT_EXIST_POLLER_DELIVERED "the poller has delivered its reply";
    }
    Timeout {
        1 TIMEOUT_POLLER "the poller had no reply within the time allowed";
        2 TIMEOUT_REQUEST_END "the end time of the request has passed";
        3 TIMEOUT_REPLY_END "the end time of the reply has passed";
    }
    TransactionRolledback {
        1 TRANSACTION_ROLLEDBACK_XA_RB "an XA call returned XA_RB";
        2 TRANSACTION_ROLLEDBACK_XA_NOTA "an XA call returned XAER_NOTA";
        3 TRANSACTION_ROLLEDBACK_END "end was called with success while a rollback was deferred";
        4 TRANSACTION_ROLLEDBACK_DEFERRED "the deferred transaction was rolled back";
    }
    Transient {
        1 TRANSIENT_REQUEST_DISCARDED "the POA discards requests, or has no resources";
        2 TRANSIENT_NO_USABLE_PROFILE "no profile of the reference could be used";
        3 TRANSIENT_REQUEST_CANCELLED "the request was cancelled";
        4 TRANSIENT_POA_DESTROYED "the POA was destroyed";
    }
    Unknown {
        1 UNKNOWN_USER_EXCEPTION
            "the server raised a user exception that the operation does not list";
        2 UNKNOWN_SYSTEM_EXCEPTION
            "the server raised a system exception that is not a standard one";
        3 UNKNOWN_INTERCEPTOR_EXCEPTION "an interceptor received an unknown user exception";
    }
    InvalidActivity {
        1 INVALID_ACTIVITY_CONTEXT
            "the activity or transaction context does not fit the one it was suspended from";
    }
    ActivityCompleted {
        1 ACTIVITY_COMPLETED_TIMEOUT "the activity ended by time-out or otherwise than asked";
    }
    ActivityRequired {
        1 ACTIVITY_REQUIRED_CONTEXT "the calling thread has no activity context";
    }
}
