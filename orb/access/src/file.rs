//! The access file: TOML with `[peers.NAME]`, `[[allow]]` and `[[refuse]]`.
//!
//! Within a table every line has to hold, of a list one entry; a line that is left out holds for
//! everything. Errors name the file and the line, and say what can be written there.

use crate::{AccessRules, Pattern, Peers, Rule};
use corbie_types::{SystemException, minor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Value<'t> = Spanned<DeValue<'t>>;
type Named = Vec<(String, Peers)>;

/// What can stand in a table `[peers.NAME]`.
const OF_PEERS: &str = "addresses, certificates, users and uids";
/// What can stand in a rule.
const OF_RULES: &str = "peers, objects, interfaces and operations";
/// Peers that need no table.
const KNOWN_PEERS: [&str; 3] = ["anyone", "loopback", "own-user"];

impl AccessRules {
    /// The rules in the access file `text`; `path` is for errors.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`): the detail names file and line, and says what to write.
    pub fn parse(path: &str, text: &str) -> Result<Self, SystemException> {
        let file = File { path, text };
        let table = DeTable::parse(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            file.wrong(start, &format!("this is not TOML: {}", error.message()))
        })?;
        let mut peers = Named::new();
        for (key, value) in table.get_ref() {
            match key.get_ref().as_ref() {
                "peers" => peers = file.all_peers(value)?,
                "allow" | "refuse" => {}
                other => {
                    let hint = "write [peers.NAME], [[allow]] or [[refuse]]";
                    return Err(
                        file.wrong(key.span().start, &format!("`{other}` is unknown; {hint}"))
                    );
                }
            }
        }
        let mut rules = AccessRules::none();
        if let Some(allow) = table.get_ref().get("allow") {
            rules = file.rules("allow", allow, &peers)?.into_iter().fold(rules, AccessRules::allow);
        }
        if let Some(refuse) = table.get_ref().get("refuse") {
            rules =
                file.rules("refuse", refuse, &peers)?.into_iter().fold(rules, AccessRules::refuse);
        }
        Ok(rules)
    }
}

