//! `corbie top`: one frame of an event server, by its metrics and by its reference.

mod process;
mod served;

use corbie_testkit::servers::free_port;
use process::corbie;
use served::Served;

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
