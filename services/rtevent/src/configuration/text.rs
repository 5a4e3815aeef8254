//! The settings of a channel as text: one table of names, with how each is read and written. Used
//! by `Configuration::of` and `Configuration::settings`.

use super::{
    BadConfiguration, CollectionStrategy, Configuration, Dispatching, Observers, Preset,
    Reconnection,
};
use crate::filter::Form;
use crate::routes::SupplierFilter;
use corbie_event::Overflow;
use std::str::FromStr;
use std::time::Duration;

/// Words of a setting and what they stand for.
type Words<T> = &'static [(&'static str, T)];

const PRESETS: Words<Preset> = &[
    ("latency", Preset::Latency),
    ("throughput", Preset::Throughput),
    ("predictable", Preset::Predictable),
    ("small", Preset::Small),
];
const FORMS: Words<Form> =
    &[("either", Form::Either), ("basic", Form::Basic), ("prefix", Form::Prefix)];
const SUPPLIER_FILTERS: Words<SupplierFilter> = &[
    ("per-supplier", SupplierFilter::PerSupplier),
    ("per-type", SupplierFilter::PerType),
    ("global", SupplierFilter::Global),
];
const COLLECTIONS: Words<CollectionStrategy> = &[
    ("immediate", CollectionStrategy::Immediate),
    ("copy-on-read", CollectionStrategy::CopyOnRead),
    ("copy-on-write", CollectionStrategy::CopyOnWrite),
    ("delayed", CollectionStrategy::Delayed { visits: DELAYED_VISITS }),
];
const DISPATCHINGS: Words<Dispatching> = &[
    ("reactive", Dispatching::Reactive),
    ("pool", Dispatching::Pool { threads: POOL_THREADS }),
    ("per-consumer", Dispatching::PerConsumer),
];
const RECONNECTIONS: Words<Reconnection> =
    &[("refused", Reconnection::Refused), ("allowed", Reconnection::Allowed)];
const OBSERVERS: Words<Observers> = &[("refused", Observers::Refused), ("told", Observers::Told)];
const OVERFLOWS: Words<Overflow> = &[
    ("drop-oldest", Overflow::DropOldest),
    ("drop-newest", Overflow::DropNewest),
    ("block-supplier", Overflow::BlockSupplier),
    ("disconnect", Overflow::Disconnect),
];
const DELAYED_VISITS: u32 = 32;
const POOL_THREADS: usize = 4;

/// A setting: its name, how it is read, and how it is written; none where it does not apply.
struct Row {
    name: &'static str,
    set: fn(&mut Configuration, &str, &str) -> Result<(), BadConfiguration>,
    get: fn(&Configuration) -> Option<String>,
}

const ROWS: &[Row] = &[
    Row {
        name: "filtering",
        set: |c, name, value| word(FORMS, name, value).map(|form| c.filtering = form),
        get: |c| said(FORMS, &c.filtering),
    },
    Row {
        name: "supplier-filter",
        set: |c, name, value| word(SUPPLIER_FILTERS, name, value).map(|f| c.supplier_filter = f),
        get: |c| said(SUPPLIER_FILTERS, &c.supplier_filter),
    },
    Row {
        name: "collection",
        set: |c, name, value| word(COLLECTIONS, name, value).map(|s| c.collection = s),
        get: |c| match c.collection {
            CollectionStrategy::Delayed { .. } => Some("delayed".to_owned()),
            other => said(COLLECTIONS, &other),
        },
    },
    Row {
        name: "delayed-visits",
        set: |c, name, value| match &mut c.collection {
            CollectionStrategy::Delayed { visits } => number(name, value).map(|n| *visits = n),
            _ => Err(only_with(name, "collection=delayed")),
        },
        get: |c| match c.collection {
            CollectionStrategy::Delayed { visits } => Some(visits.to_string()),
            _ => None,
        },
    },
    Row {
        name: "dispatching",
        set: |c, name, value| word(DISPATCHINGS, name, value).map(|d| c.dispatching = d),
        get: |c| match c.dispatching {
            Dispatching::Pool { .. } => Some("pool".to_owned()),
            other => said(DISPATCHINGS, &other),
        },
    },
    Row {
        name: "threads",
        set: |c, name, value| match &mut c.dispatching {
            Dispatching::Pool { threads } => number(name, value).map(|n| *threads = n),
            _ => Err(only_with(name, "dispatching=pool")),
        },
        get: |c| match c.dispatching {
            Dispatching::Pool { threads } => Some(threads.to_string()),
            _ => None,
        },
    },
    Row {
        name: "reconnect",
        set: |c, name, value| word(RECONNECTIONS, name, value).map(|r| c.reconnection = r),
        get: |c| said(RECONNECTIONS, &c.reconnection),
    },
    Row {
        name: "observers",
        set: |c, name, value| word(OBSERVERS, name, value).map(|o| c.observers = o),
        get: |c| said(OBSERVERS, &c.observers),
    },
    Row {
        name: "when-full",
        set: |c, name, value| word(OVERFLOWS, name, value).map(|o| c.queue.when_full = o),
        get: |c| said(OVERFLOWS, &c.queue.when_full),
    },
    Row {
        name: "queue-events",
        set: |c, name, value| number(name, value).map(|n| c.queue.queue_events = n),
        get: |c| Some(c.queue.queue_events.to_string()),
    },
    Row {
        name: "queue-octets",
        set: |c, name, value| number(name, value).map(|n| c.queue.queue_octets = n),
        get: |c| Some(c.queue.queue_octets.to_string()),
    },
    Row {
        name: "window",
        set: |c, name, value| number(name, value).map(|n| c.queue.window = n),
        get: |c| Some(c.queue.window.to_string()),
    },
    Row {
        name: "push-timeout",
        set: |c, name, value| millis(name, value).map(|time| c.queue.push_timeout = time),
        get: |c| Some(c.queue.push_timeout.as_millis().to_string()),
    },
    Row {
        name: "give-up-after",
        set: |c, name, value| millis(name, value).map(|time| c.queue.give_up_after = time),
        get: |c| Some(c.queue.give_up_after.as_millis().to_string()),
    },
];

