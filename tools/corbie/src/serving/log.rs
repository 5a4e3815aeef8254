//! The log of a server, on standard error: one line an event, as text or as JSON, with nothing in
//! it that a terminal obeys, and few of each kind a minute (`few_lines`).

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, builder::PossibleValuesParser};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::fmt::format::{self, FormatEvent, FormatFields, JsonFields, Writer};
use tracing_subscriber::fmt::{self as lines, FmtContext};
use tracing_subscriber::layer::{Filter, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry};

use super::few_lines::FewLines;
use super::metrics::Limits;
use crate::escapes::{json_line, one_line};
use crate::failure::Failure;

/// The variable that says what `--log` says.
const VARIABLE: &str = "CORBIE_LOG";
/// What is logged where nothing says more: by servers.
const OF_SERVERS: &str = "info";
/// Before the name of a file with the filter.
const FILE: &str = "file:";
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The arguments of a server's log.
pub(super) fn arguments() -> [Arg; 2] {
    arguments_of(OF_SERVERS)
}

/// The arguments of the log of a command, which is `default` where nothing says more.
pub(crate) fn arguments_of(default: &str) -> [Arg; 2] {
    let filter = Arg::new("log")
        .long("log")
        .value_name("LEVEL|FILTER|file:PATH")
        .help(format!(
            "What is logged to standard error: off, error, warn, info, debug, trace, a filter such \
             as `warn,corbie_event=debug`, or a file with one, which SIGHUP has read again \
             [default: CORBIE_LOG, else {default}]"
        ))
        .help_heading("Operation");
    let format = Arg::new("log-format")
        .long("log-format")
        .value_name("FORMAT")
        .value_parser(PossibleValuesParser::new(["text", "json"]))
        .default_value("text")
        .help("How a line of the log looks")
        .help_heading("Operation");
    [filter, format]
}

/// The log of this process.
pub(crate) struct Log {
    /// The file with the filter.
    file: Option<PathBuf>,
    filter: Handle<EnvFilter, Registry>,
    /// How often lines named a setting.
    pub(super) limits: Arc<Limits>,
    /// What bounds the lines.
    pub(super) lines: Arc<FewLines>,
}

impl Log {
    /// Logs from now on what the command line says, or the environment.
    pub(crate) fn start(matches: &ArgMatches) -> Result<Self, Failure> {
        Self::start_at(matches, OF_SERVERS)
    }

    /// The same; where nothing says more, what `default` says.
    pub(crate) fn start_at(matches: &ArgMatches, default: &str) -> Result<Self, Failure> {
        let given = matches.get_one::<String>("log").cloned();
        let given = given.or_else(|| std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()));
        let given = given.unwrap_or_else(|| default.to_owned());
        let file = given.strip_prefix(FILE).map(PathBuf::from);
        let text = match &file {
            None => given,
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| Failure::path("read the filter of the log", path, &error))?,
        };
        let filter = filter(&text).map_err(|why| Failure::usage(format!("--log: {why}")))?;
        let (filter, handle) = reload::Layer::new(filter);
        let few = Arc::new(FewLines::default());
        let written = lines::layer().with_ansi(false).with_writer(std::io::stderr);
        let layer = match matches.get_one::<String>("log-format").map(String::as_str) {
            Some("json") => {
                let format = OneLine {
                    format: format::format().json().flatten_event(true),
                    escape: json_line,
                };
                written.fmt_fields(JsonFields::new()).event_format(format).boxed()
            }
            _ => {
                let format =
                    OneLine { format: format::format().with_ansi(false), escape: one_line };
                written.event_format(format).boxed()
            }
        };
        let limit: Arc<dyn Filter<_> + Send + Sync> = Arc::<FewLines>::clone(&few);
        let layer = layer.with_filter(limit).with_filter(filter);
        let limits: Arc<Limits> = Arc::default();
        let counting = limits.layer().with_filter(LevelFilter::INFO);
        let installed = Registry::default().with(layer).with(counting).try_init();
        installed.map_err(|error| Failure::new(format!("cannot log: {error}")))?;
        few.tell_what_is_left_out()?;
        Ok(Self { file, filter: handle, limits, lines: few })
    }

    /// Reads the filter again, if it is in a file. One that cannot be used changes nothing.
    pub(crate) fn reload(&self) {
        let Some(path) = &self.file else {
            return tracing::info!("SIGHUP: the log's filter is in no file (--log file:PATH)");
        };
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let changed = text
            .and_then(|text| filter(&text))
            .and_then(|filter| self.filter.reload(filter).map_err(|error| error.to_string()));
        let path = path.display();
        match changed {
            Ok(()) => tracing::info!(%path, "SIGHUP: the log's filter was read"),
            Err(error) => tracing::warn!(%path, error, "SIGHUP: the log's filter stays as it was"),
        }
    }
}

/// A level or a filter. A word that is neither would silently be the name of a target.
fn filter(text: &str) -> Result<EnvFilter, String> {
    let text = text.trim();
    let is_word = text.chars().all(char::is_alphanumeric);
    if is_word && !LEVELS.contains(&text.to_lowercase().as_str()) {
        return Err(format!("`{text}` is no level: {}", LEVELS.join(", ")));
    }
    EnvFilter::builder().parse(text).map_err(|error| format!("`{text}` is no filter: {error}"))
}

/// Writes an event as another format does, as one line without what a terminal obeys.
struct OneLine<F> {
    format: F,
    escape: fn(&str) -> String,
}

impl<S, N, F> FormatEvent<S, N> for OneLine<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        writeln!(writer, "{}", (self.escape)(line.strip_suffix('\n').unwrap_or(&line)))
    }
}

#[cfg(test)]
mod tests {
    use super::filter;

    #[test]
    fn levels_and_filters_are_told_from_mistakes() {
        for good in
            ["info", "OFF", "warn,corbie_event=debug", "corbie_core::server=trace", " debug\n"]
        {
            assert!(filter(good).is_ok(), "{good}");
        }
        for bad in ["loud", "corbie=loud", ""] {
            assert!(filter(bad).is_err(), "{bad}");
        }
    }
}
