//! `corbie top`: one frame of an event server, by its metrics and by its reference; and the live
//! view in a terminal, tmux's, whose screens the book shows. `cargo xtask captures` writes them.

mod process;
mod served;

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use corbie::Orb;
use corbie_event::corbie_events::EventChannelFactory;
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_testkit::servers::{ScratchFolder, free_port};
use process::corbie;
use served::{PATIENCE, Served, command};

/// The cells of the row that begins with this word, under the row of heads that begins with `head`.
fn row(frame: &str, head: &str, name: &str) -> Vec<String> {
    let below = frame.lines().skip_while(|line| !line.starts_with(head));
    let row = below.skip(1).find(|line| line.starts_with(name));
    let row = row.unwrap_or_else(|| panic!("no row {name} below {head}: {frame}"));
    row.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_frame_has_operations_channels_and_limits() {
    let (listen, metrics) =
        (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let serve = ["events", "serve", "--listen", &listen, "--channel", "prices"];
    let serve = [&serve[..], &["--metrics", &metrics]].concat();
    let served = Served::start(&serve);
    for _ in 0..3 {
        let pushed = corbie(&["events", "push", "prices", "1", "-f", &listen]);
        assert_eq!(pushed.status, 0, "{pushed:?}");
    }
    let by_metrics = ["top", "--once", "--interval", "0.05", "--metrics", &metrics];
    let outcome = corbie(&by_metrics);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let frame = outcome.stdout;
    assert!(frame.starts_with(&format!("corbie top   {metrics}\nconnections ")), "{frame}");
    let push = row(&frame, "operation", "push ");
    assert_eq!(push[2..4], ["3", "0"], "{frame}");
    assert_eq!(row(&frame, "channel", "prices")[3..], ["0", "0", "0"], "{frame}");

    let factory = format!("corbaloc::{listen}/EventChannelFactory");
    let outcome = corbie(&["top", &factory, "--once", "--interval", "0.05"]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert_eq!(row(&outcome.stdout, "channel", "prices").len(), 6, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("answers in "), "{}", outcome.stdout);

    served.ends_in_peace();
    let outcome = corbie(&by_metrics);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("was it started with --metrics?"), "{outcome:?}");
}

/// A terminal of tmux, with a tmux of its own, in which a command runs.
struct Terminal {
    /// Where the socket of that tmux is.
    folder: ScratchFolder,
}

impl Terminal {
    /// `None`, and a line that says so, where there is no tmux.
    fn start(name: &str, arguments: &[&str]) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            let what = "tmux (Debian package tmux): the live view of `corbie top` is not looked at";
            let _ = writeln!(std::io::stderr(), "missing: {what}");
            return None;
        }
        let terminal = Self { folder: ScratchFolder::new(name) };
        let mut new = terminal.tmux(&["new-session", "-d", "-x", "100", "-y", "30"]);
        new.arg(env!("CARGO_BIN_EXE_corbie")).args(arguments);
        let begun = new.output().expect("tmux runs");
        assert!(begun.status.success(), "{begun:?}");
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", "corbie", "-f", "/dev/null"]).args(arguments);
        command.env("TMUX_TMPDIR", self.folder.path()).env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.tmux(arguments).output().expect("tmux runs")
    }

    /// What is on the screen, without the empty lines at its end.
    fn screen(&self) -> String {
        let output = self.run(&["capture-pane", "-p"]);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned() + "\n"
    }

    /// Presses `q`, and waits until the command has ended, and tmux with it.
    fn quit(self) {
        self.run(&["send-keys", "q"]);
        let end = Instant::now() + PATIENCE;
        while self.run(&["has-session"]).status.success() {
            assert!(Instant::now() < end, "it does not end: {}", self.screen());
            pause();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).output();
    }
}

/// Leaves the processor to others.
fn pause() {
    // tidy: sleep: between two looks at a screen, and between two events
    thread::sleep(Duration::from_millis(10));
}

/// Pushes events all the time.
struct Load {
    push: Child,
    is_over: Arc<AtomicBool>,
    writing: Option<JoinHandle<()>>,
}

impl Load {
    fn on(channel: &str, listen: &str) -> Self {
        let mut push = command(&["events", "push", channel, "-", "-f", listen])
            .stdin(Stdio::piped())
            .spawn()
            .expect("the binary was built with the test");
        let mut events = push.stdin.take().expect("piped");
        let is_over: Arc<AtomicBool> = Arc::default();
        let ends = Arc::clone(&is_over);
        let writing = thread::spawn(move || {
            while !ends.load(Ordering::Acquire) && writeln!(events, "42\n43\n44").is_ok() {
                pause();
            }
        });
        Self { push, is_over, writing: Some(writing) }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(writing) = self.writing.take() {
            let _ = writing.join();
        }
        let _ = self.push.kill();
        let _ = self.push.wait();
    }
}