pub(super) fn set(
    configuration: &mut Configuration,
    name: &str,
    value: &str,
) -> Result<(), BadConfiguration> {
    match ROWS.iter().find(|row| row.name == name) {
        Some(row) => (row.set)(configuration, name, value),
        None => {
            let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
            let names = names.join(", ");
            Err(BadConfiguration(format!("there is no setting `{name}`; there is preset, {names}")))
        }
    }
}

pub(super) fn settings(configuration: &Configuration) -> Vec<String> {
    let written = |row: &Row| Some(format!("{}={}", row.name, (row.get)(configuration)?));
    ROWS.iter().filter_map(written).collect()
}

fn word<T: Copy>(words: Words<T>, name: &str, value: &str) -> Result<T, BadConfiguration> {
    let found = words.iter().find(|(word, _)| *word == value);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        BadConfiguration(format!("{name} is `{value}`; it is one of {}", all.join(", ")))
    })
}

fn said<T: PartialEq>(words: Words<T>, meaning: &T) -> Option<String> {
    words.iter().find(|(_, other)| other == meaning).map(|(word, _)| (*word).to_owned())
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, BadConfiguration> {
    value.parse().map_err(|_| BadConfiguration(format!("{name} is `{value}`; it is a number")))
}

fn millis(name: &str, value: &str) -> Result<Duration, BadConfiguration> {
    number(name, value).map(Duration::from_millis)
}

fn only_with(name: &str, other: &str) -> BadConfiguration {
    BadConfiguration(format!("{name} belongs to {other}, which has to come before it"))
}

impl FromStr for Preset {
    type Err = BadConfiguration;

    fn from_str(value: &str) -> Result<Self, BadConfiguration> {
        word(PRESETS, "preset", value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (_, preset) in PRESETS {
            let configuration = Configuration::preset(*preset);
            assert_eq!(configuration.check(), Ok(()));
            assert_eq!(Configuration::of(configuration.settings()), Ok(configuration));
        }
        for (word, _) in PRESETS {
            assert!(Configuration::of([format!("preset={word}")]).is_ok(), "{word}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_reason() {
        let refused = [
            (vec!["colection=delayed"], "there is no setting `colection`"),
            (vec!["collection"], "not NAME=VALUE"),
            (vec!["collection=fast"], "one of immediate"),
            (vec!["collection=immediate"], "dispatching=pool"),
            (vec!["threads=2"], "belongs to dispatching=pool"),
            (vec!["dispatching=pool", "threads=0"], "from 1 to 256"),
            (vec!["dispatching=pool", "threads=many"], "it is a number"),
            (vec!["collection=delayed", "delayed-visits=0"], "at least 1"),
            (vec!["window=0"], "window is from 1"),
            (vec!["observers=told", "preset=small"], "preset comes before"),
        ];
        for (settings, why) in refused {
            let said = Configuration::of(&settings).expect_err("it cannot be").0;
            assert!(said.contains(why), "{settings:?}: {said}");
        }
    }
}
