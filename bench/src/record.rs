//! What an experiment found: rows with medians over rounds, ratios, what is missing; and its JSON
//! form.
//!
//! `experiment.rs` fills it, `table.rs` and `chart.rs` show it. The JSON is the one of
//! `experiments.md`; beyond what that asks, a row has `low` and `high` (extremes over rounds), and
//! `missing` names absent contenders with the reason.

use crate::orders::Step;
use crate::statistics::{median, smaller_is_better};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a row was measured at (`pin`, `size`, `threads`, `config`, …).
pub(crate) type At = BTreeMap<String, Value>;

/// One metric of one contender: the median over rounds.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Row {
    /// The contender.
    pub(crate) series: String,
    /// What it was measured at.
    pub(crate) x: At,
    /// Name with unit.
    pub(crate) metric: String,
    /// Median over rounds.
    pub(crate) value: f64,
    /// Mean over rounds.
    pub(crate) mean: f64,
    /// Smallest over rounds.
    pub(crate) low: f64,
    /// Largest over rounds.
    pub(crate) high: f64,
}

/// What happened in one run of a contender, step by step.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Timeline {
    /// The contender.
    pub(crate) series: String,
    /// What it was measured at.
    pub(crate) x: At,
    /// The steps.
    pub(crate) steps: Vec<Step>,
}

/// What each iteration of one run of a contender took.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Curve {
    /// The contender.
    pub(crate) series: String,
    /// What it was measured at.
    pub(crate) x: At,
    /// Nanoseconds, in the order of the iterations.
    pub(crate) values: Vec<u64>,
}

/// A contender that did not take part.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The contender.
    pub(crate) series: String,
    /// Why.
    pub(crate) reason: String,
}

/// Everything that one run of an experiment found.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    /// Its name.
    pub(crate) experiment: String,
    /// The paper's table or figure.
    pub(crate) paper: String,
    /// Where it ran.
    pub(crate) machine: Value,
    /// Rounds whose medians are given.
    pub(crate) rounds: usize,
    /// What was measured, in the order of the plan.
    pub(crate) rows: Vec<Row>,
    /// Of the last round, where steps were measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) timelines: Vec<Timeline>,
    /// Of the last round, where iterations were timed one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) curves: Vec<Curve>,
    /// `a / b : metric`; null when one of the two is missing.
    pub(crate) ratios: BTreeMap<String, Option<f64>>,
    /// The contenders that did not take part.
    pub(crate) missing: Vec<Missing>,
}

/// Values as they come in, round by round.
#[derive(Default)]
pub(crate) struct Collected {
    timelines: Vec<Timeline>,
    curves: Vec<Curve>,
    cells: Vec<(String, At, String, Vec<f64>)>,
}

impl Collected {
    /// Adds the value of one round.
    pub(crate) fn add(&mut self, series: &str, x: &At, metric: &str, value: f64) {
        let same = |(s, at, m, _): &&mut (String, At, String, Vec<f64>)| {
            s == series && at == x && m == metric
        };
        match self.cells.iter_mut().find(same) {
            Some((.., values)) => values.push(value),
            None => self.cells.push((series.into(), x.clone(), metric.into(), vec![value])),
        }
    }

    /// Keeps the steps of the last round.
    pub(crate) fn add_timeline(&mut self, timeline: Timeline) {
        self.timelines.retain(|t| (&t.series, &t.x) != (&timeline.series, &timeline.x));
        self.timelines.push(timeline);
    }

    /// Keeps the curve of the last round.
    pub(crate) fn add_curve(&mut self, curve: Curve) {
        self.curves.retain(|c| (&c.series, &c.x) != (&curve.series, &curve.x));
        self.curves.push(curve);
    }

    /// The curves.
    pub(crate) fn curves(&self) -> &[Curve] {
        &self.curves
    }

    /// The steps.
    pub(crate) fn timelines(&self) -> &[Timeline] {
        &self.timelines
    }

    /// The medians.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let row = |(series, x, metric, values): &(String, At, String, Vec<f64>)| {
            Some(Row {
                series: series.clone(),
                x: x.clone(),
                metric: metric.clone(),
                value: median(values)?,
                mean: values.iter().sum::<f64>() / values.len() as f64,
                low: values.iter().copied().reduce(f64::min)?,
                high: values.iter().copied().reduce(f64::max)?,
            })
        };
        self.cells.iter().filter_map(row).collect()
    }
}

/// A ratio's key taken apart: `a / b : metric @ word @ word`.
#[derive(Debug, PartialEq, Eq)]
struct Key<'k> {
    numerator: &'k str,
    denominator: &'k str,
    metric: &'k str,
    at: Vec<&'k str>,
}

