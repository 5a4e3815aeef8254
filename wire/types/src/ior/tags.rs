//! Numbers of profiles, components and ORB types, with their names: those of the OMG's registry
//! (CORBA 3.3 P2 §7.6.4, §7.6.6) and of the ORBs that we meet.

/// Tags of profiles.
pub mod profile_tag {
    /// IIOP.
    pub const INTERNET_IOP: u32 = 0;
    /// A list of components without a protocol.
    pub const MULTIPLE_COMPONENTS: u32 = 1;
    /// SCCP.
    pub const SCCP_IOP: u32 = 2;
    /// MIOP: unreliable multicast.
    pub const UIPMC: u32 = 3;
    /// TAO's UIOP: unix-domain sockets.
    pub const UIOP: u32 = 0x5441_4f00;
    /// Corbie's shared memory.
    pub const CORBIE_SHMIOP: u32 = 0x4342_0001;
    /// Corbie's GIOPlite over TCP.
    pub const CORBIE_GIOPLITE: u32 = 0x4342_0002;
    /// A local object of Corbie: of use within its process only, and not called.
    pub const CORBIE_LOCAL: u32 = 0x4342_0003;
    /// Corbie's name of a message protocol around the profile of a transport.
    pub const CORBIE_MESSAGES: u32 = 0x4342_0004;
    /// Corbie's note of the peer that handed a reference over, in references that are kept.
    pub const CORBIE_GIVER: u32 = 0x4342_0005;

    const NAMES: &[(u32, &str)] = &[
        (INTERNET_IOP, "TAG_INTERNET_IOP"),
        (MULTIPLE_COMPONENTS, "TAG_MULTIPLE_COMPONENTS"),
        (SCCP_IOP, "TAG_SCCP_IOP"),
        (UIPMC, "TAG_UIPMC"),
        (UIOP, "TAO UIOP (unix domain sockets)"),
        (CORBIE_SHMIOP, "Corbie SHMIOP (shared memory)"),
        (CORBIE_GIOPLITE, "Corbie GIOPlite"),
        (CORBIE_LOCAL, "Corbie local object"),
        (CORBIE_MESSAGES, "Corbie message protocol"),
        (CORBIE_GIVER, "Corbie peer that handed it over"),
        (0x5441_4f02, "TAO SHMIOP (shared memory)"),
        (0x5441_4f04, "TAO DIOP (datagrams)"),
    ];

    /// The name of a tag, when known.
    #[must_use]
    pub fn name(tag: u32) -> Option<&'static str> {
        super::name_of(NAMES, tag)
    }
}

/// Tags of components.
pub mod component_tag {
    /// Which ORB made the reference.
    pub const ORB_TYPE: u32 = 0;
    /// How the server encodes characters.
    pub const CODE_SETS: u32 = 1;
    /// Policies exposed to clients.
    pub const POLICIES: u32 = 2;
    /// Another address of the same server.
    pub const ALTERNATE_IIOP_ADDRESS: u32 = 3;
    /// TLS at another port.
    pub const SSL_SEC_TRANS: u32 = 20;
    /// Where Java classes can be loaded from.
    pub const JAVA_CODEBASE: u32 = 25;
    /// CSIv2 security mechanisms.
    pub const CSI_SEC_MECH_LIST: u32 = 33;
    /// Nothing.
    pub const NULL_TAG: u32 = 34;
    /// TLS addresses inside a CSIv2 mechanism.
    pub const TLS_SEC_TRANS: u32 = 36;
    /// An object group (MIOP, fault tolerance).
    pub const GROUP: u32 = 39;
    /// Corbie: which machine the profile is for.
    pub const CORBIE_MACHINE: u32 = 0x4342_0001;
    /// Corbie: the largest message that the server takes, where that is not Corbie's default.
    pub const CORBIE_MESSAGE_OCTETS: u32 = 0x4342_0002;