/// What a screen shows but for its numbers, line by line.
fn form(screen: &str) -> Vec<String> {
    fn plain(word: &str) -> &str {
        if word.starts_with(|c: char| c.is_ascii_digit()) { "#" } else { word }
    }
    let line = |line: &str| line.split_whitespace().map(plain).collect::<Vec<_>>().join(" ");
    let mut lines: Vec<String> = screen.lines().map(line).collect();
    lines.iter_mut().for_each(|line| {
        if let Some((begin, key)) = line.split_once("corbaloc::") {
            let key = key.split_once('/').map_or("", |(_, key)| key);
            *line = format!("{begin}corbaloc::#/{key}");
        }
    });
    lines
}

/// Waits until the terminal shows what it has to; the screen then.
fn shows(terminal: &Terminal, is_shown: impl Fn(&str) -> bool) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let screen = terminal.screen();
        if is_shown(&screen) {
            return screen;
        }
        assert!(Instant::now() < end, "it does not come to show it: {screen}");
        pause();
    }
}

/// The screens of the book are of the form that there is today; with `CORBIE_UPDATE` they are
/// written.
#[test]
fn the_screens_in_the_book_are_those_of_a_server_under_load() {
    let listen = format!("127.0.0.1:{}", free_port());
    let serve = ["events", "serve", "--listen", &listen, "--channel", "prices"];
    let mut served = Served::start(&[&serve[..], &["--metrics", "127.0.0.1:0"]].concat());
    let line = served.says(&["INFO", "serving metrics"]);
    let metrics = line.split('"').nth(1).expect("a URL").to_owned();
    let made = corbie(&["events", "create", "orders", "--queue-events", "20", "-f", &listen]);
    assert_eq!(made.status, 0, "{made:?}");
    // A consumer that pulls nothing, so that its queue is full, and one that takes all.
    let orb = Orb::init(["-ORBId", "client"]).expect("an ORB");
    let url = format!("corbaloc::{listen}/EventChannelFactory");
    let factory = orb.string_to_object(&url).expect("a reference");
    let orders = EventChannelFactory::unchecked_narrow(factory).find("orders");
    let orders = orders.expect("an answer").expect("not nil").as_object().ior().clone();
    let orders = EventChannel::unchecked_narrow(corbie::Object::new(&orb, orders));
    let admin = orders.for_consumers().expect("an answer").expect("not nil");
    let idle = admin.obtain_pull_supplier().expect("an answer").expect("not nil");
    idle.connect_pull_consumer(None).expect("connected");
    let _tail = Served::beginning(&["events", "tail", "prices", "-f", &listen]);
    let _load = [Load::on("prices", &listen), Load::on("orders", &listen)];
    served.says(&["a queue is half full or more"]);
    let by_metrics = ["top", "--interval", "0.2", "--metrics", &metrics];
    let by_reference = ["top", "--interval", "0.2", &url];
    let views =
        [("top-metrics.txt", &by_metrics[..], true), ("top-reference.txt", &by_reference, false)];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/captures");
    for (file, arguments, has_operations) in views {
        let Some(terminal) = Terminal::start("top-terminal", arguments) else { return };
        // Two looks are over, all clients are there, and events come and go.
        let is_shown = |screen: &str| {
            let row = |name: &str| {
                let row = screen.lines().find(|line| line.starts_with(name));
                row.map(|row| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            };
            let moves = |row: Option<Vec<String>>, cell: usize| {
                row.and_then(|row| row.get(cell)?.parse().ok()).is_some_and(|rate: f64| rate > 0.0)
            };
            let flows = moves(row("prices "), 1) && moves(row("prices "), 2);
            let is_full = moves(row("orders "), 4);
            let operations = ["push ", "pull "].iter().all(|name| moves(row(name), 1));
            let limits = screen.contains("queue_events");
            flows && is_full && (!has_operations || (operations && limits))
        };
        let screen = shows(&terminal, is_shown);
        if std::env::var_os("CORBIE_UPDATE").is_some() {
            std::fs::write(folder.join(file), &screen).expect("written");
        }
        let kept = std::fs::read_to_string(folder.join(file)).expect("it is in the book");
        // A loaded machine may show a row more.
        let (now, kept) = (form(&screen), form(&kept));
        let stale: Vec<_> = kept.iter().filter(|line| !now.contains(line)).collect();
        assert!(stale.is_empty(), "`cargo xtask captures` writes {file} again: {stale:?}: {now:?}");
        terminal.quit();
    }
    orb.shutdown(false);
}
