//! The references that this ORB hands out: its endpoints and code sets around an object key
//! (CORBA 3.3 P2 §9.6.2, §9.7.2).

use crate::portable_interceptor::AddedComponent;
use crate::profile::security::UsersTaken;
use crate::profile::{Profile, permits, security};
use crate::server::PublishedProfile;
use crate::{Object, Orb};
use corbie_cdr::{ByteOrder, CodeSets, Limits, Version};
use corbie_settings::TlsProtection;
use corbie_types::ior::{CodeSetComponent, orb_type};
use corbie_types::{
    CodeSetComponentInfo, Ior, SystemException, TaggedComponent, TaggedProfile, minor,
};

impl Orb {
    /// A reference to the object with this key in this process.
    ///
    /// # Errors
    /// As [`Orb::create_protected_reference`].
    pub fn create_reference(
        &self,
        object_key: &[u8],
        type_id: &str,
    ) -> Result<Object, SystemException> {
        self.create_protected_reference(object_key, type_id, TlsProtection::Preferred, &[])
    }

    /// As [`Orb::create_reference`], with those addresses alone that `protection` lets be used, and
    /// the components of [`Orb::establish_components`]. Called by the object adapter.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`) when the ORB was shut down, `OBJ_ADAPTER` when it does not
    /// listen, also when no address is left.
    pub fn create_protected_reference(
        &self,
        object_key: &[u8],
        type_id: &str,
        protection: TlsProtection,
        added: &[AddedComponent],
    ) -> Result<Object, SystemException> {
        if self.is_shut_down() {
            return Err(self.already_shut_down("making a reference"));
        }
        let profiles = self.profiles(object_key, protection, added)?;
        let type_id = type_id.to_owned();
        Ok(Object::new(self, Ior { type_id, profiles }))
    }

    /// A profile for each protocol listened on, the preferred one first.
    fn profiles(
        &self,
        object_key: &[u8],
        protection: TlsProtection,
        added: &[AddedComponent],
    ) -> Result<Vec<TaggedProfile>, SystemException> {
        let published = self.server().published().unwrap_or_default();
        let version = self.settings().giop_version;
        let users = self.users_taken();
        let mut components = Vec::new();
        // CORBA 3.3 P2 §9.7.2: components exist since 1.1.
        if version > Version::V1_0 {
            components.push(TaggedComponent::orb_type(orb_type::CORBIE)?);
            components.push(TaggedComponent::code_sets(&self.code_sets())?);
            let most = self.settings().message_octets_max;
            if most != Limits::DEFAULT.message_octets {
                let most = u32::try_from(most).unwrap_or(u32::MAX);
                components.push(TaggedComponent::message_octets(most)?);
            }
        }
        let mut profiles = Vec::with_capacity(published.len());
        for PublishedProfile { protocol, endpoints } in published {
            let endpoints: Vec<_> =
                endpoints.iter().filter(|one| permits(protection, one)).cloned().collect();
            let mut components = components.clone();
            if version > Version::V1_0 {
                components.extend(security::components(self.settings(), &endpoints, users)?);
            }
            let with = |components| {
                let profile = Profile {
                    protocol: protocol.clone(),
                    version,
                    order: ByteOrder::NATIVE,
                    endpoints: endpoints.clone(),
                    object_key: object_key.to_vec(),
                    components,
                };
                profile.encode()
            };
            if added.is_empty() || version == Version::V1_0 {
                profiles.extend(with(components)?);
                continue;
            }
            components.extend(added.iter().filter_map(|one| one.for_profile(None)));
            // Only its octets tell the tag of a profile.
            if let Some(profile) = with(components.clone())? {
                let own = added.iter().filter_map(|one| one.for_profile(Some(profile.tag)));
                components.extend(own);
                profiles.extend(with(components)?);
            }
        }
        if profiles.is_empty() {
            return Err(minor::OBJ_ADAPTER_NO_ENDPOINT.no("the ORB does not listen on any address"));
        }
        Ok(profiles)
    }

    /// Which evidence of users is taken, as references say.
    fn users_taken(&self) -> UsersTaken {
        if !self.has_users() {
            return UsersTaken::default();
        }
        let (_, terms) = self.server().csi.terms();
        UsersTaken {
            passwords: terms.passwords.is_some(),
            assertions: !terms.assertions.is_empty(),
        }
    }

    /// Whether references have an address that `protection` lets be used.
    #[must_use]
    pub fn has_address_for(&self, protection: TlsProtection) -> bool {
        let published = self.server().published().unwrap_or_default();
        published.iter().flat_map(|one| &one.endpoints).any(|one| permits(protection, one))
    }

    /// The code sets that this ORB speaks.
    fn code_sets(&self) -> CodeSetComponentInfo {
        let settings = self.settings();
        let with_native = |component: CodeSetComponent, native| {
            let others = std::iter::once(component.native).chain(component.conversion);
            let conversion = others.filter(|code_set| *code_set != native).collect();
            CodeSetComponent { native, conversion }
        };
        let all = CodeSetComponentInfo::corbie();
        CodeSetComponentInfo {
            for_char_data: with_native(all.for_char_data, settings.native_char_code_set),
            for_wchar_data: with_native(all.for_wchar_data, settings.native_wchar_code_set),
        }
    }

    /// The code sets for connections to a server that announces `server`.
    ///
    /// # Errors
    /// `CODESET_INCOMPATIBLE` (`COMPLETED_NO`).
    pub(crate) fn negotiate_code_sets(
        &self,
        server: &CodeSetComponentInfo,
    ) -> Result<CodeSets, SystemException> {
        let negotiated = self.code_sets().negotiate(Some(server));
        negotiated.map_err(|none_in_common| {
            let minor = minor::CODESET_INCOMPATIBLE_NEGOTIATION;
            minor.no(none_in_common.to_string())
        })
    }
}
