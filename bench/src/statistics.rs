//! The numbers quoted: percentiles of one round (HdrHistogram), then medians and spread over
//! rounds.
//!
//! `experiment.rs` turns every client's answer into named metrics here; `record.rs` takes the
//! medians.

use crate::orders::{Answer, Answered, Order, Step};
use hdrhistogram::Histogram;

/// A metric of one round: its name, which carries the unit, and its value.
pub(crate) type Metric = (&'static str, f64);

/// Metrics of one answer to an order.
///
/// # Errors
/// When the answer holds no sample or no time.
pub(crate) fn metrics(answer: &Answer, order: &Order) -> Result<Vec<Metric>, String> {
    match answer {
        Answer::Samples(samples) => latency_metrics(samples),
        Answer::Rate { calls, nanoseconds } => {
            if *calls == 0 || *nanoseconds == 0 {
                return Err(format!("{calls} calls in {nanoseconds} ns give no rate"));
            }
            let seconds = *nanoseconds as f64 / 1e9;
            let calls = *calls as f64;
            Ok(match *order {
                Order::Octets { size, .. } => vec![
                    // The payload goes there and comes back.
                    ("mb_per_s", calls * 2.0 * size as f64 / 1e6 / seconds),
                    ("rtt_mean_us", seconds * 1e6 / calls),
                ],
                Order::Local { .. } => {
                    vec![("ns_per_op", seconds * 1e9 / calls), ("calls_per_s", calls / seconds)]
                }
                Order::Events { consumers, .. } => vec![
                    ("events_per_s", calls / seconds),
                    ("deliveries_per_s", calls * consumers as f64 / seconds),
                ],
                Order::Sources { .. } => vec![("replies_per_s", calls / seconds)],
                _ => vec![("calls_per_s", calls / seconds)],
            })
        }
        Answer::Steps(steps) => step_metrics(steps),
        Answer::Answered(answered) => answered_metrics(answered),
        Answer::Curve(times) => curve_metrics(times),
        Answer::Wire { request, reply } => {
            Ok(vec![("request_octets", *request as f64), ("reply_octets", *reply as f64)])
        }
    }
}

/// Of a run in steps: the rate over all of it, the worst step after the first fifth, when it should
/// be steady, and the most memory and the most pending calls at any time.
fn step_metrics(steps: &[Step]) -> Result<Vec<Metric>, String> {
    let last = steps.last().ok_or("the client made no step")?;
    let all: u64 = steps.iter().map(|step| step.replies).sum();
    let rates = step_rates(steps);
    let steady = &rates[rates.len() / 5..];
    let most = |of: fn(&Step) -> u64| steps.iter().map(of).max().unwrap_or(0) as f64;
    Ok(vec![
        ("calls_per_s", all as f64 * 1e6 / last.at_us as f64),
        ("slowest_step_calls_per_s", steady.iter().copied().fold(f64::MAX, f64::min)),
        ("resident_mib", most(|step| step.resident_kib) / 1024.0),
        ("pending_calls", most(|step| step.pending)),
    ])
}

/// Of requests for schedules: the time of all divided by their number, as the paper has it; how
/// long one took to be answered; what it cost all processors together; and who answered.
fn answered_metrics(found: &Answered) -> Result<Vec<Metric>, String> {
    if found.answered == 0 {
        return Err(format!("of {} requests none was answered", found.asked));
    }
    let answered = found.answered as f64;
    let share = |millionths: u64| (millionths > 0).then_some(millionths as f64 / 1e4);
    let shares = [
        ("busiest_advisor_pct", share(found.shares.advisor)),
        ("busiest_server_pct", share(found.shares.server)),
        ("busiest_channel_pct", share(found.shares.channel)),
    ];
    let mut metrics = vec![
        ("ms_per_request", found.nanoseconds as f64 / 1e6 / answered),
        ("asked", found.asked as f64),
        ("answered", answered),
        ("response_p50_ms", found.p50_ns as f64 / 1e6),
        ("response_p99_ms", found.p99_ns as f64 / 1e6),
        ("cpu_us_per_request", found.processor_ns as f64 / 1e3 / answered),
    ];
    metrics.extend(shares.into_iter().filter_map(|(name, share)| Some((name, share?))));
    Ok(metrics)
}

/// Of a curve: how long an iteration usually takes, how long the dearest do, and how far they
/// scatter (standard deviation as a share of the mean).
fn curve_metrics(times: &[u64]) -> Result<Vec<Metric>, String> {
    let mut histogram = Histogram::<u64>::new(3).map_err(|e| e.to_string())?;
    for time in times {
        histogram.record(*time).map_err(|e| e.to_string())?;
    }
    if histogram.is_empty() {
        return Err("nothing was iterated".to_owned());
    }
    Ok(vec![
        ("ns_p50", histogram.value_at_quantile(0.5) as f64),
        ("ns_mean", histogram.mean()),
        ("ns_p99", histogram.value_at_quantile(0.99) as f64),
        ("ns_p99.9", histogram.value_at_quantile(0.999) as f64),
        ("ns_max", histogram.max() as f64),
        ("jitter_pct", 100.0 * histogram.stdev() / histogram.mean()),
    ])
}

/// Replies a second in each step.
pub(crate) fn step_rates(steps: &[Step]) -> Vec<f64> {
    let mut before_us = 0;
    let mut rate = |step: &Step| {
        let elapsed_us = step.at_us.saturating_sub(before_us).max(1);
        before_us = step.at_us;
        step.replies as f64 * 1e6 / elapsed_us as f64
    };
    steps.iter().map(&mut rate).collect()
}

/// Percentiles (histogram of three digits), mean, extremes and jitter (standard deviation as a
/// share of the mean, which is how paper AMI's Table 1 has it).
fn latency_metrics(samples: &[(u64, u64)]) -> Result<Vec<Metric>, String> {
    let mut histogram = Histogram::<u64>::new(3).map_err(|e| e.to_string())?;
    for &(time, count) in samples {
        histogram.record_n(time, count).map_err(|e| e.to_string())?;
    }
    if histogram.is_empty() {
        return Err("the client timed no call".to_owned());
    }
    let microseconds = |time: u64| time as f64 / 1e3;
    Ok(vec![
        ("rtt_min_us", microseconds(histogram.min())),
        ("rtt_mean_us", histogram.mean() / 1e3),
        ("rtt_p50_us", microseconds(histogram.value_at_quantile(0.5))),
        ("rtt_p99_us", microseconds(histogram.value_at_quantile(0.99))),
        ("rtt_p99.9_us", microseconds(histogram.value_at_quantile(0.999))),
        ("rtt_max_us", microseconds(histogram.max())),
        ("jitter_pct", 100.0 * histogram.stdev() / histogram.mean()),
    ])
}

/// The middle value; of an even number, the mean of the two in the middle; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Whether a smaller value of this metric is the better one (times, allocations), or a larger one
/// (rates).
pub(crate) fn smaller_is_better(metric: &str) -> bool {
    !metric.ends_with("_per_s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::Shares;

    fn value(metrics: &[Metric], name: &str) -> f64 {
        metrics.iter().find(|(n, _)| *n == name).map(|(_, v)| *v).unwrap()
    }

    #[test]
    fn a_curve_gives_the_usual_and_the_dearest_iteration() {
        let times: Vec<u64> = (0..1_000).map(|at| if at == 500 { 9_000 } else { 100 }).collect();
        let order = Order::Local { size: 1_000, window_ms: 0 };
        let metrics = metrics(&Answer::Curve(times), &order).unwrap();
        assert_eq!(value(&metrics, "ns_p50"), 100.0);
        assert_eq!(value(&metrics, "ns_p99"), 100.0);
        assert!((value(&metrics, "ns_max") - 9_000.0).abs() < 10.0);
        assert!(curve_metrics(&[]).is_err());
    }

    const LATENCY: Order = Order::Latency { warm_up: 0, calls: 1 };

    #[test]
    fn steps_give_the_whole_rate_and_the_worst_that_happened() {
        let step =
            |at_us, replies, pending, resident_kib| Step { at_us, replies, pending, resident_kib };
        let steps = [
            step(100_000, 10, 5, 1_024),
            step(200_000, 100, 9, 2_048),
            step(300_000, 80, 7, 2_048),
            step(400_000, 100, 7, 1_024),
            step(500_000, 110, 0, 1_024),
        ];
        let order = Order::Unbounded { window_ms: 500, step_ms: 100 };
        let metrics = metrics(&Answer::Steps(steps.to_vec()), &order).unwrap();
        assert_eq!(value(&metrics, "calls_per_s"), 800.0);
        assert_eq!(value(&metrics, "slowest_step_calls_per_s"), 800.0);
        assert_eq!(value(&metrics, "resident_mib"), 2.0);
        assert_eq!(value(&metrics, "pending_calls"), 9.0);
        assert!(step_metrics(&[]).is_err());
    }

    #[test]
    fn median_is_the_middle_and_not_the_mean() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[100.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
    }

    #[test]
    fn percentiles_come_from_the_counts() {
        let samples = [(1_000, 500), (2_000, 489), (50_000, 10), (900_000, 1)];
        let metrics = metrics(&Answer::Samples(samples.to_vec()), &LATENCY).unwrap();
        assert_eq!(value(&metrics, "rtt_min_us"), 1.0);
        // Three digits are kept: within 0.1 % of the true value.
        assert!((value(&metrics, "rtt_p50_us") - 1.0).abs() < 0.001);
        assert!((value(&metrics, "rtt_p99_us") - 50.0).abs() < 0.05);
        assert!((value(&metrics, "rtt_p99.9_us") - 50.0).abs() < 0.05);
        assert!((value(&metrics, "rtt_max_us") - 900.0).abs() < 0.9);
        assert!((value(&metrics, "rtt_mean_us") - 2.878).abs() < 0.01);
        assert!(value(&metrics, "jitter_pct") > 500.0);
    }

    #[test]
    fn rates_count_calls_or_octets() {
        let answer = Answer::Rate { calls: 500, nanoseconds: 250_000_000 };
        assert_eq!(metrics(&answer, &LATENCY).unwrap(), [("calls_per_s", 2_000.0)]);
        let both_ways = Order::Octets { size: 1_000_000, warm_up_ms: 0, window_ms: 250 };
        let of_octets = metrics(&answer, &both_ways).unwrap();
        assert_eq!(value(&of_octets, "mb_per_s"), 4_000.0);
        assert_eq!(value(&of_octets, "rtt_mean_us"), 500.0);
    }

    #[test]
    fn requests_give_the_time_of_each_and_who_was_answered() {
        let found = Answered {
            asked: 1_000,
            answered: 800,
            nanoseconds: 400_000_000,
            processor_ns: 160_000_000,
            p50_ns: 250_000,
            p99_ns: 1_000_000,
            shares: Shares { advisor: 600_000, ..Shares::default() },
        };
        let metrics = metrics(&Answer::Answered(found), &LATENCY).unwrap();
        for (name, expected) in [
            ("ms_per_request", 0.5),
            ("asked", 1_000.0),
            ("answered", 800.0),
            ("response_p50_ms", 0.25),
            ("cpu_us_per_request", 200.0),
            ("busiest_advisor_pct", 60.0),
        ] {
            assert_eq!(value(&metrics, name), expected, "{name}");
        }
        assert!(!metrics.iter().any(|(name, _)| name.starts_with("busiest_server")));
        let none = Answered { asked: 5, ..Answered::default() };
        assert!(answered_metrics(&none).unwrap_err().contains("of 5 requests none"));
    }

    #[test]
    fn nothing_measured_is_an_error() {
        assert!(metrics(&Answer::Samples(vec![]), &LATENCY).is_err());
        assert!(metrics(&Answer::Rate { calls: 0, nanoseconds: 5 }, &LATENCY).is_err());
        assert!(metrics(&Answer::Rate { calls: 5, nanoseconds: 0 }, &LATENCY).is_err());
    }
}
