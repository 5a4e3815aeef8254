//! The matrix as data: `matrix.toml` says which runs, pairs and features there are, and what is
//! expected where something cannot be.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Matrix {
    /// Groups of features: the rows of the short table.
    pub(crate) group: Vec<Group>,
    /// Configurations that the pairs are run in: one table each.
    pub(crate) run: Vec<Run>,
    /// What does not go, and why. What no rule names has to pass.
    #[serde(default)]
    pub(crate) expect: Vec<Expect>,
}

/// Some features.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) features: Vec<String>,
    /// Only for runs that name it.
    #[serde(default)]
    pub(crate) by_name: bool,
}

/// One configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) about: String,
    /// "client server": names of peers.
    pub(crate) pairs: Vec<String>,
    /// Groups to run; none: all but those that have to be named.
    #[serde(default)]
    pub(crate) groups: Vec<String>,
    /// Single features to run besides.
    #[serde(default)]
    pub(crate) features: Vec<String>,
    /// The highest GIOP version of both sides.
    #[serde(default = "giop_1_2")]
    pub(crate) giop: String,
    /// How many octets the bulk features send.
    #[serde(default = "a_mebibyte")]
    pub(crate) bulk: usize,
    /// The client gets `corbaloc:iiop:…/InteropRoot` instead of the server's IOR.
    #[serde(default)]
    pub(crate) corbaloc: bool,
    /// The server is killed and started again in the middle.
    #[serde(default)]
    pub(crate) restart: bool,
    /// Client and server are one process, with the client's arguments: only `corbie corbie`.
    #[serde(default)]
    pub(crate) collocated: bool,
    /// Both sides speak TLS, and show certificates.
    pub(crate) tls: Option<Tls>,
    /// More arguments by peer, for its client and its server.
    #[serde(default)]
    pub(crate) client: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) server: BTreeMap<String, Vec<String>>,
}

/// How a run speaks TLS.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tls {
    /// Servers have no other port.
    Required,
    /// The same, and what is not Corbie knows nothing newer than TLS 1.2.
    Older,
    /// Servers have plain ports as well; clients are to use none of them.
    Offered,
    /// Each feature is a fault that one side is to refuse the other for; ports as `Offered`.
    Refused,
}

fn giop_1_2() -> String {
    "1.2".to_owned()
}

fn a_mebibyte() -> usize {
    1 << 20
}

/// A rule. The lists name what it is about; an empty list means anything.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    pub(crate) features: Vec<String>,
    #[serde(default)]
    pub(crate) clients: Vec<String>,
    #[serde(default)]
    pub(crate) servers: Vec<String>,
    /// Client or server.
    #[serde(default)]
    pub(crate) peers: Vec<String>,
    #[serde(default)]
    pub(crate) runs: Vec<String>,
    pub(crate) outcome: RuleOutcome,
    pub(crate) reason: String,
}

/// What a rule expects.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleOutcome {
    /// It is run and has to fail: when it passes, the rule is out of date.
    Fail,
    /// It is not run: the peer would crash or hang.
    Skip,
}

/// A client and a server by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) client: String,
    pub(crate) server: String,
}

impl Matrix {
    /// The matrix of this crate.
    pub(crate) fn load() -> Result<Matrix, String> {
        let text = include_str!("../matrix.toml");
        let matrix: Matrix = toml::from_str(text).map_err(|e| format!("matrix.toml: {e}"))?;
        matrix.check()?;
        Ok(matrix)
    }

    /// Refuses names that nothing else has.
    fn check(&self) -> Result<(), String> {
        let known = |feature: &String| self.group.iter().any(|g| g.features.contains(feature));
        for rule in &self.expect {
            if let Some(feature) = rule.features.iter().find(|feature| !known(feature)) {
                return Err(format!("matrix.toml: a rule names an unknown feature {feature}"));
            }
            for run in &rule.runs {
                if !self.run.iter().any(|r| r.name == *run) {
                    return Err(format!("matrix.toml: a rule names an unknown run {run}"));
                }
            }
        }
        for run in &self.run {
            if let Some(group) =
                run.groups.iter().find(|name| !self.group.iter().any(|g| g.name == **name))
            {
                return Err(format!("matrix.toml: run {} names a group {group}", run.name));
            }
            if let Some(feature) = run.features.iter().find(|feature| !known(feature)) {
                return Err(format!("matrix.toml: run {} names a feature {feature}", run.name));
            }
        }
        Ok(())
    }

    /// The rule for a cell, and its number.
    pub(crate) fn rule(&self, run: &Run, pair: &Pair, feature: &str) -> Option<(usize, &Expect)> {
        let any = |list: &[String], name: &str| list.is_empty() || list.iter().any(|n| n == name);
        self.expect.iter().enumerate().find(|(_, rule)| {
            any(&rule.features, feature)
                && any(&rule.clients, &pair.client)
                && any(&rule.servers, &pair.server)
                && (any(&rule.peers, &pair.client) || any(&rule.peers, &pair.server))
                && any(&rule.runs, &run.name)
        })
    }

    /// The features of a run, group by group.
    pub(crate) fn features<'a>(&'a self, run: &'a Run) -> Vec<(&'a str, Vec<&'a str>)> {
        let in_run = |group: &Group, feature: &String| {
            if run.groups.is_empty() && run.features.is_empty() {
                return !group.by_name;
            }
            run.groups.contains(&group.name) || run.features.contains(feature)
        };
        let groups = self.group.iter().map(|group| {
            let features = group.features.iter().filter(|feature| in_run(group, feature));
            (group.name.as_str(), features.map(String::as_str).collect::<Vec<_>>())
        });
        groups.filter(|(_, features)| !features.is_empty()).collect()
    }
}

impl Run {
    /// Its pairs.
    pub(crate) fn pairs(&self) -> Result<Vec<Pair>, String> {
        let pair = |text: &String| match text.split_once(' ') {
            Some((client, server)) => {
                Ok(Pair { client: client.to_owned(), server: server.to_owned() })
            }
            None => Err(format!("matrix.toml: {text} is not \"client server\"")),
        };
        self.pairs.iter().map(pair).collect()
    }
}
