//! A mapping drawn: one bar a task, one line a machine, time to the right (a Gantt chart, in SVG).
//!
//! Text and rectangles are all it has, so it is written as SVG by hand and needs no library.

use super::{Mapping, Problem};
use std::fmt::Write as _;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 50.0;
const LINE: f64 = 26.0;
const BAR: f64 = 20.0;
/// Bars narrower than this many pixels have no room for their task's number.
const ROOM_FOR_NUMBER: f64 = 22.0;
/// Steps of the axis, at most.
const STEPS: f64 = 8.0;
/// Eight colours that also people with weak colour vision can tell apart, each with the one that
/// can be read on it.
const COLOURS: [(&str, &str); 8] = [
    ("#4477aa", "white"),
    ("#ee6677", "black"),
    ("#228833", "white"),
    ("#ccbb44", "black"),
    ("#66ccee", "black"),
    ("#aa3377", "white"),
    ("#999933", "black"),
    ("#332288", "white"),
];

/// The chart of `mapping` with a title; tasks of a machine run in their order. What a machine had
/// to do before is grey.
///
/// # Panics
/// When `mapping` is not one of `problem`.
#[must_use]
pub fn gantt_svg(problem: &Problem, mapping: &Mapping, title: &str) -> String {
    let makespan = mapping.makespan(problem);
    let height = TOP + LINE * problem.machines() as f64 + 56.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}: makespan {makespan:.3}</text>\n",
        escaped(title)
    );
    let scale = if makespan > 0.0 { (WIDTH - LEFT - RIGHT) / makespan } else { 0.0 };
    axis(&mut svg, makespan, scale, height - 48.0);
    let mut ready = problem.ready().to_vec();
    for (machine, busy) in ready.iter().enumerate() {
        let y = line(machine);
        let _ = writeln!(svg, "<text x=\"8\" y=\"{:.1}\">m{machine}</text>", y + 15.0);
        bar(&mut svg, (0.0, *busy * scale), y, "#dddddd", "what it had to do before");
    }
    for (task, machine) in mapping.machines().iter().map(|m| *m as usize).enumerate() {
        let (from, time) = (ready[machine], problem.etc().at(task, machine));
        ready[machine] = from + time;
        let (x, width, y) = (from * scale, time * scale, line(machine));
        let name = format!("task {task}: {from:.3} to {:.3}", from + time);
        let (colour, ink) = COLOURS[task % COLOURS.len()];
        bar(&mut svg, (x, width), y, colour, &name);
        if width >= ROOM_FOR_NUMBER {
            let _ = writeln!(
                svg,
                "<text x=\"{:.2}\" y=\"{:.1}\" fill=\"{ink}\" text-anchor=\"middle\">{task}</text>",
                LEFT + x + width / 2.0,
                y + 14.5
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Where the line of a machine begins.
fn line(machine: usize) -> f64 {
    TOP + LINE * machine as f64
}

fn bar(svg: &mut String, (x, width): (f64, f64), y: f64, colour: &str, name: &str) {
    if width > 0.0 {
        let x = LEFT + x;
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{BAR}\" \
             fill=\"{colour}\" \
             stroke=\"white\" stroke-width=\"0.5\"><title>{name}</title></rect>"
        );
    }
}

/// Round times along the bottom.
fn axis(svg: &mut String, makespan: f64, scale: f64, y: f64) {
    let step = round_step(makespan);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let mut time = 0.0;
    while time <= makespan {
        let x = LEFT + time * scale;
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.2}\" y1=\"{TOP}\" x2=\"{x:.2}\" y2=\"{y:.1}\" stroke=\"#cccccc\"/>\
             <text x=\"{x:.2}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            y + 16.0,
            grouped(&format!("{time:.decimals$}"))
        );
        time += step;
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">\
         time; bars are tasks, by number</text>",
        LEFT.midpoint(WIDTH - RIGHT),
        y + 36.0
    );
}

/// 1, 2 or 5 times a power of ten, such that few steps fill `whole`.
fn round_step(whole: f64) -> f64 {
    let least = whole / STEPS;
    if !(least.is_normal() && least > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least);
    factor.unwrap_or(10.0) * power
}

/// A number with commas between thousands.
fn grouped(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{gantt_svg, grouped, round_step};
    use crate::schedule::{EtcMatrix, Mapping, Problem};

    #[test]
    fn the_axis_has_round_times() {
        for (whole, step) in
            [(8_148_560.0, 2e6), (820.0, 200.0), (8.0, 1.0), (0.7, 0.1), (0.0, 1.0)]
        {
            let found = round_step(whole);
            assert!((found - step).abs() < step * 1e-9, "{whole}: {found}");
        }
        assert_eq!(grouped("1234567.25"), "1,234,567.25");
        assert_eq!(grouped("200"), "200");
        let etc = EtcMatrix::new(1, 1, vec![1700.0]).unwrap();
        let svg = gantt_svg(&Problem::new(etc), &Mapping::new(vec![0]), "one");
        assert!(svg.contains(">1,500</text>"), "{svg}");
        assert!(svg.contains("time; bars are tasks"), "{svg}");
    }

    #[test]
    fn every_task_is_a_bar_on_the_line_of_its_machine() {
        let etc = EtcMatrix::new(3, 2, vec![1.0, 9.0, 9.0, 2.0, 3.0, 9.0]).unwrap();
        let problem = Problem::with_ready(etc, vec![0.0, 2.0]).unwrap();
        let svg = gantt_svg(&problem, &Mapping::new(vec![0, 1, 0]), "a < b");
        assert!(svg.contains("a &lt; b: makespan 4.000"));
        assert!(svg.contains("task 1: 2.000 to 4.000"));
        assert!(svg.contains("task 2: 1.000 to 4.000"));
        let bars = svg.lines().filter(|line| line.contains("<title>")).count();
        assert_eq!(bars, 4, "three tasks and what machine 1 had to do before");
        assert_eq!(svg.matches("<svg").count(), 1);
        assert!(svg.ends_with("</svg>\n"));
    }
}
