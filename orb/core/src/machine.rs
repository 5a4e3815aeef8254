//! Which machine this is: profiles of protocols that stay within a machine say for which one they
//! are, so that a path in a reference from elsewhere does not lead to another server's socket here.
//!
//! The identity is that of the running system (`boot_id` of Linux); it changes when the machine is
//! started again, as do its sockets. Where there is none, nothing is said and nothing is checked.

use corbie_types::TaggedComponent;
use corbie_types::ior::component_tag;
use std::sync::LazyLock;

static IDENTITY: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().as_bytes().to_vec()).filter(|identity| !identity.is_empty())
});

/// What a profile of this machine says.
pub(crate) fn component() -> Option<TaggedComponent> {
    let data = IDENTITY.clone()?;
    Some(TaggedComponent { tag: component_tag::CORBIE_MACHINE, data })
}

/// Whether a profile with these components is of this machine, or does not say: that of another
/// ORB.
pub(crate) fn is_this(components: &[TaggedComponent]) -> bool {
    let said = components.iter().find(|c| c.tag == component_tag::CORBIE_MACHINE);
    match (said, &*IDENTITY) {
        (Some(said), Some(identity)) => said.data == *identity,
        _ => true,
    }
}
