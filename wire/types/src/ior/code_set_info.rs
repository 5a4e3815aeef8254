//! The code set component of a profile and the negotiation of transmission code sets
//! (CORBA 3.3 P2 §7.10.2.4 to §7.10.2.6). The server publishes the component, the client
//! chooses and tells its choice in the CodeSets service context.

use std::fmt;

use corbie_cdr::{CodeSet, CodeSets, Decoder, Encoder, Error};

/// The code sets of one side, for one kind of characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeSetComponent {
    /// The one it uses itself; `CodeSet(0)` when it has none.
    pub native: CodeSet,
    /// Those that it converts to and from, preferred first.
    pub conversion: Vec<CodeSet>,
}

/// The code sets of one side, for `char` and `wchar` data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeSetComponentInfo {
    /// For `char` and `string`.
    pub for_char_data: CodeSetComponent,
    /// For `wchar` and `wstring`.
    pub for_wchar_data: CodeSetComponent,
}

/// Client and server share no code set: `CODESET_INCOMPATIBLE`, minor 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCommonCodeSet {
    /// Whether it is about `wchar` data.
    pub wide: bool,
    /// What the client has.
    pub client: CodeSetComponent,
    /// What the server has.
    pub server: CodeSetComponent,
}

impl CodeSetComponent {
    fn has(&self, code_set: CodeSet) -> bool {
        self.native == code_set || self.conversion.contains(&code_set)
    }

    fn read(d: &mut Decoder<'_>) -> Result<Self, Error> {
        let native = CodeSet(d.read_ulong()?);
        let length = d.read_length(4)?;
        let conversion = (0..length).map(|_| d.read_ulong().map(CodeSet)).collect::<Result<_, _>>();
        Ok(Self { native, conversion: conversion? })
    }

    fn write(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_ulong(self.native.0);
        e.write_length(self.conversion.len())?;
        self.conversion.iter().for_each(|code_set| e.write_ulong(code_set.0));
        Ok(())
    }

    /// Chooses between `self`, the client, and `server` (CORBA 3.3 P2 §7.10.2.6).
    fn negotiate(&self, server: &Self, fallback: CodeSet) -> Option<CodeSet> {
        if self.native == server.native || self.conversion.contains(&server.native) {
            return Some(server.native); // no side converts, or the client does
        }
        if server.conversion.contains(&self.native) {
            return Some(self.native); // the server converts
        }
        let shared = server.conversion.iter().find(|code_set| self.conversion.contains(code_set));
        if let Some(code_set) = shared {
            return Some(*code_set); // both convert
        }
        // Every ORB must convert to the fallback, and it has the characters of all code sets that
        // the registry names; 0 is a server that says nothing of this kind of characters.
        let has_place = server.native == CodeSet(0) || server.native.name().is_some();
        (self.has(fallback) && has_place).then_some(fallback)
    }
}

impl CodeSetComponentInfo {
    /// What Corbie speaks: UTF-8, converting to ISO 8859-1 and US-ASCII; UTF-16, converting to
    /// UCS-2.
    #[must_use]
    pub fn corbie() -> Self {
        Self {
            for_char_data: CodeSetComponent {
                native: CodeSet::UTF_8,
                conversion: vec![CodeSet::ISO_8859_1, CodeSet::ISO_646],
            },
            for_wchar_data: CodeSetComponent {
                native: CodeSet::UTF_16,
                conversion: vec![CodeSet::UCS_2],
            },
        }
    }

    /// Reads the component's data, or a part of it that other messages embed.
    ///
    /// # Errors
    /// When the octets end early.
    pub fn read(d: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self {
            for_char_data: CodeSetComponent::read(d)?,
            for_wchar_data: CodeSetComponent::read(d)?,
        })
    }

    /// Writes the component's data.
    ///
    /// # Errors
    /// None in practice.
    pub fn write(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        self.for_char_data.write(e)?;
        self.for_wchar_data.write(e)
    }

    /// Chooses the transmission code sets between `self`, the client, and what the server's
    /// profile says. A server that says nothing (no component: an old ORB, or a `corbaloc:`)
    /// gets ISO 8859-1 and UTF-16.
    ///
    /// # Errors
    /// [`NoCommonCodeSet`] for `char` data; for `wchar` data the result has `CodeSet(0)`, so
    /// that only a call that uses wide characters fails.
    pub fn negotiate(&self, server: Option<&Self>) -> Result<CodeSets, NoCommonCodeSet> {
        let Some(server) = server else {
            return Ok(CodeSets::DEFAULT);
        };
        let (client_char, server_char) = (&self.for_char_data, &server.for_char_data);
        let (client_wide, server_wide) = (&self.for_wchar_data, &server.for_wchar_data);
        let char_data = client_char.negotiate(server_char, CodeSet::UTF_8);
        let wchar_data = client_wide.negotiate(server_wide, CodeSet::UTF_16);
        match char_data {
            Some(char_data) => {
                Ok(CodeSets { char_data, wchar_data: wchar_data.unwrap_or(CodeSet(0)) })
            }
            None => Err(NoCommonCodeSet {
                wide: false,
                client: client_char.clone(),
                server: server_char.clone(),
            }),
        }
    }
}

impl fmt::Display for CodeSetComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.native {
            CodeSet(0) => f.write_str("no native code set")?,
            native => write!(f, "native {native}")?,
        }
        for (index, code_set) in self.conversion.iter().enumerate() {
            write!(f, "{} {code_set}", if index == 0 { ", converts" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for NoCommonCodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wide, client, server } = self;
        let kind = if *wide { "wchar" } else { "char" };
        write!(f, "no common code set for {kind} data: client {client}; server {server}")
    }
}

impl std::error::Error for NoCommonCodeSet {}

impl From<NoCommonCodeSet> for crate::SystemException {
    fn from(error: NoCommonCodeSet) -> Self {
        let minor = crate::minor::CODESET_INCOMPATIBLE_NEGOTIATION;
        Self::codeset_incompatible(minor, crate::CompletionStatus::No)
            .with_detail(error.to_string())
    }
}
