//! The paper's "non-CORBA" base: all components in one process, which call each other's functions.
//!
//! Used by `system.rs`; the components are the same, only [`Peers`] finds them here.

use super::component;
use super::options::LoadOptions;
use super::system::names;
use crate::driver::Failure;
use corbie_mshn::messages::Component;
use corbie_mshn::node::Kind;
use corbie_mshn::{DaemonOptions, Peers, StatusOptions};
use std::sync::Arc;
use std::time::Duration;

/// Components of this process; they end when this is dropped.
pub(super) struct LocalComponents {
    peers: Peers,
    components: Vec<Arc<dyn Component>>,
}

impl LocalComponents {
    /// As many of each as the options say.
    ///
    /// # Errors
    /// When a store cannot be made.
    pub(super) fn start(options: &LoadOptions, pause: Duration) -> Result<Self, Failure> {
        let mut local = Self { peers: Peers::local(), components: Vec::new() };
        for name in names('s', options.servers) {
            local.join(&Kind::StatusServer(StatusOptions::default()), &name)?;
        }
        for name in names('r', options.servers) {
            local.join(&Kind::RequirementDatabase, &name)?;
        }
        for name in names('a', options.advisors) {
            local.join(&Kind::Advisor(component::advisor(&name, pause)), &name)?;
        }
        local.join(&Kind::Daemon(DaemonOptions::new(super::MACHINE)), super::MACHINE)?;
        Ok(local)
    }

    fn join(&mut self, kind: &Kind, name: &str) -> Result<(), Failure> {
        let component = kind.component(None, &self.peers)?;
        self.peers.register(kind.role(), name, &component);
        self.components.push(component);
        Ok(())
    }

    /// The components.
    pub(super) fn peers(&self) -> &Peers {
        &self.peers
    }
}
