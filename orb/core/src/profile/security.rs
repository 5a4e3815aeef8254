//! What an IIOP profile says of security: where TLS is spoken, and which users its server takes
//! (CORBA 3.3 P2 §10.5). Written by `orb/publish`, read by `client/bind`.

use super::{Profile, is_plain, is_tls, tls_addresses};
use corbie_settings::{CsiUsers, Settings, TlsClients};
use corbie_transport::Endpoint;
use corbie_types::csi::gss::{self, GSSUP, SCOPED_USERNAME};
use corbie_types::csi::{gssup, identity_type};
use corbie_types::ior::{
    AsContextSec, CompoundSecMech, CsiSecMechList, SasContextSec, SslSecTrans, TlsSecTrans,
    association, component_tag,
};
use corbie_types::{Address, Component, SystemException, TaggedComponent};

/// Which evidence a server takes.
#[derive(Clone, Copy, Default)]
pub(crate) struct UsersTaken {
    /// User names with passwords.
    pub(crate) passwords: bool,
    /// Identities that peers assert.
    pub(crate) assertions: bool,
}

/// What a profile with these endpoints says of TLS and of users: where, what the server has, and
/// what it wants. `TAG_SSL_SEC_TRANS` has a port only, so it is for the host of the profile.
///
/// # Errors
/// When a host name cannot be written.
pub(crate) fn components(
    settings: &Settings,
    endpoints: &[Endpoint],
    users: UsersTaken,
) -> Result<Vec<TaggedComponent>, SystemException> {
    let (mut all, mut mechanisms) = (Vec::new(), Vec::new());
    if let Some((ssl, tls)) = of_tls(settings, endpoints) {
        if let Some(ssl) = ssl {
            all.push(ssl.to_component()?);
        }
        let mechanism = mechanism(settings, users, true, tls.target_requires, tls.to_component()?);
        mechanisms.push(mechanism);
    }
    if (users.passwords || users.assertions) && endpoints.iter().any(|one| !is_tls(one)) {
        let is_safe = settings.csi_plain_passwords || !endpoints.iter().any(is_plain);
        let none = TaggedComponent { tag: component_tag::NULL_TAG, data: Vec::new() };
        mechanisms.push(mechanism(settings, users, is_safe, 0, none));
    }
    if !mechanisms.is_empty() {
        let has_users = users.passwords || users.assertions;
        let stateful = settings.csi_stateful && has_users;
        all.push(CsiSecMechList { stateful, mechanisms }.to_component()?);
    }
    Ok(all)
}

/// The security domain of the users of a server.
pub(crate) fn realm_of_server(settings: &Settings) -> &str {
    if settings.csi_realm.is_empty() { "corbie" } else { &settings.csi_realm }
}

/// `is_safe`: whether passwords may go this way.
fn mechanism(
    settings: &Settings,
    users: UsersTaken,
    is_safe: bool,
    transport_requires: u16,
    transport: TaggedComponent,
) -> CompoundSecMech {
    let mut mechanism = CompoundSecMech {
        target_requires: transport_requires,
        transport,
        authentication: AsContextSec::default(),
        attributes: SasContextSec::default(),
    };
    if users.passwords && is_safe {
        let is_required = settings.csi_users == CsiUsers::Required;
        let target_requires = if is_required { association::ESTABLISH_TRUST_IN_CLIENT } else { 0 };
        mechanism.target_requires |= target_requires;
        mechanism.authentication = AsContextSec {
            target_supports: association::ESTABLISH_TRUST_IN_CLIENT,
            target_requires,
            mechanism: gss::tagged_oid(GSSUP),
            target_name: gssup::exported_name(realm_of_server(settings)).unwrap_or_default(),
        };
    }
    if users.assertions {
        mechanism.attributes = SasContextSec {
            target_supports: association::IDENTITY_ASSERTION,
            target_requires: 0,
            privilege_authorities: Vec::new(),
            naming_mechanisms: [GSSUP, SCOPED_USERNAME].map(gss::tagged_oid).to_vec(),
            identity_types: identity_type::ANONYMOUS | identity_type::PRINCIPAL_NAME,
        };
    }
    mechanism
}

fn of_tls(
    settings: &Settings,
    endpoints: &[Endpoint],
) -> Option<(Option<SslSecTrans>, TlsSecTrans)> {
    let addresses: Vec<Address> = tls_addresses(endpoints).collect();
    let first = addresses.first()?;
    let mut target_supports = association::OF_TLS | association::ESTABLISH_TRUST_IN_TARGET;
    let mut target_requires = association::OF_TLS;
    if settings.tls_clients != TlsClients::None {
        target_supports |= association::ESTABLISH_TRUST_IN_CLIENT;
    }
    if settings.tls_clients == TlsClients::Required {
        target_requires |= association::ESTABLISH_TRUST_IN_CLIENT;
    }
    let plain = endpoints.iter().find_map(|endpoint| match endpoint {
        Endpoint::Tcp { host, .. } => Some(host),
        _ => None,
    });
    if plain.is_some() {
        target_supports |= association::NO_PROTECTION;
        target_requires = association::NO_PROTECTION;
    }
    let host = plain.unwrap_or(&first.host);
    let on_host = addresses.iter().find(|address| address.host == *host);
    let ssl =
        on_host.map(|on_host| SslSecTrans { target_supports, target_requires, port: on_host.port });
    Some((ssl, TlsSecTrans { target_supports, target_requires, addresses }))
}

/// What the server of a reference takes of users, at one of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsersWanted {
    /// User names with passwords, for the realm of this exported name.
    pub(crate) passwords: Option<Vec<u8>>,
    /// Whether a call needs one.
    pub(crate) is_required: bool,
    /// The kinds of identities that may be asserted, as bits.
    pub(crate) identities: u32,
    /// Whether contexts are kept.
    pub(crate) stateful: bool,
    /// Whether no other machine can read what goes there.
    pub(crate) is_safe: bool,
}

impl Profile {
    /// What its server takes of users at `endpoint`: the first mechanism for its transport says so.
    /// `None`: nothing.
    pub(crate) fn users_wanted(&self, endpoint: &Endpoint) -> Option<UsersWanted> {
        let Some(Component::CsiSecMechList(list)) =
            self.component(component_tag::CSI_SEC_MECH_LIST)
        else {
            return None;
        };
        let is_of_endpoint = |mechanism: &&CompoundSecMech| match mechanism.transport.tag {
            component_tag::TLS_SEC_TRANS => is_tls(endpoint),
            component_tag::NULL_TAG => !is_tls(endpoint),
            _ => false,
        };
        let mechanism = list.mechanisms.iter().find(is_of_endpoint)?;
        let of_client = association::ESTABLISH_TRUST_IN_CLIENT;
        let AsContextSec { target_supports, target_requires, mechanism: oid, target_name } =
            &mechanism.authentication;
        let takes = (target_supports | target_requires) & of_client != 0;
        let has_gssup = *oid == gss::tagged_oid(GSSUP);
        let asserts = mechanism.attributes.target_supports & association::IDENTITY_ASSERTION != 0;
        let wanted = UsersWanted {
            passwords: (takes && has_gssup).then(|| target_name.clone()),
            is_required: target_requires & of_client != 0,
            identities: if asserts { mechanism.attributes.identity_types } else { 0 },
            stateful: list.stateful,
            is_safe: !is_plain(endpoint),
        };
        let is_any = wanted.passwords.is_some() || wanted.is_required || asserts;
        is_any.then_some(wanted)
    }
}
