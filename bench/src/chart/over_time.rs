//! Two panels over the same time: calls a second, and the memory that the client holds.
//!
//! `chart.rs` draws with it what an unbounded loop of asynchronous calls does: neither line may
//! fall or climb.

use super::{Failure, PALETTE};
use crate::record::Timeline;
use crate::statistics::step_rates;
use plotters::prelude::*;

/// Points of one line, and its name.
type Line<'a> = (&'a str, Vec<(f64, f64)>);

/// Draws both panels.
///
/// # Errors
/// When nothing was measured, or the drawing library refuses.
pub(super) fn draw(
    picture: &mut String,
    title: &str,
    timelines: &[Timeline],
) -> Result<(), Failure> {
    if timelines.iter().all(|timeline| timeline.steps.is_empty()) {
        return Err("there is nothing to draw".into());
    }
    let root = SVGBackend::with_string(picture, (900, 640)).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, lower) = root.split_vertically(320);
    let lines = |value: &dyn Fn(&Timeline) -> Vec<f64>| {
        let mut lines: Vec<Line<'_>> = Vec::new();
        for timeline in timelines {
            let seconds = timeline.steps.iter().map(|step| step.at_us as f64 / 1e6);
            lines.push((timeline.series.as_str(), seconds.zip(value(timeline)).collect()));
        }
        lines
    };
    let rates = lines(&|timeline| step_rates(&timeline.steps));
    let memory = lines(&|timeline| {
        timeline.steps.iter().map(|step| step.resident_kib as f64 / 1024.0).collect()
    });
    panel(&upper, &format!("{title}: calls_per_s"), &rates)?;
    panel(&lower, "resident memory of the client, MiB", &memory)?;
    root.present()?;
    Ok(())
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    lines: &[Line<'_>],
) -> Result<(), Failure> {
    let largest = |of: fn(&(f64, f64)) -> f64| {
        lines.iter().flat_map(|(_, points)| points.iter().map(of)).fold(0.0, f64::max)
    };
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..largest(|point| point.0), 0.0..largest(|point| point.1) * 1.1)?;
    chart.configure_mesh().x_desc("seconds").draw()?;
    for ((name, points), colour) in lines.iter().zip(PALETTE) {
        chart
            .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    Ok(())
}
