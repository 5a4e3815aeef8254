//! A record as SVG pictures: bars for one number per contender, lines for a number along a size,
//! and what happened over time.
//!
//! `main.rs` writes them beside the JSON. Bars carry the spread over rounds as a thin line.

mod curves;
mod over_time;

use crate::driver::Failure;
use crate::experiment::{Chart, Experiment, Plot};
use crate::record::{Record, Row};
use crate::table::place;
use plotters::coord::ranged1d::{Ranged, SegmentValue, ValueFormatter};
use plotters::prelude::*;

/// A picture of an experiment.
///
/// # Errors
/// When nothing was measured, or the drawing library refuses.
pub(crate) fn svg(
    experiment: &Experiment,
    plot: &Plot,
    record: &Record,
) -> Result<String, Failure> {
    let mut picture = String::new();
    let (name, metric) = (experiment.name, plot.metric);
    if plot.chart == Chart::OverTime {
        over_time::draw(&mut picture, &format!("{name}: {}", plot.name), &record.timelines)?;
        return Ok(picture);
    }
    if plot.chart == Chart::Curves {
        curves::draw(&mut picture, &format!("{name}: {metric}"), &record.curves)?;
        return Ok(picture);
    }
    let rows: Vec<&Row> = record.rows.iter().filter(|row| row.metric == metric).collect();
    if rows.is_empty() {
        return Err("there is nothing to draw".into());
    }
    let title = format!("{name} ({metric}), {} rounds", record.rounds);
    match plot.chart {
        Chart::Bars { by } => bars(&mut picture, &title, by, rows)?,
        Chart::Lines { along, logarithmic } => {
            lines(&mut picture, &title, along, logarithmic, &rows)?;
        }
        Chart::OverTime | Chart::Curves => {}
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

/// Colours of lines: those of one family would be alike.
const PALETTE: [RGBColor; 10] = [
    RGBColor(0x1b, 0x5e, 0xa8),
    RGBColor(0xd9, 0x7a, 0x1c),
    RGBColor(0x2e, 0x8b, 0x57),
    RGBColor(0x9c, 0x36, 0x3c),
    RGBColor(0x6a, 0x4c, 0x9c),
    RGBColor(0x8c, 0x6d, 0x46),
    RGBColor(0xc7, 0x4b, 0x9b),
    RGBColor(0x17, 0x9b, 0xae),
    RGBColor(0x8a, 0x9a, 0x1b),
    RGBColor(0x44, 0x44, 0x44),
];

/// The colour of the line at a place in the legend; what is ideal is black.
fn line_colour(name: &str, at: usize) -> RGBColor {
    if name.starts_with("ideal") { BLACK } else { PALETTE[at % PALETTE.len()] }
}

fn lines(
    picture: &mut String,
    title: &str,
    along: &str,
    logarithmic: bool,
    rows: &[&Row],
) -> Result<(), Failure> {
    let x = |row: &Row| row.x.get(along).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    // Powers have no place for 0, and the library looks for one for ever.
    let has_place = |row: &&&Row| !logarithmic || (x(row) > 0.0 && row.value > 0.0);
    let rows: &[&Row] = &rows.iter().filter(has_place).copied().collect::<Vec<_>>();
    if rows.is_empty() {
        return Err(format!("nothing was measured at a size above 0 along {along}").into());
    }
    let range = |of: &dyn Fn(&Row) -> f64| {
        rows.iter()
            .map(|row| of(row))
            .fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)))
    };
    let ((first, last), (least, most)) = (range(&x), range(&|row| row.value));
    let root = SVGBackend::with_string(picture, (900, 560)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut builder = ChartBuilder::on(&root);
    builder.caption(title, ("sans-serif", 16)).margin(10);
    builder.x_label_area_size(40).y_label_area_size(70);
    let (across, up) = (first..last * 1.01, least.max(most / 1e6) / 1.2..most * 1.2);
    if logarithmic {
        let chart =
            builder.build_cartesian_2d(across.log_scale().base(2.0), up.log_scale().base(10.0))?;
        draw_lines(chart, along, rows, &x)?;
    } else {
        draw_lines(builder.build_cartesian_2d(across, 0.0..most * 1.1)?, along, rows, &x)?;
    }
    root.present()?;
    Ok(())
}

/// A chart whose axes are numbers, in powers or not.
type NumberAxes<'a, X, Y> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>;

fn draw_lines<'a, X, Y>(
    mut chart: NumberAxes<'a, X, Y>,
    along: &str,
    rows: &[&Row],
    x: &dyn Fn(&Row) -> f64,
) -> Result<(), Failure>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64> + 'a,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64> + 'a,
{
    chart.configure_mesh().x_desc(along).draw()?;
    for (at, name) in line_names(rows, along).iter().enumerate() {
        let of_line = |row: &&&Row| line_name(row, along) == *name;
        let points: Vec<(f64, f64)> =
            rows.iter().filter(of_line).map(|row| (x(row), row.value)).collect();
        let color = line_colour(name, at).into();
        let style = ShapeStyle { color, filled: true, stroke_width: 2 };
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
    Ok(())
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
    use crate::experiments::EXPERIMENTS;
    use crate::orders::Step;
    use crate::record::{At, Collected, Curve, Timeline};
    use serde_json::json;

    fn record(experiment: &Experiment) -> Record {
        let mut collected = Collected::default();
        for (series, value) in [("raw-tcp", 10.0), ("corbie-smi", 12.0)] {
            for size in [1_024, 65_536] {
                let along = [
                    "octets",
                    "clients",
                    "consumers",
                    "delay_ms",
                    "depth",
                    "servants",
                    "operations",
                    "longs",
                ];
                let along = along.map(|x| (x.to_owned(), json!(size)));
                let mut x = At::from(along);
                x.insert("pin".into(), json!("none"));
                for plot in experiment.charts {
                    collected.add(series, &x, plot.metric, value);
                }
            }
        }
        Record {
            experiment: experiment.name.into(),
            paper: String::new(),
            machine: json!({}),
            rounds: 1,
            rows: collected.rows(),
            curves: vec![Curve { series: "heap".into(), x: At::new(), values: vec![3, 5] }],
            timelines: vec![Timeline {
                series: "corbie-ami-unbounded".into(),
                x: At::new(),
                steps: vec![
                    Step { at_us: 100, replies: 5, pending: 6, resident_kib: 7_000 },
                    Step { at_us: 200, replies: 6, pending: 4, resident_kib: 7_100 },
                ],
            }],
            ratios: Default::default(),
            missing: vec![],
        }
    }

    #[test]
    fn every_experiment_has_pictures_that_name_their_series() {
        for experiment in EXPERIMENTS {
            for plot in experiment.charts {
                let picture = svg(experiment, plot, &record(experiment)).unwrap();
                assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
                let series: &[&str] = match plot.chart {
                    Chart::OverTime => &["corbie-ami-unbounded"],
                    Chart::Curves => &["heap"],
                    _ => &["raw-tcp", "corbie-smi"],
                };
                for series in series {
                    assert!(picture.contains(series), "{}: no {series}", experiment.name);
                }
            }
        }
    }

    #[test]
    fn nothing_measured_is_an_error() {
        for experiment in EXPERIMENTS {
            let empty =
                Record { rows: vec![], timelines: vec![], curves: vec![], ..record(experiment) };
            for plot in experiment.charts {
                assert!(svg(experiment, plot, &empty).is_err());
            }
        }
    }
}
