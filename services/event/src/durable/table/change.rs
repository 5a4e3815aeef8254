//! The changes that can be made to the table, several in one transaction.
//!
//! Asked for by `Table::change`, which puts those together that come at the same time.

use super::rows::{ChannelRow, InterfaceRow, Progress, ProxyRow};
use super::{CHANNELS, INTERFACES, PROGRESS, PROXIES};
use corbie_store::redb::{self, ReadableTable as _, WriteTransaction};

/// One change.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A channel was made, which knows these.
    Made { channel: u64, row: ChannelRow, interfaces: Vec<InterfaceRow> },
    /// A typed channel knows these, too.
    Knows { channel: u64, interfaces: Vec<InterfaceRow> },
    /// A channel was destroyed, and all that is its.
    Destroyed { channel: u64 },
    /// A proxy was connected. Suppliers have no progress.
    Connected { channel: u64, proxy: u64, row: ProxyRow, progress: Option<Progress> },
    /// Proxies have ended.
    Ended { channel: u64, proxies: Vec<u64> },
    /// Consumers are further than they were.
    Progressed(Vec<((u64, u64), Progress)>),
}

/// Makes the changes.
pub(super) fn make(transaction: &WriteTransaction, changes: &[Change]) -> Result<(), redb::Error> {
    let mut channels = transaction.open_table(CHANNELS)?;
    let mut proxies = transaction.open_table(PROXIES)?;
    let mut progress = transaction.open_table(PROGRESS)?;
    let mut known = transaction.open_table(INTERFACES)?;
    for change in changes {
        match change {
            Change::Made { channel, row, interfaces } => {
                channels.insert(channel, row.value())?;
                for interface in interfaces {
                    known.insert((*channel, interface.id.as_str()), interface.value())?;
                }
            }
            Change::Knows { channel, interfaces } => {
                // Of one that was destroyed meanwhile nothing is to be left.
                let interfaces = match channels.get(channel)? {
                    Some(_) => &interfaces[..],
                    None => &[],
                };
                for interface in interfaces {
                    known.insert((*channel, interface.id.as_str()), interface.value())?;
                }
            }
            Change::Destroyed { channel } => {
                channels.remove(channel)?;
                let all = (*channel, 0)..=(*channel, u64::MAX);
                proxies.retain_in(all.clone(), |_, _| false)?;
                progress.retain_in(all, |_, _| false)?;
                known.retain_in((*channel, "")..(channel + 1, ""), |_, _| false)?;
            }
            Change::Connected { channel, proxy, row, progress: begins } => {
                // As above: a client that connects learns from the proxy that it has ended.
                if channels.get(channel)?.is_none() {
                    continue;
                }
                proxies.insert((*channel, *proxy), row.value())?;
                if let Some(begins) = begins {
                    progress.insert((*channel, *proxy), begins.value())?;
                }
            }
            Change::Ended { channel, proxies: ended } => {
                for proxy in ended {
                    proxies.remove((*channel, *proxy))?;
                    progress.remove((*channel, *proxy))?;
                }
            }
            Change::Progressed(all) => {
                for (key, further) in all {
                    // A proxy that has ended meanwhile is not to come back.
                    if proxies.get(key)?.is_some() {
                        progress.insert(key, further.value())?;
                    }
                }
            }
        }
    }
    Ok(())
}
