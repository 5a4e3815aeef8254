//! `corbie top`: what a server does, live in the terminal: from its metrics, or, of an event
//! server, from its factory.

mod scrape;
mod view;

use std::io::Write;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command};
use corbie_event::corbie_events::EventChannelFactory;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;

use crate::failure::Failure;
use crate::session::{self, Session};
use scrape::Page;
use view::{Section, View};

/// The frame that `--once` prints.
const FRAME: Rect = Rect::new(0, 0, 100, 30);

pub(super) fn table() -> Command {
    Command::new("top")
        .about("Shows what a server does, live")
        .arg(session::reference().required(false).required_unless_present("metrics"))
        .arg(
            Arg::new("metrics")
                .long("metrics")
                .value_name("URL")
                .conflicts_with("reference")
                .help("The metrics of a server: http://HOST:PORT/metrics, or HOST:PORT"),
        )
        .arg(session::interval("Between two looks", session::some_seconds))
        .arg(
            Arg::new("once")
                .long("once")
                .action(ArgAction::SetTrue)
                .help("Print one frame, after one interval, and end"),
        )
        .args(session::arguments())
        .after_help(
            "The reference is that of an event server (its EventChannelFactory), or of any object, \
             which is asked whether it exists. `q` ends it.\n\n\
             Example: corbie top --metrics localhost:9464\n         \
             corbie top corbaloc::localhost:2810/EventChannelFactory",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let interval = session::interval_of(matches);
    let mut source = Watched::of(matches)?;
    let first = source.look()?;
    if !matches.get_flag("once") {
        return show(source, first, interval);
    }
    std::thread::sleep(interval);
    let view = source.look()?;
    let mut buffer = Buffer::empty(FRAME);
    view.render(FRAME, &mut buffer);
    for row in buffer.content().chunks(FRAME.width.into()) {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        writeln!(output, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Draws until `q` or Ctrl-C.
fn show(mut source: Watched, mut view: View, interval: Duration) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot use the terminal: {error}"));
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let ended = loop {
        if let Err(error) = terminal.draw(|frame| frame.render_widget(&view, frame.area())) {
            break Err(failed(error));
        }
        let due = Instant::now() + interval;
        match wait_for_end(due) {
            Ok(true) => break Ok(()),
            Ok(false) => {}
            Err(error) => break Err(failed(error)),
        }
        match source.look() {
            Ok(next) => view = next,
            Err(failure) => view.trouble = Some(failure.to_string()),
        }
    };
    ratatui::restore();
    ended
}

/// Whether it is to end: asked until `due`.
fn wait_for_end(due: Instant) -> std::io::Result<bool> {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if !event::poll(left)? {
            return Ok(false);
        }
        if let Event::Key(key) = event::read()? {
            let is_break = key.modifiers == KeyModifiers::CONTROL && key.code == KeyCode::Char('c');
            if is_break || key.code == KeyCode::Char('q') {
                return Ok(true);
            }
        } else if left.is_zero() {
            return Ok(false);
        }
    }
}

/// Where it looks.
enum Watched {
    Metrics {
        place: String,
        before: Option<(Instant, Page)>,
    },
    Object {
        session: Session,
        object: corbie::Object,
        url: String,
        before: Option<(Instant, Page)>,
    },
}

impl Watched {
    fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        if let Some(url) = matches.get_one::<String>("metrics") {
            let place = url.trim_start_matches("http://").trim_end_matches("/metrics");
            return Ok(Self::Metrics { place: place.to_owned(), before: None });
        }
        let session = Session::start(matches)?;
        let url = session::reference_text(matches)?;
        let object = session.resolve(&url)?;
        Ok(Self::Object { session, object, url, before: None })
    }

    /// What is to be seen now; rates are those since the last look.
    fn look(&mut self) -> Result<View, Failure> {
        let now = Instant::now();
        let (title, page, answered, before) = match self {
            Watched::Metrics { place, before } => {
                (place.clone(), scrape::fetch(place)?, None, before)
            }
            Watched::Object { session, object, url, before } => {
                session::exists(object).map_err(|why| session::unusable(url, &why))?;
                let answered = now.elapsed();
                let page = of_factory(session, object)?;
                (url.chars().take(60).collect(), page, Some(answered), before)
            }
        };
        let since = before.replace((now, page.clone()));
        let passed = since.as_ref().map(|(then, _)| now.duration_since(*then));
        let rate = |name: &str, label: &str| {
            let (passed, (_, old)) = (passed?.as_secs_f64(), since.as_ref()?);
            Some((page.sum(name, label) - old.sum(name, label)) / passed)
        };
        let mut facts = page.facts();
        if let Some(answered) = answered {
            facts.push(("answers in", format!("{:.3} ms", answered.as_secs_f64() * 1e3)));
        }
        let sections = vec![
            Section::requests(&page, &rate),
            Section::channels(&page, &rate),
            Section::limits(&page),
        ];
        Ok(View { title, facts, sections, trouble: None })
    }
}

/// The counters of an event server as metrics; none of another object.
fn of_factory(session: &Session, object: &corbie::Object) -> Result<Page, Failure> {
    let mut page = Page::default();
    let factory = corbie::Object::new(session.orb(), object.ior().clone());
    let factory = EventChannelFactory::unchecked_narrow(factory);
    let Ok(names) = factory.list() else { return Ok(page) };
    for name in names {
        let Ok(counters) = factory.statistics(&name) else { continue };
        let sum = |of: fn(&corbie_event::corbie_events::ConsumerCounters) -> u64| {
            counters.consumers.iter().map(of).sum::<u64>()
        };
        let longest = counters.consumers.iter().map(|consumer| consumer.queued).max();
        for (metric, value) in [
            ("corbie_event_received_total", counters.received),
            ("corbie_event_delivered_total", sum(|consumer| consumer.delivered)),
            ("corbie_event_dropped_total", sum(|consumer| consumer.dropped)),
            ("corbie_event_longest_queue", longest.unwrap_or(0)),
            ("corbie_event_consumers", counters.consumers.len() as u64),
        ] {
            page.add(metric, &[("channel", &name)], value as f64);
        }
    }
    Ok(page)
}
