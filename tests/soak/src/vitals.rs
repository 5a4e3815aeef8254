//! How large the server of the channels is: memory, threads and descriptors, from `/proc`, sampled
//! while the soak runs, judged at the end and drawn for the report.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// One look at a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vitals {
    pub(crate) memory_kib: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

impl Vitals {
    /// Looks; `None` when the process is gone.
    pub(crate) fn of(process: u32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?.count() as u64;
        let (memory_kib, threads) = (number("VmRSS:")?, number("Threads:")?);
        Some(Self { memory_kib, threads, descriptors })
    }
}

/// Looks at a process again and again.
pub(crate) struct Sampler {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    process: AtomicU32,
    is_over: AtomicBool,
    samples: Mutex<Vec<(Duration, Vitals)>>,
}

/// Between two looks.
const PERIOD: Duration = Duration::from_millis(100);

impl Sampler {
    /// Looks at a process; samples have the time since `began`.
    pub(crate) fn start(process: u32, began: Instant) -> Self {
        let state = Arc::new(State::default());
        state.process.store(process, Ordering::SeqCst);
        let sampling = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            while !sampling.is_over.load(Ordering::SeqCst) {
                if let Some(vitals) = Vitals::of(sampling.process.load(Ordering::SeqCst)) {
                    let mut samples =
                        sampling.samples.lock().unwrap_or_else(PoisonError::into_inner);
                    samples.push((began.elapsed(), vitals));
                }
                std::thread::park_timeout(PERIOD);
            }
        });
        Self { state, thread: Some(thread) }
    }

    /// The server was replaced.
    pub(crate) fn follow(&self, process: u32) {
        self.state.process.store(process, Ordering::SeqCst);
    }

    pub(crate) fn last(&self) -> Vitals {
        let samples = self.state.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.last().map(|(_, vitals)| *vitals).unwrap_or_default()
    }

    /// All samples.
    pub(crate) fn finish(&mut self) -> Vec<(Duration, Vitals)> {
        self.state.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        std::mem::take(&mut *self.state.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The highest of each kind in the first third of a time, and in the last.
pub(crate) fn thirds(samples: &[(Duration, Vitals)]) -> (Vitals, Vitals) {
    let third = samples.len().div_ceil(3);
    let last = samples.len() - third;
    (peaks(&samples[..third]), peaks(&samples[last..]))
}

/// The highest of each kind.
pub(crate) fn peaks(samples: &[(Duration, Vitals)]) -> Vitals {
    samples.iter().fold(Vitals::default(), |most, (_, now)| Vitals {
        memory_kib: most.memory_kib.max(now.memory_kib),
        threads: most.threads.max(now.threads),
        descriptors: most.descriptors.max(now.descriptors),
    })
}

/// Name, colour, and what is drawn.
type Curve = (&'static str, &'static str, fn(&Vitals) -> f64);

/// The samples as a picture: three curves over time, each with its highest value, and a line where
/// each phase begins.
pub(crate) fn picture(
    samples: &[(Duration, Vitals)],
    phases: &[(Duration, &'static str)],
) -> String {
    const WIDTH: f64 = 900.0;
    const HEIGHT: f64 = 130.0;
    let curves: [Curve; 3] = [
        ("memory, MiB", "#1f6f8b", |v| v.memory_kib as f64 / 1024.0),
        ("threads", "#b0413e", |v| v.threads as f64),
        ("descriptors", "#5a7d2b", |v| v.descriptors as f64),
    ];
    let end = samples.last().map_or(1.0, |(at, _)| at.as_secs_f64()).max(0.001);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n",
        WIDTH + 80.0,
        3.0 * (HEIGHT + 50.0) + 20.0
    );
    for (index, (at, name)) in phases.iter().enumerate() {
        let x = 60.0 + (at.as_secs_f64() / end).min(1.0) * WIDTH;
        let bottom = 3.0 * (HEIGHT + 50.0) - 20.0;
        let next = phases.get(index + 1).map_or(end, |(next, _)| next.as_secs_f64());
        // One that is too short for its name has none.
        let is_wide = next - at.as_secs_f64() > end / 12.0;
        let name = if is_wide { name } else { "" };
        let _ = write!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"30\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#999\" \
             stroke-dasharray=\"4 4\"/>\n<text x=\"{:.1}\" y=\"{}\" fill=\"#666\">{name}</text>\n",
            x + 4.0,
            bottom + 18.0
        );
    }
    // Not more points than can be seen.
    let step = samples.len().div_ceil(WIDTH as usize).max(1);
    for (index, (name, colour, value)) in curves.into_iter().enumerate() {
        let top = 30.0 + index as f64 * (HEIGHT + 50.0);
        let most = samples.iter().map(|(_, v)| value(v)).fold(0.0, f64::max).max(0.001);
        let mut points = String::new();
        for (at, vitals) in samples.iter().step_by(step) {
            let x = 60.0 + at.as_secs_f64() / end * WIDTH;
            let y = top + HEIGHT * (1.0 - value(vitals) / most);
            let _ = write!(points, "{x:.1},{y:.1} ");
        }
        let _ = write!(
            svg,
            "<text x=\"60\" y=\"{:.0}\">{name}, at most {most:.1}; {end:.0} s</text>\n\
             <rect x=\"60\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" \
             stroke=\"#999\"/>\n<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>\n",
            top - 6.0,
            points.trim_end()
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: &[u64]) -> Vec<(Duration, Vitals)> {
        let at = |index| Duration::from_secs(index as u64);
        let vitals = |memory_kib| Vitals { memory_kib, threads: 3, descriptors: 9 };
        memory.iter().enumerate().map(|(index, kib)| (at(index), vitals(*kib))).collect()
    }

    #[test]
    fn this_process_has_vitals() {
        let vitals = Vitals::of(std::process::id()).expect("it is running");
        assert!(vitals.memory_kib > 0 && vitals.threads > 0 && vitals.descriptors > 0);
        assert_eq!(Vitals::of(u32::MAX), None);
    }

    #[test]
    fn thirds_are_compared_by_their_peaks() {
        let memory = |samples: &[u64]| {
            let (first, last) = thirds(&self::samples(samples));
            (first.memory_kib, last.memory_kib)
        };
        assert_eq!(memory(&[1, 9, 2, 50, 60, 3, 8, 4]), (9, 8));
        assert_eq!(memory(&[]), (0, 0));
        assert_eq!(memory(&[7]), (7, 7));
    }

    #[test]
    fn a_picture_has_three_curves_and_its_phases() {
        let phases = [(Duration::ZERO, "one"), (Duration::from_secs(1), "two")];
        let picture = picture(&samples(&[1, 2, 3]), &phases);
        assert_eq!(picture.matches("<polyline").count(), 3);
        assert_eq!(picture.matches("<line").count(), 2);
        assert!(picture.contains(">one<") && picture.contains(">two<"));
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    }
}
