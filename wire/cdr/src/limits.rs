//! Bounds that a decoder keeps, whatever a message claims. Set by the ORB from its
//! configuration and handed to every [`Decoder`](crate::Decoder).

/// What a decoder accepts. Each limit names the attack that it stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Octets of one whole message, fragments joined. Stops a peer that makes us gather an
    /// endless message. Default 64 MiB. Checked by the GIOP reader, not by the decoder.
    pub message_octets: usize,
    /// Levels of nested sequences of constructed types, `any`, TypeCodes and encapsulations.
    /// Stops a small message that nests until our stack overflows. Default 64.
    pub nesting_depth: u32,
    /// Elements of one sequence. Stops a message that is cheap to send and dear to hold: an
    /// element may take more memory than octets on the wire. Default 64 Mi.
    pub sequence_elements: u32,
    /// Elements of one sequence whose elements take no octets at all (empty structs), and values
    /// without octets in the dynamic values of one message. Stops a message of a few octets that
    /// keeps a processor busy. Default 1,024.
    pub empty_elements: u32,
    /// Nodes of one TypeCode, repeated ones counted each time. Stops a TypeCode whose
    /// indirections describe more than anybody can walk through. Default 65,536.
    pub type_code_nodes: u32,
    /// Values of one message that are decoded without knowing their types at build time (`any`,
    /// `corbie call`), in however many `any`s, and eight times those of valuetypes, read or passed
    /// over. Stops a message whose values take thirty times its size in memory. Octet sequences
    /// count as one. Default 4 Mi.
    pub dynamic_values: u32,
    /// Whether values may lead back to themselves. Such a cycle stays in memory for ever unless the
    /// program that received it breaks it, also when it never saw it, as the rest of the message
    /// was malformed. Default `false`.
    pub value_cycles: bool,
}

impl Limits {
    /// The default values as a constant.
    pub const DEFAULT: Self = Self {
        message_octets: 64 << 20,
        nesting_depth: 64,
        sequence_elements: 64 << 20,
        empty_elements: 1024,
        type_code_nodes: 65_536,
        dynamic_values: 4 << 20,
        value_cycles: false,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
