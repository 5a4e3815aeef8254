//! How often a setting stood in the way: lines of the log that name one in the field `setting`.
//!
//! So each refusal is a line and a metric at once. Counted whether or not the line is written.

use std::fmt;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

type Label = [(&'static str, String); 1];

/// See the module.
#[derive(Default)]
pub(in crate::serving) struct Limits {
    reached: Family<Label, Counter>,
    lines: Family<Label, Counter>,
}

impl Limits {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Times that a setting stood in the way: a peer was refused, or had to wait";
        registry.register("corbie_limit_reached", help, self.reached.clone());
        let help = "Lines of the log of this level, written or not";
        registry.register("corbie_log_lines", help, self.lines.clone());
    }

    pub(in crate::serving) fn layer<S: Subscriber>(&self) -> impl Layer<S> + use<S> {
        Counting { reached: self.reached.clone(), lines: self.lines.clone() }
    }
}

struct Counting {
    reached: Family<Label, Counter>,
    lines: Family<Label, Counter>,
}

impl<S: Subscriber> Layer<S> for Counting {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = event.metadata().level().as_str().to_lowercase();
        self.lines.get_or_create(&[("level", level)]).inc();
        if event.metadata().fields().field("setting").is_some() {
            let mut setting = Setting(None);
            event.record(&mut setting);
            if let Some(setting) = setting.0 {
                self.reached.get_or_create(&[("setting", setting)]).inc();
            }
        }
    }
}

struct Setting(Option<String>);

impl Visit for Setting {
    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "setting" {
            self.0 = Some(value.to_owned());
        }
    }
}