impl<'k> Key<'k> {
    fn parse(key: &'k str) -> Option<Key<'k>> {
        let (series, rest) = key.split_once(" : ")?;
        let (numerator, denominator) = series.split_once(" / ")?;
        let mut words = rest.split(" @ ");
        let metric = words.next()?;
        Some(Key { numerator, denominator, metric, at: words.collect() })
    }

    /// Whether a row was measured where the key says; a key without a pin means processes that were
    /// not pinned.
    fn takes(&self, row: &Row) -> bool {
        let pinned = row.x.get("pin").and_then(Value::as_str).unwrap_or("none");
        let is_at = |word: &&str| {
            row.x.values().any(|value| match value {
                Value::String(text) => text == word,
                number => number.as_f64().is_some_and(|n| word.parse() == Ok(n)),
            })
        };
        let pin_is_named =
            self.at.iter().any(|word| ["same-core", "two-cores", "none"].contains(word));
        row.metric == self.metric && self.at.iter().all(is_at) && (pin_is_named || pinned == "none")
    }
}

/// The best row of a series (over its configurations) where the key says.
fn best<'r>(rows: &'r [Row], series: &str, key: &Key<'_>) -> Option<&'r Row> {
    let better = |a: &&Row, b: &&Row| match smaller_is_better(&a.metric) {
        true => b.value.total_cmp(&a.value),
        false => a.value.total_cmp(&b.value),
    };
    rows.iter().filter(|row| is_named(row, series) && key.takes(row)).max_by(better)
}

/// Whether a key means this row: by its series, which may be followed by where it was measured
/// (`active 1000`, `active depth 25`).
fn is_named(row: &Row, name: &str) -> bool {
    let Some(rest) = name.strip_prefix(row.series.as_str()) else { return false };
    let is_at = |(what, value): (&String, &Value)| {
        let number = rest.strip_prefix(&format!(" {what}")).unwrap_or(rest);
        number.strip_prefix(' ') == Some(&value.to_string())
    };
    rest.is_empty() || row.x.iter().any(is_at)
}

/// The best value of a series where `at` says: words as behind the `@` of a ratio's key. A metric
/// may end in `:low`, `:mean` or `:high`: that over rounds, instead of the median.
pub(crate) fn best_value(rows: &[Row], series: &str, metric: &str, at: &[&str]) -> Option<f64> {
    let (metric, of_rounds) = metric.split_once(':').unwrap_or((metric, ""));
    let key = Key { numerator: series, denominator: "", metric, at: at.to_vec() };
    best(rows, series, &key).map(|row| match of_rounds {
        "low" => row.low,
        "mean" => row.mean,
        "high" => row.high,
        _ => row.value,
    })
}

/// What the name of a metric begins with that is the difference of two rows, not a quotient.
pub(crate) const ADDED: &str = "added_";

/// The ratio of a key, if both sides were measured; of a metric `added_…`, how much more the first
/// took than the second.
pub(crate) fn ratio(rows: &[Row], key: &str) -> Option<f64> {
    let mut key = Key::parse(key)?;
    if let Some(metric) = key.metric.strip_prefix(ADDED) {
        key.metric = metric;
        // Both where the first is at its best; the second may have fewer configurations.
        let numerator = best(rows, key.numerator, &key)?;
        let base = base(rows, key.denominator, numerator)?;
        return Some(numerator.value - base.value);
    }
    let numerator = best(rows, key.numerator, &key)?.value;
    let denominator = best(rows, key.denominator, &key)?.value;
    (denominator != 0.0).then_some(numerator / denominator)
}

/// Adds a series that is the best of those whose names begin with `prefix` (`corbie-smi-best`),
/// where no pin is set.
pub(crate) fn add_best(rows: &mut Vec<Row>, name: &str, prefix: &str, metric: &str) {
    let key = Key { numerator: "", denominator: "", metric, at: vec![] };
    let mut candidates: Vec<&Row> =
        rows.iter().filter(|row| row.series.starts_with(prefix) && key.takes(row)).collect();
    candidates.sort_by(|a, b| a.value.total_cmp(&b.value));
    let winner = if smaller_is_better(metric) { candidates.first() } else { candidates.last() };
    if let Some(winner) = winner {
        let mut row = Row { series: name.to_owned(), ..(*winner).clone() };
        row.x.insert("is".to_owned(), Value::String(winner.series.clone()));
        rows.push(row);
    }
}

/// The row of `series` that was measured as `row` was, as far as it says where.
fn base<'r>(rows: &'r [Row], series: &str, row: &Row) -> Option<&'r Row> {
    let is_same = |base: &&Row| {
        let mut at = base.x.iter();
        base.series == series
            && base.metric == row.metric
            && at.all(|(name, value)| row.x.get(name) == Some(value))
    };
    rows.iter().find(is_same)
}

