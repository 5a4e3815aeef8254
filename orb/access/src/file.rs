//! The access file: TOML with `[peers.NAME]`, `[[allow]]`, `[[refuse]]`, `[users]`, `[[assert]]`
//! and `[egress]`.
//!
//! Within a table every line has to hold, of a list one entry; a line that is left out holds for
//! everything. Errors name the file and the line, and say what can be written there.

use crate::{
    AccessRules, AssertionRules, EgressRule, EgressRules, Otherwise, Pattern, Peers, Rule, Users,
};
use corbie_types::{SystemException, minor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Value<'t> = Spanned<DeValue<'t>>;
/// Where a rule stands, and its lines.
type OfRule<'v, 't> = (&'v Value<'t>, &'v DeTable<'t>);
type Named = Vec<(String, Peers)>;

/// What can stand in a table `[peers.NAME]`.
const OF_PEERS: &str = "addresses, certificates, users and uids";
/// What can stand in a rule.
const OF_RULES: &str = "peers, objects, interfaces and operations";
/// What can stand in a rule of assertion.
const OF_ASSERTIONS: &str = "peers and users";
/// What can stand in a rule of egress.
const OF_EGRESS: &str = "peers, addresses and sockets";
/// Peers that need no table.
const KNOWN_PEERS: [&str; 3] = ["anyone", "loopback", "own-user"];

/// What an access file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessFile {
    /// Which peers may call what.
    pub access: AccessRules,
    /// Where references that they hand over may lead; `None`: it says nothing of that.
    pub egress: Option<EgressRules>,
    /// Users with their passwords; `None`: it has no table of them.
    pub users: Option<Users>,
    /// Which peers may call for which users.
    pub assertions: AssertionRules,
}

impl AccessFile {
    /// What the access file `text` says; `path` is for errors.
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
                "allow" | "refuse" | "egress" | "users" | "assert" => {}
                other => {
                    let hint = "write [peers.NAME], [[allow]], [[refuse]], [users], [[assert]] or \
                                [egress]";
                    return Err(
                        file.wrong(key.span().start, &format!("`{other}` is unknown; {hint}"))
                    );
                }
            }
        }
        let mut access = AccessRules::none();
        for one in file.tables(table.get_ref(), "allow", "[[allow]]")? {
            access = access.allow(file.rule("[[allow]]", one, &peers)?);
        }
        for one in file.tables(table.get_ref(), "refuse", "[[refuse]]")? {
            access = access.refuse(file.rule("[[refuse]]", one, &peers)?);
        }
        let egress = table.get_ref().get("egress").map(|value| file.egress(value, &peers));
        let users = table.get_ref().get("users").map(|value| file.users(value)).transpose()?;
        let mut assertions = AssertionRules::none();
        for one in file.tables(table.get_ref(), "assert", "[[assert]]")? {
            assertions = file.assertion(assertions, one, &peers)?;
        }
        Ok(AccessFile { access, egress: egress.transpose()?, users, assertions })
    }
}

