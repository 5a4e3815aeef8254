//! Wrong certificates: each feature of such a run is a fault of one side, for which the other has
//! to refuse it, and no call may come through: not over a plain port either, which servers that are
//! at fault have beside that of TLS. Called by `runner`.

use super::site::{Ports, Shown, Site};
use super::{Answers, CLIENT, Peers, READY, free_port};
use crate::matrix::{Pair, Run};

/// What the client does when nothing stands in its way.
const CALL: [&str; 2] = ["--feature", "boolean"];

/// What a client says of a connection that one side refused: CORBA has no exception of its own for
/// it.
const REFUSED: [&str; 3] = ["NO_PERMISSION", "COMM_FAILURE", "TRANSIENT"];

/// The features of such runs.
#[cfg(test)]
pub(crate) const CASES: [&str; 9] = [
    "right_certificates",
    "server_expired",
    "server_other_host",
    "server_other_authority",
    "server_revoked",
    "client_expired",
    "client_other_authority",
    "client_revoked",
    "client_without",
];

/// What each side shows.
struct Case {
    server: Shown,
    client: Shown,
    /// What Corbie's client says, where it is the one that refuses or is told why.
    words: &'static str,
}

fn case(feature: &str) -> Option<Case> {
    use Shown::{Expired, Good, Nothing, OtherAuthority, OtherHost, Revoked};
    let of = |server, client, words| Some(Case { server, client, words });
    match feature {
        "right_certificates" => of(Good, Good, ""),
        "server_expired" => of(Expired, Good, "has expired"),
        "server_other_host" => of(OtherHost, Good, "does not name this host"),
        "server_other_authority" => of(OtherAuthority, Good, "tls_trust"),
        "server_revoked" => of(Revoked, Good, "was revoked"),
        "client_expired" => of(Good, Expired, ""),
        "client_other_authority" => of(Good, OtherAuthority, ""),
        "client_revoked" => of(Good, Revoked, ""),
        "client_without" => of(Good, Nothing, ""),
        _ => None,
    }
}

/// How many are run at the same time: most of their time is that of virtual machines that start.
const AT_ONCE: usize = 2;

/// Runs the features of a pair, each with a server and a client of its own.
pub(super) fn run(
    run: &Run,
    pair: &Pair,
    peers: &Peers,
    features: &[&str],
) -> Result<Answers, String> {
    let site = Site::new();
    let answer = |feature: &str| {
        let case = case(feature).ok_or(format!("matrix.toml: no certificate is {feature}"))?;
        let is_right = feature == "right_certificates";
        let said = attempt(run, pair, peers, &site, &case)?;
        Ok((feature.to_owned(), judged(&said, is_right, pair, case.words)))
    };
    let share = features.len().div_ceil(AT_ONCE);
    std::thread::scope(|scope| {
        let shares = features.chunks(share.max(1));
        let answers = shares
            .map(|share| scope.spawn(move || share.iter().copied().map(answer).collect::<Vec<_>>()))
            .collect::<Vec<_>>();
        let answers = answers.into_iter().map(|share| share.join());
        let answers = answers.map(|share| share.map_err(|_| "a thread of the runner panicked"));
        answers.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
    })
}

/// The last line that a client says.
fn attempt(
    run: &Run,
    pair: &Pair,
    peers: &Peers,
    site: &Site,
    case: &Case,
) -> Result<String, String> {
    let port = free_port();
    // JacORB takes clients without a certificate where it has a plain port.
    let ports = if case.client == Shown::Good { Ports::Both } else { Ports::Secure };
    let how = site.manner(&pair.server, case.server, ports, port);
    let mut server = peers.server_in(&pair.server, &run.giop, &how, &[])?;
    server.wait_for("ready", READY)?;
    let reference = server.line_after("ior ").ok_or("the server printed no reference")?;
    let how = site.manner(&pair.client, case.client, Ports::Secure, 0);
    let call = CALL.map(str::to_owned);
    let client = peers.client_in(&pair.client, &run.giop, &reference, &how, &call)?;
    // A client whose first call fails ends with a word on it: here it is what is looked for.
    let said = client.finish(CLIENT).or_else(|fatal| match fatal.contains("FATAL") {
        true => Ok(vec![fatal]),
        false => Err(fatal),
    })?;
    Ok(said.last().cloned().unwrap_or_default())
}

fn judged(said: &str, is_right: bool, pair: &Pair, words: &str) -> Result<(), String> {
    let is_called = said == "ok boolean";
    let is_refused = REFUSED.iter().any(|name| said.contains(name));
    match (is_right, is_called, is_refused) {
        (true, true, _) => Ok(()),
        (false, false, true) if pair.client != "corbie" || said.contains(words) => Ok(()),
        (false, true, _) => Err("a call came through".to_owned()),
        _ => Err(format!("the client said: {said}")),
    }
}