struct File<'a> {
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn wrong(&self, offset: usize, what: &str) -> SystemException {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        let line = 1 + before.iter().filter(|octet| **octet == b'\n').count();
        minor::BAD_PARAM_ARGUMENT.no(format!("{} line {line}: {what}", self.path))
    }

    fn table<'v, 't>(
        &self,
        value: &'v Value<'t>,
        what: &str,
    ) -> Result<&'v DeTable<'t>, SystemException> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong(value.span().start, what)),
        }
    }

    fn all_peers(&self, value: &Value<'_>) -> Result<Named, SystemException> {
        let tables = self.table(value, "write a table for each kind of peers: [peers.NAME]")?;
        let mut all = Named::new();
        for (name, value) in tables {
            let at = name.span().start;
            let name = name.get_ref().as_ref();
            if KNOWN_PEERS.contains(&name) {
                let what = format!("`{name}` is known already; choose another name for the peers");
                return Err(self.wrong(at, &what));
            }
            let what = format!("write the table [peers.{name}] with lines of {OF_PEERS}");
            let peers = self.peers(self.table(value, &what)?)?;
            if peers.is_anyone() {
                let what = format!("[peers.{name}] says nothing; write {OF_PEERS}, or use anyone");
                return Err(self.wrong(at, &what));
            }
            all.push((name.to_owned(), peers));
        }
        Ok(all)
    }

    fn peers(&self, table: &DeTable<'_>) -> Result<Peers, SystemException> {
        let mut peers = Peers::anyone();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            for (at, entry) in self.entries(name, value)? {
                peers = match (name, entry) {
                    ("addresses", Entry::Text(text)) => {
                        peers.address(text.parse().map_err(|why: String| self.wrong(at, &why))?)
                    }
                    ("certificates", Entry::Text(text)) => peers.certificate(text),
                    ("users", Entry::Text(text)) => peers.user(text),
                    ("uids", Entry::Text("own")) => peers.own_uid(),
                    ("uids", Entry::Number(uid)) => peers.uid(uid),
                    ("uids", _) => {
                        return Err(self.wrong(at, "write user ids as numbers, or \"own\""));
                    }
                    ("addresses" | "certificates" | "users", Entry::Number(_)) => {
                        return Err(self.wrong(at, "write it in quotation marks"));
                    }
                    (other, _) => {
                        let what = format!("`{other}` says nothing of peers; write {OF_PEERS}");
                        return Err(self.wrong(key.span().start, &what));
                    }
                };
            }
        }
        Ok(peers)
    }

    fn rules(
        &self,
        word: &str,
        value: &Value<'_>,
        peers: &Named,
    ) -> Result<Vec<Rule>, SystemException> {
        let what = format!("write each rule as a table of its own: [[{word}]]");
        let DeValue::Array(tables) = value.get_ref() else {
            return Err(self.wrong(value.span().start, &what));
        };
        let rule = |one| self.rule(word, one, self.table(one, &what)?, peers);
        tables.iter().map(rule).collect()
    }

    fn rule(
        &self,
        word: &str,
        value: &Value<'_>,
        table: &DeTable<'_>,
        named: &Named,
    ) -> Result<Rule, SystemException> {
        let Some(line) = table.get("peers") else {
            let what = format!("[[{word}]] has no peers; for all write peers = \"anyone\"");
            return Err(self.wrong(value.span().start, &what));
        };
        let mut peers = Vec::new();
        for (at, entry) in self.entries("peers", line)? {
            peers.push(self.find_peers(at, &entry, named)?);
        }
        let mut rule = Rule::of(peers);
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            for (at, entry) in self.entries(name, value)? {
                let Entry::Text(text) = entry else {
                    return Err(self.wrong(at, "write it in quotation marks"));
                };
                rule = match name {
                    "peers" => rule,
                    "objects" => rule.objects([Pattern::new(text)]),
                    "interfaces" => rule.interfaces([Pattern::new(text)]),
                    "operations" => rule.operations([Pattern::new(text)]),
                    other => {
                        let what = format!("`{other}` is no line of a rule; write {OF_RULES}");
                        return Err(self.wrong(key.span().start, &what));
                    }
                };
            }
        }
        Ok(rule)
    }

    fn find_peers(
        &self,
        at: usize,
        entry: &Entry<'_>,
        named: &Named,
    ) -> Result<Peers, SystemException> {
        match entry {
            Entry::Text("anyone") => return Ok(Peers::anyone()),
            Entry::Text("loopback") => return Ok(Peers::loopback()),
            Entry::Text("own-user") => return Ok(Peers::own_user()),
            Entry::Text(wanted) => {
                if let Some((_, peers)) = named.iter().find(|(name, _)| name == wanted) {
                    return Ok(peers.clone());
                }
            }
            Entry::Number(_) => {}
        }
        let names = named.iter().map(|(name, _)| name.as_str());
        let names: Vec<_> = names.chain(KNOWN_PEERS).collect();
        let what = "this names no peers; there are";
        Err(self.wrong(at, &format!("{what} {}: add a table [peers.NAME]", names.join(", "))))
    }

    /// The entries of a list, or the one that stands without brackets, each with where it stands.
    fn entries<'v>(
        &self,
        name: &str,
        value: &'v Value<'_>,
    ) -> Result<Vec<(usize, Entry<'v>)>, SystemException> {
        let one = |value: &'v Value<'_>| {
            let at = value.span().start;
            let entry = match value.get_ref() {
                DeValue::String(text) => Some(Entry::Text(text.as_ref())),
                DeValue::Integer(number) if number.radix() == 10 => {
                    number.as_str().parse().ok().map(Entry::Number)
                }
                _ => None,
            };
            let what = format!("write `{name}` as a text or a list of texts");
            entry.map(|entry| (at, entry)).ok_or_else(|| self.wrong(at, &what))
        };
        match value.get_ref() {
            DeValue::Array(items) if items.is_empty() => {
                let what = format!("`{name}` is empty; leave the line out to mean everything");
                Err(self.wrong(value.span().start, &what))
            }
            DeValue::Array(items) => items.iter().map(one).collect(),
            _ => Ok(vec![one(value)?]),
        }
    }
}

/// An entry of a list.
enum Entry<'v> {
    Text(&'v str),
    Number(u32),
}
