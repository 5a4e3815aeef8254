//! A record as an SVG picture: bars for one number per contender, lines for a number along a size.
//!
//! `main.rs` writes it beside the JSON. Bars carry the spread over rounds as a thin line.

use crate::experiment::Experiment;
use crate::record::{Record, Row};
use crate::table::place;
use plotters::coord::ranged1d::SegmentValue;
use plotters::prelude::*;

/// How a plot looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chart {
    /// One bar for each row, ordered by this value of `x`.
    Bars {
        /// Name of the value.
        by: &'static str,
    },
    /// One line for each series and configuration, along this value of `x` (logarithmic).
    Lines {
        /// Name of the value.
        along: &'static str,
    },
}

/// Why a picture could not be drawn.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The picture of the experiment's own metric.
///
/// # Errors
/// When nothing was measured, or the drawing library refuses.
pub(crate) fn svg(experiment: &Experiment, record: &Record) -> Result<String, Failure> {
    let rows: Vec<&Row> =
        record.rows.iter().filter(|row| row.metric == experiment.metric).collect();
    if rows.is_empty() {
        return Err("there is nothing to draw".into());
    }
    let mut picture = String::new();
    let title = format!("{} ({}), {} rounds", experiment.name, experiment.metric, record.rounds);
    match experiment.chart {
        Chart::Bars { by } => bars(&mut picture, &title, by, rows)?,
        Chart::Lines { along } => lines(&mut picture, &title, along, &rows)?,
    }
    Ok(picture)
}

/// The first word of a series decides the colour, so that a family looks the same in every picture.
fn colour(series: &str) -> RGBColor {
    match series.split('-').next() {
        Some("corbie") => RGBColor(0x1b, 0x5e, 0xa8),
        Some("omniorb") => RGBColor(0xd9, 0x7a, 0x1c),
        Some("jacorb") => RGBColor(0x9c, 0x36, 0x3c),
        _ => RGBColor(0x77, 0x77, 0x77),
    }
}

fn bars(picture: &mut String, title: &str, by: &str, mut rows: Vec<&Row>) -> Result<(), Failure> {
    rows.sort_by_key(|row| row.x.get(by).map(ToString::to_string));
    rows.reverse(); // the axis counts upwards, a reader downwards
    let count = rows.len();
    let largest = rows.iter().map(|row| row.value).fold(0.0, f64::max) * 1.1;
    let size = (900, 80 + 22 * count as u32);
    let root = SVGBackend::with_string(picture, size).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(380)
        .build_cartesian_2d(0.0..largest, (0..count).into_segmented())?;
    let label = |at: &SegmentValue<usize>| match at {
        SegmentValue::CenterOf(at) => rows
            .get(*at)
            .map(|row| format!("{} ({})", row.series, place(&row.x)))
            .unwrap_or_default(),
        _ => String::new(),
    };
    chart.configure_mesh().disable_y_mesh().y_labels(count).y_label_formatter(&label).draw()?;
    for (at, row) in rows.iter().enumerate() {
        let (from, to) = (SegmentValue::Exact(at), SegmentValue::Exact(at + 1));
        let mut bar = Rectangle::new([(0.0, from), (row.value, to)], colour(&row.series).filled());
        bar.set_margin(3, 3, 0, 0);
        chart.draw_series([bar])?;
        let middle = SegmentValue::CenterOf(at);
        let ends = vec![(row.low, middle.clone()), (row.high.min(largest), middle)];
        chart.draw_series([PathElement::new(ends, BLACK)])?;
    }
    root.present()?;
    Ok(())
}

fn lines(picture: &mut String, title: &str, along: &str, rows: &[&Row]) -> Result<(), Failure> {
    let x = |row: &Row| row.x.get(along).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    let (first, last) = rows
        .iter()
        .map(|row| x(row))
        .fold((f64::MAX, f64::MIN), |(first, last), x| (first.min(x), last.max(x)));
    let largest = rows.iter().map(|row| row.value).fold(0.0, f64::max) * 1.1;
    let root = SVGBackend::with_string(picture, (900, 560)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d((first..last * 1.01).log_scale().base(2.0), 0.0..largest)?;
    chart.configure_mesh().x_desc(along).draw()?;
    for (at, name) in line_names(rows, along).iter().enumerate() {
        let of_line = |row: &&&Row| line_name(row, along) == *name;
        let points: Vec<(f64, f64)> =
            rows.iter().filter(of_line).map(|row| (x(row), row.value)).collect();
        let style =
            ShapeStyle { color: colour(name).mix(shade(name, at)), filled: true, stroke_width: 2 };
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, style)))?;
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    Ok(())
}

/// Lines of one family differ in strength.
fn shade(name: &str, at: usize) -> f64 {
    if name.contains(',') { 0.45 + 0.1 * (at % 3) as f64 } else { 1.0 }
}

/// A line's name: series, pin and configuration, without what changes along it.
fn line_name(row: &Row, along: &str) -> String {
    let mut x = row.x.clone();
    x.remove(along);
    x.remove("size");
    format!("{}, {}", row.series, place(&x))
}

fn line_names(rows: &[&Row], along: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let name = line_name(row, along);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::EXPERIMENTS;
    use crate::record::{At, Collected};
    use serde_json::json;

    fn record(experiment: &Experiment) -> Record {
        let mut collected = Collected::default();
        for (series, value) in [("raw-tcp", 10.0), ("corbie-smi", 12.0)] {
            for octets in [1_024, 65_536] {
                let x = At::from([("octets".into(), json!(octets)), ("pin".into(), json!("none"))]);
                collected.add(series, &x, experiment.metric, value);
            }
        }
        Record {
            experiment: experiment.name.into(),
            paper: String::new(),
            machine: json!({}),
            rounds: 1,
            rows: collected.rows(),
            ratios: Default::default(),
            missing: vec![],
        }
    }

    #[test]
    fn every_experiment_has_a_picture_that_names_its_series() {
        for experiment in EXPERIMENTS {
            let picture = svg(experiment, &record(experiment)).unwrap();
            assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
            for series in ["raw-tcp", "corbie-smi"] {
                assert!(picture.contains(series), "{}: no {series}", experiment.name);
            }
        }
    }

    #[test]
    fn nothing_measured_is_an_error() {
        let experiment = EXPERIMENTS[0];
        let empty = Record { rows: vec![], ..record(experiment) };
        assert!(svg(experiment, &empty).is_err());
    }
}
