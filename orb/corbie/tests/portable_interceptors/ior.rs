//! IOR interceptors: what they add to references, and a POA that one of them refuses.

use super::echo::EchoServant;
use corbie::portable_interceptor::{
    Interceptor, IorInfo, IorInterceptor, OrbInitError, OrbInitInfo, OrbInitializer,
};
use corbie::types::ior::profile_tag;
use corbie::types::{TaggedComponent, minor};
use corbie::{Object, Orb, PoaError, SystemException};
use std::sync::Arc;

/// For all profiles, and for those of IIOP and of unix-domain sockets.
const EVERY: u32 = 0x7e57_0001;
const IIOP: u32 = 0x7e57_0002;
const UNIX: u32 = 0x7e57_0003;

struct Adds(&'static str);

impl Interceptor for Adds {
    fn name(&self) -> &str {
        self.0
    }
}

impl IorInterceptor for Adds {
    fn establish_components(&self, info: &mut IorInfo) {
        let component = |tag| TaggedComponent { tag, data: info.adapter_name().join("/").into() };
        let (every, iiop, unix) = (component(EVERY), component(IIOP), component(UNIX));
        info.add_ior_component(every);
        info.add_ior_component_to_profile(iiop, profile_tag::INTERNET_IOP);
        info.add_ior_component_to_profile(unix, profile_tag::UIOP);
        assert!(self.0 != "panics", "as asked");
    }

    fn components_established(&self, info: &IorInfo) -> Result<(), SystemException> {
        match info.adapter_name().iter().any(|name| name == "refused") {
            true => Err(minor::NO_PERMISSION_ACCESS.no("not that one")),
            false => Ok(()),
        }
    }
}

impl OrbInitializer for Adds {
    fn post_init(&self, info: &mut OrbInitInfo<'_>) -> Result<(), OrbInitError> {
        info.add_ior_interceptor(Arc::new(Adds(self.0)))?;
        assert!(info.add_ior_interceptor(Arc::new(Adds(self.0))).is_err());
        Ok(())
    }
}

/// The tags of ours in each profile, with what they say.
fn added(object: &Object) -> Vec<Vec<(u32, String)>> {
    let profiles = object.ior().profiles.iter().map(|profile| match profile.tag {
        profile_tag::INTERNET_IOP => profile.iiop().unwrap().unwrap().components,
        _ => profile.uiop().unwrap().unwrap().components,
    });
    let ours = |component: TaggedComponent| {
        let text = String::from_utf8(component.data).unwrap();
        (component.tag, text)
    };
    let is_ours = |component: &TaggedComponent| component.tag >> 16 == EVERY >> 16;
    profiles.map(|all| all.into_iter().filter(is_ours).map(ours).collect()).collect()
}

#[test]
fn references_say_what_ior_interceptors_add() {
    for name in ["adds", "panics"] {
        let mut arguments =
            ["-ORBListenEndpoints", "iiop://127.0.0.1:0,uiop://"].map(str::to_owned).to_vec();
        let builder = Orb::builder().arguments(&mut arguments).initializer(Arc::new(Adds(name)));
        let orb = builder.build().unwrap();
        let root = orb.root_poa().unwrap();
        let child = root.create_poa("child", Some(&root.the_poa_manager()), &[]).unwrap();
        for (poa, path) in [(&root, "RootPOA"), (&child, "RootPOA/child")] {
            let object = poa.activate(EchoServant::new().0).unwrap().0;
            let mut found = added(&object);
            found.sort();
            let says = |tag| (tag, path.to_owned());
            assert_eq!(found, [[says(EVERY), says(IIOP)], [says(EVERY), says(UNIX)]]);
        }
        let refused = root.create_poa("refused", None, &[]).unwrap_err();
        let PoaError::System(exception) = refused else { panic!("{refused}") };
        assert_eq!(exception.minor, minor::OBJ_ADAPTER_COMPONENTS_ESTABLISHED);
        assert!(exception.to_string().contains("RootPOA/refused"), "{exception}");
        orb.shutdown(true);
    }
}
