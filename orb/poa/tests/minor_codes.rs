//! What a servant raises when it passes a failure of its POA on: each with a minor code of its own.

use corbie_core::Orb;
use corbie_poa::{PoaCurrent, PoaError, RootPoa};
use corbie_settings::Settings;
use corbie_types::{CompletionStatus, SystemException, minor};

#[test]
fn failures_of_a_poa_have_codes() {
    let orb = Orb::new(Settings::default());
    let root = RootPoa::attach(&orb).unwrap();
    let missing = root.find_poa("missing", false).unwrap_err();
    assert!(matches!(missing, PoaError::AdapterNonExistent(_)));
    let refused = SystemException::from(missing);
    assert_eq!(
        (refused.minor, refused.completed),
        (minor::OBJ_ADAPTER_REFUSED, CompletionStatus::No)
    );

    let child = root.create_poa("child", None, &[]).unwrap();
    child.destroy(false, true).unwrap();
    let destroyed = child.create_reference("IDL:T:1.0").unwrap_err();
    assert_eq!(destroyed, PoaError::Destroyed);
    assert_eq!(SystemException::from(destroyed).minor, minor::OBJECT_NOT_EXIST_POA_DESTROYED);

    let full = SystemException::from(PoaError::Full);
    assert_eq!(full.minor, minor::NO_RESOURCES_POA_FULL);

    let outside = SystemException::from(PoaCurrent.get_poa().unwrap_err());
    assert_eq!(outside.minor, minor::BAD_INV_ORDER_NO_UPCALL);

    let factory = root.the_poa_manager_factory();
    factory.create_poa_manager("one", &[]).unwrap();
    let twice = factory.create_poa_manager("one", &[]).unwrap_err();
    assert_eq!(SystemException::from(twice).minor, minor::BAD_PARAM_ARGUMENT);
    let second = RootPoa::attach(&orb).unwrap_err();
    assert_eq!(second.minor, minor::BAD_INV_ORDER_ADAPTER_EXISTS);
    orb.shutdown(false);
}

#[test]
fn an_orb_that_listens_nowhere_makes_no_references() {
    let mut settings = Settings::default();
    settings.listen_endpoints.clear();
    let orb = Orb::new(settings);
    let refused = orb.create_reference(b"key", "IDL:T:1.0").unwrap_err();
    assert_eq!(refused.minor, minor::OBJ_ADAPTER_NO_ENDPOINT);
    orb.shutdown(false);
}