/// Adds for every row of `metric` how much more it is than that of `series` under the same
/// conditions, as metric `added_…`.
pub(crate) fn add_added(rows: &mut Vec<Row>, series: &str, metric: &str) {
    let more = |row: &Row| {
        let base = base(rows, series, row).filter(|_| row.metric == metric)?.value;
        Some(Row {
            metric: format!("{ADDED}{metric}"),
            value: row.value - base,
            mean: row.mean - base,
            low: row.low - base,
            high: row.high - base,
            ..row.clone()
        })
    };
    let added: Vec<Row> = rows.iter().filter_map(more).collect();
    rows.extend(added);
}

/// Adds a series `ideal`: what would be best possible at each place where something was measured.
pub(crate) fn add_ideal(rows: &mut Vec<Row>, metric: &str, ideal: fn(&At) -> Option<f64>) {
    let mut places: Vec<&At> = Vec::new();
    for row in rows.iter().filter(|row| row.metric == metric) {
        if !places.contains(&&row.x) {
            places.push(&row.x);
        }
    }
    let row = |x: &At| {
        let value = ideal(x)?;
        let (series, metric) = ("ideal".to_owned(), metric.to_owned());
        Some(Row { series, x: x.clone(), metric, value, mean: value, low: value, high: value })
    };
    let added: Vec<Row> = places.into_iter().filter_map(row).collect();
    rows.extend(added);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(pairs: &[(&str, &str)]) -> At {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    }

    fn rows() -> Vec<Row> {
        let mut collected = Collected::default();
        let none = at(&[("pin", "none")]);
        for round in [1.0, 9.0, 2.0] {
            collected.add("corbie-smi", &at(&[("pin", "same-core")]), "rtt_p50_us", round);
            collected.add("raw-tcp", &at(&[("pin", "same-core")]), "rtt_p50_us", 2.0 * round);
            collected.add("raw-tcp", &none, "rtt_p50_us", 50.0);
            collected.add("corbie-smi-7", &none, "calls_per_s", 100.0 * round);
            collected.add("corbie-smi-1", &none, "calls_per_s", 10.0 * round);
            for (config, rate) in [("stock", 40.0), ("pool", 80.0)] {
                let x = at(&[("pin", "none"), ("config", config)]);
                collected.add("omniorb-smi-7", &x, "calls_per_s", rate * round);
            }
        }
        collected.rows()
    }

    #[test]
    fn rows_hold_the_median_and_the_extremes() {
        let row = &rows()[0];
        assert_eq!((row.value, row.low, row.high), (2.0, 1.0, 9.0));
    }

    #[test]
    fn a_metric_may_ask_for_another_value_over_rounds() {
        let rows = rows();
        let value = |metric| best_value(&rows, "corbie-smi", metric, &["same-core"]);
        let found = ["rtt_p50_us", "rtt_p50_us:low", "rtt_p50_us:mean", "rtt_p50_us:high"];
        assert_eq!(found.map(value), [Some(2.0), Some(1.0), Some(4.0), Some(9.0)]);
    }

    #[test]
    fn ratios_are_found_by_key_and_pin() {
        let rows = rows();
        assert_eq!(ratio(&rows, "corbie-smi / raw-tcp : rtt_p50_us @ same-core"), Some(0.5));
        assert_eq!(ratio(&rows, "corbie-smi / raw-tcp : rtt_p50_us @ two-cores"), None);
        // Without a pin in the key, pinned rows do not count.
        assert_eq!(ratio(&rows, "corbie-smi / raw-tcp : rtt_p50_us"), None);
        assert_eq!(ratio(&rows, "nonsense"), None);
    }

    #[test]
    fn a_ratio_is_taken_to_the_best_configuration() {
        let found = ratio(&rows(), "corbie-smi-7 / omniorb-smi-7 : calls_per_s");
        assert_eq!(found, Some(200.0 / 160.0));
    }

    #[test]
    fn a_name_may_say_where_the_row_was_measured() {
        let mut collected = Collected::default();
        for (depth, time) in [(1, 40.0), (25, 42.0)] {
            let x = At::from([("depth".to_owned(), json!(depth))]);
            collected.add("active", &x, "ns_per_op", time);
        }
        let rows = collected.rows();
        for key in
            ["active depth 25 / active depth 1 : ns_per_op", "active 25 / active 1 : ns_per_op"]
        {
            assert_eq!(ratio(&rows, key), Some(1.05));
        }
        assert_eq!(ratio(&rows, "active 2 / active 1 : ns_per_op"), None);
        assert_eq!(ratio(&rows, "active width 25 / active 1 : ns_per_op"), None);
    }

    #[test]
    fn the_best_of_a_prefix_becomes_a_series() {
        let mut rows = rows();
        add_best(&mut rows, "corbie-smi-best", "corbie-smi-", "calls_per_s");
        let row = rows.last().unwrap();
        assert_eq!((row.series.as_str(), row.value), ("corbie-smi-best", 200.0));
        assert_eq!(row.x["is"], "corbie-smi-7");
    }

    #[test]
    fn what_is_ideal_stands_beside_what_was_measured() {
        let mut collected = Collected::default();
        for clients in [1, 400] {
            let x = At::from([("clients".to_owned(), json!(clients))]);
            collected.add("corbie-amh-1", &x, "replies_per_s", f64::from(clients) * 24.0);
        }
        let mut rows = collected.rows();
        add_ideal(&mut rows, "replies_per_s", |x| Some(x["clients"].as_f64()? * 25.0));
        assert_eq!(rows.len(), 4);
        assert_eq!(ratio(&rows, "corbie-amh-1 / ideal : replies_per_s @ 400"), Some(0.96));
        assert_eq!(best_value(&rows, "ideal", "replies_per_s", &["1"]), Some(25.0));
        assert_eq!(best_value(&rows, "ideal", "replies_per_s:low", &["1"]), Some(25.0));
    }

    #[test]
    fn what_is_added_is_the_difference_under_the_same_conditions() {
        let mut collected = Collected::default();
        for (pause, local, sii) in [(0, 0.25, 0.75), (2, 2.5, 2.75)] {
            let mut x = At::from([("pause_ms".to_owned(), json!(pause))]);
            collected.add("local", &x, "ms_per_request", local);
            x.insert("config".to_owned(), json!("network"));
            collected.add("sii", &x, "ms_per_request", sii);
        }
        let mut rows = collected.rows();
        add_added(&mut rows, "local", "ms_per_request");
        let added: Vec<f64> =
            rows.iter().filter(|r| r.metric.starts_with(ADDED)).map(|r| r.value).collect();
        assert_eq!(added, [0.0, 0.5, 0.0, 0.25]);
        let key = "sii / local : added_ms_per_request";
        assert_eq!(ratio(&rows, key), Some(0.5));
        assert_eq!(ratio(&rows, &format!("{key} @ 2 @ network")), Some(0.25));
        assert_eq!(ratio(&rows, &format!("{key} @ 3")), None);
        assert_eq!(ratio(&rows, "sii / none : added_ms_per_request"), None);
    }

    #[test]
    fn the_last_steps_are_kept() {
        let mut collected = Collected::default();
        for replies in [1, 2] {
            let steps = vec![Step { at_us: 1, replies, pending: 0, resident_kib: 0 }];
            let timeline = Timeline { series: "corbie-ami".into(), x: At::new(), steps };
            collected.add_timeline(timeline);
        }
        assert_eq!(collected.timelines().len(), 1);
        assert_eq!(collected.timelines()[0].steps[0].replies, 2);
    }

    #[test]
    fn the_json_has_the_agreed_form() {
        let rows = rows()[..1].to_vec();
        let record = Record {
            experiment: "ami-latency".into(),
            paper: "AMI Table 1".into(),
            machine: json!({"cores": 2}),
            rounds: 3,
            rows,
            timelines: vec![],
            curves: vec![],
            ratios: BTreeMap::from([("a / b : m".into(), Some(1.5)), ("c / d : m".into(), None)]),
            missing: vec![Missing { series: "c".into(), reason: "not built".into() }],
        };
        let expected = json!({
            "experiment": "ami-latency", "paper": "AMI Table 1", "machine": {"cores": 2},
            "rounds": 3,
            "rows": [{"series": "corbie-smi", "x": {"pin": "same-core"}, "metric": "rtt_p50_us",
                      "value": 2.0, "mean": 4.0, "low": 1.0, "high": 9.0}],
            "ratios": {"a / b : m": 1.5, "c / d : m": null},
            "missing": [{"series": "c", "reason": "not built"}],
        });
        assert_eq!(serde_json::to_value(&record).unwrap(), expected);
    }
}