impl AccessRules {
    /// The rules of calls in the access file `text`; `path` is for errors.
    ///
    /// # Errors
    /// As [`AccessFile::parse`].
    pub fn parse(path: &str, text: &str) -> Result<Self, SystemException> {
        AccessFile::parse(path, text).map(|file| file.access)
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

    /// The tables of rules that stand in `table` under `word`; `what`: how one begins.
    fn tables<'v, 't>(
        &self,
        table: &'v DeTable<'t>,
        word: &str,
        what: &str,
    ) -> Result<Vec<OfRule<'v, 't>>, SystemException> {
        let Some(value) = table.get(word) else { return Ok(Vec::new()) };
        let hint = format!("write each rule as a table of its own: {what}");
        let DeValue::Array(tables) = value.get_ref() else {
            return Err(self.wrong(value.span().start, &hint));
        };
        tables.iter().map(|one| Ok((one, self.table(one, &hint)?))).collect()
    }

    fn users(&self, value: &Value<'_>) -> Result<Users, SystemException> {
        const HINT: &str = "write NAME = \"$argon2id$…\", as `corbie hash-password` prints it";
        let mut users = Users::none();
        for (name, value) in self.table(value, "write a table: [users]")? {
            let at = value.span().start;
            let DeValue::String(hash) = value.get_ref() else {
                return Err(self.wrong(at, HINT));
            };
            users = users
                .user(name.get_ref(), hash)
                .map_err(|why| self.wrong(at, &format!("{why}; {HINT}")))?;
        }
        Ok(users)
    }

    fn assertion(
        &self,
        rules: AssertionRules,
        (value, table): OfRule<'_, '_>,
        named: &Named,
    ) -> Result<AssertionRules, SystemException> {
        let peers = self.peers_of_rule("[[assert]]", value, table, named)?;
        let unknown = format!("is no line of such a rule; write {OF_ASSERTIONS}");
        let users = self.lines(Vec::new(), table, &unknown, |mut users, name, text| {
            Ok((name == "users").then(|| {
                users.push(Pattern::new(text));
                users
            }))
        })?;
        Ok(rules.allow(peers, users))
    }

    fn egress(&self, value: &Value<'_>, peers: &Named) -> Result<EgressRules, SystemException> {
        let table = self.table(value, "write a table: [egress]")?;
        let mut otherwise = Otherwise::Careful;
        for (key, value) in table {
            otherwise = match (key.get_ref().as_ref(), value.get_ref()) {
                ("otherwise", DeValue::String(text)) if text == "careful" => Otherwise::Careful,
                ("otherwise", DeValue::String(text)) if text == "allow" => Otherwise::Allow,
                ("otherwise", DeValue::String(text)) if text == "refuse" => Otherwise::Refuse,
                ("otherwise", _) => {
                    let what = "write \"careful\", \"allow\" or \"refuse\"";
                    return Err(self.wrong(value.span().start, what));
                }
                ("allow" | "refuse", _) => otherwise,
                (other, _) => {
                    let hint = "write otherwise, [[egress.allow]] or [[egress.refuse]]";
                    let what = format!("`{other}` says nothing of egress; {hint}");
                    return Err(self.wrong(key.span().start, &what));
                }
            };
        }
        let mut egress = EgressRules::otherwise(otherwise);
        for one in self.tables(table, "allow", "[[egress.allow]]")? {
            egress = egress.allow(self.egress_rule("[[egress.allow]]", one, peers)?);
        }
        for one in self.tables(table, "refuse", "[[egress.refuse]]")? {
            egress = egress.refuse(self.egress_rule("[[egress.refuse]]", one, peers)?);
        }
        Ok(egress)
    }

    fn egress_rule(
        &self,
        what: &str,
        (value, table): OfRule<'_, '_>,
        named: &Named,
    ) -> Result<EgressRule, SystemException> {
        let rule = EgressRule::of(self.peers_of_rule(what, value, table, named)?);
        let unknown = format!("is no line of such a rule; write {OF_EGRESS}");
        self.lines(rule, table, &unknown, |rule, name, text| {
            Ok(Some(match name {
                "addresses" if text == "own" => rule.own_address(),
                "addresses" => rule.address(text.parse()?),
                "sockets" => rule.socket(text),
                _ => return Ok(None),
            }))
        })
    }

    /// Adds the entries of each line but `peers`. `add` gives none for a line that it does not
    /// know, of which `unknown` is said.
    fn lines<R>(
        &self,
        mut rule: R,
        table: &DeTable<'_>,
        unknown: &str,
        add: impl Fn(R, &str, &str) -> Result<Option<R>, String>,
    ) -> Result<R, SystemException> {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            for (at, entry) in self.entries(name, value)? {
                let Entry::Text(text) = entry else {
                    return Err(self.wrong(at, "write it in quotation marks"));
                };
                if name == "peers" {
                    continue;
                }
                let added = add(rule, name, text).map_err(|why| self.wrong(at, &why))?;
                let Some(with_it) = added else {
                    return Err(self.wrong(key.span().start, &format!("`{name}` {unknown}")));
                };
                rule = with_it;
            }
        }
        Ok(rule)
    }

    fn peers_of_rule(
        &self,
        what: &str,
        value: &Value<'_>,
        table: &DeTable<'_>,
        named: &Named,
    ) -> Result<Vec<Peers>, SystemException> {
        let Some(line) = table.get("peers") else {
            let what = format!("{what} has no peers; for all write peers = \"anyone\"");
            return Err(self.wrong(value.span().start, &what));
        };
        let entries = self.entries("peers", line)?;
        entries.into_iter().map(|(at, entry)| self.find_peers(at, &entry, named)).collect()
    }

    fn rule(
        &self,
        what: &str,
        (value, table): OfRule<'_, '_>,
        named: &Named,
    ) -> Result<Rule, SystemException> {
        let rule = Rule::of(self.peers_of_rule(what, value, table, named)?);
        let unknown = format!("is no line of a rule; write {OF_RULES}");
        self.lines(rule, table, &unknown, |rule, name, text| {
            Ok(Some(match name {
                "objects" => rule.objects([Pattern::new(text)]),
                "interfaces" => rule.interfaces([Pattern::new(text)]),
                "operations" => rule.operations([Pattern::new(text)]),
                _ => return Ok(None),
            }))
        })
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