    const NAMES: &[(u32, &str)] = &[
        (ORB_TYPE, "TAG_ORB_TYPE"),
        (CODE_SETS, "TAG_CODE_SETS"),
        (POLICIES, "TAG_POLICIES"),
        (ALTERNATE_IIOP_ADDRESS, "TAG_ALTERNATE_IIOP_ADDRESS"),
        (5, "TAG_COMPLETE_OBJECT_KEY"),
        (6, "TAG_ENDPOINT_ID_POSITION"),
        (12, "TAG_LOCATION_POLICY"),
        (13, "TAG_ASSOCIATION_OPTIONS"),
        (14, "TAG_SEC_NAME"),
        (15, "TAG_SPKM_1_SEC_MECH"),
        (16, "TAG_SPKM_2_SEC_MECH"),
        (17, "TAG_KERBEROSV5_SEC_MECH"),
        (18, "TAG_CSI_ECMA_SECRET_SEC_MECH"),
        (19, "TAG_CSI_ECMA_HYBRID_SEC_MECH"),
        (SSL_SEC_TRANS, "TAG_SSL_SEC_TRANS"),
        (21, "TAG_CSI_ECMA_PUBLIC_SEC_MECH"),
        (22, "TAG_GENERIC_SEC_MECH"),
        (23, "TAG_FIREWALL_TRANS"),
        (24, "TAG_SCCP_CONTACT_INFO"),
        (JAVA_CODEBASE, "TAG_JAVA_CODEBASE"),
        (26, "TAG_TRANSACTION_POLICY"),
        (27, "TAG_FT_GROUP"),
        (28, "TAG_FT_PRIMARY"),
        (29, "TAG_FT_HEARTBEAT_ENABLED"),
        (30, "TAG_MESSAGE_ROUTERS"),
        (31, "TAG_OTS_POLICY"),
        (32, "TAG_INV_POLICY"),
        (CSI_SEC_MECH_LIST, "TAG_CSI_SEC_MECH_LIST"),
        (NULL_TAG, "TAG_NULL_TAG"),
        (35, "TAG_SECIOP_SEC_TRANS"),
        (TLS_SEC_TRANS, "TAG_TLS_SEC_TRANS"),
        (37, "TAG_ACTIVITY_POLICY"),
        (38, "TAG_RMI_CUSTOM_MAX_STREAM_FORMAT"),
        (GROUP, "TAG_GROUP"),
        (40, "TAG_GROUP_IIOP"),
        (100, "TAG_DCE_STRING_BINDING"),
        (101, "TAG_DCE_BINDING_NAME"),
        (102, "TAG_DCE_NO_PIPES"),
        (103, "TAG_DCE_SEC_MECH"),
        (0x4154_5401, "omniORB bidirectional GIOP"),
        (0x4154_5402, "omniORB unix domain socket"),
        (0x4154_5403, "omniORB persistent id"),
        (0x4154_5404, "omniORB restricted connection"),
        (0x5441_4f00, "TAO endpoints"),
        (CORBIE_MACHINE, "Corbie machine"),
        (CORBIE_MESSAGE_OCTETS, "Corbie largest message"),
    ];

    /// The name of a tag, when known.
    #[must_use]
    pub fn name(tag: u32) -> Option<&'static str> {
        super::name_of(NAMES, tag)
    }
}

/// ORB type ids, the data of `TAG_ORB_TYPE`.
pub mod orb_type {
    /// Corbie: "CB".
    pub const CORBIE: u32 = 0x4342_0000;
    /// TAO: "TAO".
    pub const TAO: u32 = 0x5441_4f00;
    /// omniORB: "ATT".
    pub const OMNIORB: u32 = 0x4154_5400;
    /// JacORB: "JAC".
    pub const JACORB: u32 = 0x4a41_4300;

    const NAMES: &[(u32, &str)] =
        &[(CORBIE, "Corbie"), (TAO, "TAO"), (OMNIORB, "omniORB"), (JACORB, "JacORB")];

    /// The name of an ORB, when known.
    #[must_use]
    pub fn name(id: u32) -> Option<&'static str> {
        super::name_of(NAMES, id)
    }
}

fn name_of(names: &[(u32, &'static str)], number: u32) -> Option<&'static str> {
    names.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}
