//! A mapping drawn: one bar a task, one line a machine, time to the right (a Gantt chart, in SVG).
//!
//! Text and rectangles are all it has, so it is written as SVG by hand and needs no library.

use super::{Mapping, Problem};
use std::fmt::Write as _;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 50.0;
const LINE: f64 = 26.0;
const BAR: f64 = 20.0;
/// Bars narrower than this many pixels have no room for their task's number.
const ROOM_FOR_NUMBER: f64 = 22.0;
/// Eight colours that also people with weak colour vision can tell apart.
const COLOURS: [&str; 8] =
    ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#88ccee"];

/// The chart of `mapping` with a title; tasks of a machine run in their order. What a machine had
/// to do before is grey.
///
/// # Panics
/// When `mapping` is not one of `problem`.
#[must_use]
pub fn gantt_svg(problem: &Problem, mapping: &Mapping, title: &str) -> String {
    let makespan = mapping.makespan(problem);
    let height = TOP + LINE * problem.machines() as f64 + 40.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}: makespan {makespan:.3}</text>\n",
        escaped(title)
    );
    let scale = if makespan > 0.0 { (WIDTH - LEFT - RIGHT) / makespan } else { 0.0 };
    axis(&mut svg, makespan, scale, height - 32.0);
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
        bar(&mut svg, (x, width), y, COLOURS[task % COLOURS.len()], &name);
        if width >= ROOM_FOR_NUMBER {
            let _ = writeln!(
                svg,
                "<text x=\"{:.2}\" y=\"{:.1}\" fill=\"white\" text-anchor=\"middle\">{task}</text>",
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

/// Five times along the bottom.
fn axis(svg: &mut String, makespan: f64, scale: f64, y: f64) {
    for part in 0..=4 {
        let time = makespan * f64::from(part) / 4.0;
        let x = LEFT + time * scale;
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.2}\" y1=\"{TOP}\" x2=\"{x:.2}\" y2=\"{y:.1}\" stroke=\"#cccccc\"/>\
             <text x=\"{x:.2}\" y=\"{:.1}\" text-anchor=\"middle\">{time:.1}</text>",
            y + 16.0
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::gantt_svg;
    use crate::schedule::{EtcMatrix, Mapping, Problem};

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
