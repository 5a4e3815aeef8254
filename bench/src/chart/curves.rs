//! What each iteration took, in the order of the iterations: a panel for each configuration, on a
//! logarithmic axis, so that the rare and dear ones can be seen beside the usual.
//!
//! `chart.rs` draws with it how predictable something is.

use super::{Failure, PALETTE};
use crate::record::Curve;
use plotters::prelude::*;

/// Draws a panel for each place where curves were measured.
///
/// # Errors
/// When nothing was measured, or the drawing library refuses.
pub(super) fn draw(picture: &mut String, title: &str, curves: &[Curve]) -> Result<(), Failure> {
    let mut places: Vec<String> = curves.iter().map(|curve| super::place(&curve.x)).collect();
    places.dedup();
    if curves.iter().all(|curve| curve.values.is_empty()) {
        return Err("there is nothing to draw".into());
    }
    let height = 320 * places.len() as u32;
    let root = SVGBackend::with_string(picture, (900, height)).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, place) in root.split_evenly((places.len(), 1)).iter().zip(&places) {
        let here = curves.iter().filter(|curve| super::place(&curve.x) == *place);
        panel(area, &format!("{title} ({place})"), &here.collect::<Vec<_>>())?;
    }
    root.present()?;
    Ok(())
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    curves: &[&Curve],
) -> Result<(), Failure> {
    let all = || curves.iter().flat_map(|curve| &curve.values).copied();
    let (least, most) = (all().min().unwrap_or(1).max(1), all().max().unwrap_or(1).max(2));
    let count = curves.iter().map(|curve| curve.values.len()).max().unwrap_or(1);
    let up = (least as f64 / 1.5..most as f64 * 1.5).log_scale();
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(80)
        .build_cartesian_2d(0..count, up)?;
    chart.configure_mesh().x_desc("iteration").draw()?;
    for (curve, colour) in curves.iter().zip(PALETTE) {
        let points = curve.values.iter().enumerate().map(|(at, value)| (at, *value as f64));
        chart
            .draw_series(points.map(|point| Circle::new(point, 1, colour.filled())))?
            .label(&curve.series)
            .legend(move |(x, y)| Circle::new((x + 9, y), 4, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    Ok(())
}
