//! A record as Markdown: what is printed on standard output.
//!
//! `main.rs` prints it after an experiment. Rows in the order of the plan, one table for each place
//! of measurement, then the ratios, then the paper's own table beside ours, then who is missing.

use crate::experiment::Experiment;
use crate::record::{self, At, Record, Row};
use std::fmt::Write;

/// The whole page.
pub(crate) fn markdown(experiment: &Experiment, record: &Record) -> String {
    let mut page =
        format!("# {} ({})\n\n{}\n\n", experiment.name, experiment.paper, experiment.summary);
    let _ = writeln!(page, "{}\n", machine_line(record));
    rows(&mut page, experiment, record);
    ratios(&mut page, experiment, record);
    paper(&mut page, experiment, record);
    missing(&mut page, record);
    for note in experiment.notes {
        let _ = writeln!(page, "- {note}");
    }
    page
}

fn machine_line(record: &Record) -> String {
    let text = |name: &str| record.machine[name].to_string().replace('"', "");
    format!(
        "{} cores of {}{}, Linux {}, load before {}, {}, commit {}; medians of {} rounds, all \
         contenders in turn; Corbie's request has {} octets, its reply {}.",
        text("cores"),
        text("processor"),
        if record.machine["virtual_machine"] == true { " (virtual machine)" } else { "" },
        text("kernel"),
        text("load_before"),
        text("date"),
        text("commit"),
        record.rounds,
        text("request_octets"),
        text("reply_octets"),
    )
}

/// Metrics in the order of their first appearance, the experiment's own first.
fn metrics<'r>(experiment: &'r Experiment, record: &'r Record) -> Vec<&'r str> {
    let mut metrics = vec![experiment.metric];
    for row in &record.rows {
        if !metrics.contains(&row.metric.as_str()) {
            metrics.push(&row.metric);
        }
    }
    metrics
}

fn rows(page: &mut String, experiment: &Experiment, record: &Record) {
    let metrics = metrics(experiment, record);
    let _ = writeln!(page, "| series | at | {} | spread |", metrics.join(" | "));
    let _ = writeln!(page, "|---|---|{}---:|", "---:|".repeat(metrics.len()));
    let mut done: Vec<(&str, &At)> = Vec::new();
    for row in &record.rows {
        if done.contains(&(&row.series, &row.x)) {
            continue;
        }
        done.push((&row.series, &row.x));
        let find = |metric: &str| {
            record
                .rows
                .iter()
                .find(|r| r.series == row.series && r.x == row.x && r.metric == metric)
        };
        let values: Vec<String> = metrics
            .iter()
            .map(|metric| find(metric).map(|r| number(r.value)).unwrap_or_default())
            .collect();
        let spread = find(experiment.metric).map(spread).unwrap_or_default();
        let _ = writeln!(
            page,
            "| {} | {} | {} | {spread} |",
            row.series,
            place(&row.x),
            values.join(" | ")
        );
    }
    page.push('\n');
}

/// Low to high over rounds.
fn spread(row: &Row) -> String {
    format!("{} … {}", number(row.low), number(row.high))
}

/// Where a row was measured, in words.
pub(crate) fn place(x: &At) -> String {
    let words = x.iter().map(|(name, value)| match (name.as_str(), value.as_str()) {
        ("pin" | "size" | "config", Some(text)) => text.to_owned(),
        _ => format!("{name} {}", value.to_string().replace('"', "")),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Three to four digits that count, thousands set off.
pub(crate) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 || v == 0.0 => 2,
        v if v >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(w, r)| (w, Some(r)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match rest {
        Some(rest) => format!("{grouped}.{rest}"),
        None => grouped,
    }
}

fn ratios(page: &mut String, experiment: &Experiment, record: &Record) {
    page.push_str("| ratio | value |\n|---|---:|\n");
    for key in experiment.ratios {
        let value = record.ratios.get(*key).copied().flatten();
        let value = value.map_or("missing".to_owned(), |value| format!("{value:.3}"));
        let _ = writeln!(page, "| `{key}` | {value} |");
    }
    page.push('\n');
}

fn paper(page: &mut String, experiment: &Experiment, record: &Record) {
    let Some(paper) = &experiment.paper_table else { return };
    let heads: Vec<String> =
        paper.heads.iter().map(|head| format!("{head}: paper | ours")).collect();
    let _ = writeln!(page, "{}\n\n| test | our series | {} |", paper.title, heads.join(" | "));
    let _ = writeln!(page, "|---|---|{}", "---:|---:|".repeat(paper.heads.len()));
    for line in paper.rows {
        let ours = |metric: &str| {
            let best = record::best_value(&record.rows, line.ours, metric, line.at);
            best.map_or("missing".to_owned(), number)
        };
        let pairs: Vec<String> = line
            .values
            .iter()
            .zip(paper.metrics)
            .map(|(paper, metric)| format!("{paper} | {}", ours(metric)))
            .collect();
        let _ = writeln!(page, "| {} | {} | {} |", line.name, line.ours, pairs.join(" | "));
    }
    page.push('\n');
}

fn missing(page: &mut String, record: &Record) {
    if record.missing.is_empty() {
        return;
    }
    page.push_str("Missing:\n\n");
    for missing in &record.missing {
        let _ = writeln!(page, "- `{}`: {}", missing.series, missing.reason);
    }
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::EXPERIMENTS;
    use crate::record::{Collected, Missing, ratio};
    use serde_json::json;

    #[test]
    fn numbers_are_short_and_grouped() {
        for (value, text) in [
            (4.604, "4.60"),
            (55.12, "55.1"),
            (684.4, "684"),
            (1_859.0, "1,859"),
            (4_300_000.2, "4,300,000"),
            (-1_234.0, "-1,234"),
            (0.0, "0.00"),
            (0.684, "0.684"),
            (0.03241, "0.0324"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn the_page_has_rows_ratios_paper_and_missing() {
        let experiment = EXPERIMENTS[0];
        let mut collected = Collected::default();
        let x = At::from([("pin".to_owned(), json!("same-core"))]);
        for (series, p50) in [("raw-tcp", 4.6), ("corbie-smi", 5.06)] {
            collected.add(series, &x, "rtt_p50_us", p50);
            collected.add(series, &x, "rtt_p50_us", p50 + 1.0);
            collected.add(series, &x, "rtt_p50_us", p50 - 1.0);
        }
        let rows = collected.rows();
        let key = experiment.ratios[0];
        let record = Record {
            experiment: experiment.name.into(),
            paper: experiment.paper.into(),
            machine: json!({"cores": 2, "processor": "Test"}),
            rounds: 3,
            ratios: [(key.to_owned(), ratio(&rows, key))].into(),
            rows,
            timelines: vec![],
            curves: vec![],
            missing: vec![Missing { series: "jacorb-smi".into(), reason: "no Java".into() }],
        };
        let page = markdown(experiment, &record);
        for line in [
            "| raw-tcp | same-core | 4.60 | 3.60 … 5.60 |",
            "| `corbie-smi / raw-tcp : rtt_p50_us @ same-core` | 1.100 |",
            "| `corbie-smi / raw-tcp : rtt_p50_us @ two-cores` | missing |",
            "| SMI | corbie-smi | 455 | missing | 497 | missing | 684 | missing | 2.7 | missing |",
            "- `jacorb-smi`: no Java",
        ] {
            assert!(page.contains(line), "no `{line}` in\n{page}");
        }
    }
}
