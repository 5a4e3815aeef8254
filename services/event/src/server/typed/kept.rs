//! What a durable typed channel has of its store: the interfaces that it knows, and its proxies
//! made again when the server is started.
//!
//! Called by `registry`. Proxies are made of what is kept alone: no other
//! process may be there to be asked.

use super::{pull_consumer, pull_supplier, push_consumer, push_supplier};
use crate::channel::PullingConsumer;
use crate::durable::{InterfaceRow, Journal, Progress, ProxyRow};
use crate::interfaces::{InterfaceTable, Keep, Known, Sources, Told, of_octets, to_octets};
use crate::server::administration::ServantContext;
use crate::server::proxies::{self, GiveUp};
use crate::server::proxy::{Flow, Proxy, kept, of_kept};
use corbie::types::InterfaceDescription;
use corbie::{CompletionStatus, Object, Orb, SystemException, minor};
use std::fmt::Display;
use std::sync::Arc;

/// The kind of a typed channel, as it is kept.
pub(in crate::server) const TYPED: &str = "typed";

/// What is handed over with a channel, as it is kept.
///
/// # Errors
/// `BAD_PARAM`, when a description cannot be written.
pub(in crate::server) fn handed_over(
    interfaces: &[InterfaceDescription],
) -> Result<Vec<InterfaceRow>, SystemException> {
    interfaces.iter().map(|interface| row(interface, None, true)).collect()
}

fn row(
    description: &InterfaceDescription,
    definition: Option<&Object>,
    is_handed_over: bool,
) -> Result<InterfaceRow, SystemException> {
    let id = description.id.clone();
    // What could not be read again would keep the server from starting.
    let written = to_octets(description).and_then(|octets| of_octets(&octets).map(|_| octets));
    let description = written.map_err(|error| {
        let text = format!("the description of {id} cannot be kept: {error}");
        SystemException::bad_param(minor::BAD_PARAM_NOT_SENDABLE, CompletionStatus::No)
            .with_detail(text)
    })?;
    let definition = definition.map(kept).unwrap_or_default();
    Ok(InterfaceRow { id, is_handed_over, definition, description })
}

/// What a durable channel knows that has `rows` in its store.
///
/// # Errors
/// `PERSIST_STORE`, when a row cannot be read.
pub(in crate::server) fn known(
    orb: &Orb,
    sources: &Arc<Sources>,
    journal: &Arc<Journal>,
    rows: &[InterfaceRow],
) -> Result<Known, SystemException> {
    let (table, mut told) = (InterfaceTable::default(), Vec::new());
    for row in rows {
        let unreadable = |error: &dyn Display| {
            let text = format!("the store has an interface {} that is no such: {error}", row.id);
            SystemException::persist_store(minor::PERSIST_STORE_FAILED, CompletionStatus::No)
                .with_detail(text)
        };
        let description = of_octets(&row.description).map_err(|error| unreadable(&error))?;
        if row.is_handed_over {
            table.add(description);
            continue;
        }
        let definition = match row.definition.as_str() {
            "" => None,
            text => Some(of_kept(orb, text).map_err(|error| unreadable(&error))?),
        };
        told.push(Told { description: Arc::new(description), definition });
    }
    Ok(Known::new(table, sources).kept(told, keep_in(journal)))
}

fn keep_in(journal: &Arc<Journal>) -> Keep {
    let journal = Arc::clone(journal);
    Box::new(move |Told { description, definition }| {
        let row = row(description, definition.as_ref(), false)?;
        journal.knows(vec![row]).map_err(|error| error.to_exception())
    })
}

/// Makes a proxy of a durable typed channel as it was before the server was started.
///
/// # Errors
/// A sentence.
pub(in crate::server) fn restore(
    place: &Arc<ServantContext>,
    known: &Known,
    id: u64,
    row: &ProxyRow,
    progress: Progress,
) -> Result<(), String> {
    let channel = &place.channel;
    let peer = proxies::peer_of(place, row)?;
    let there = || peer.as_ref().ok_or_else(|| "its other side is not known".to_owned());
    let said = |exception: SystemException| exception.to_string();
    let again = |proxy: &Arc<Proxy>, begin: &dyn Fn(GiveUp) -> Result<Flow, SystemException>| {
        proxy.connect_again(peer.as_ref(), progress, begin).map_err(said)
    };
    let pushed = || known.pushed(&row.interface).map_err(|why| why.to_string());
    let pulled = || known.pulled(&row.interface).map_err(|why| why.to_string());
    match row.kind.as_str() {
        push_consumer::KIND => {
            let interface = pushed()?;
            let (proxy, _) = push_consumer::make(place, &interface, Some(id)).map_err(said)?;
            push_consumer::object_of(&proxy, &interface).map_err(said)?;
            again(&proxy, &|_| Ok(Flow::Pushed))
        }
        push_supplier::KIND => {
            let (interface, peer) = (pushed()?, there()?);
            let (proxy, _) = push_supplier::make(place, &interface, Some(id)).map_err(said)?;
            again(&proxy, &|end| push_supplier::push_to(channel, &interface, peer, None, end))
        }
        pull_supplier::KIND => {
            let interface = pulled()?;
            let (proxy, _) = pull_supplier::make(place, &interface, Some(id)).map_err(said)?;
            pull_supplier::object_of(&proxy, &interface).map_err(said)?;
            again(&proxy, &|end| Ok(Flow::Pulling(PullingConsumer::new(channel, end))))
        }
        pull_consumer::KIND => {
            let (interface, peer) = (pulled()?, there()?);
            let (proxy, _) = pull_consumer::make(place, &interface, Some(id)).map_err(said)?;
            again(&proxy, &|end| pull_consumer::pull_from(channel, &interface, peer, None, end))
        }
        _ => proxies::restore(place, id, row, progress),
    }
}
