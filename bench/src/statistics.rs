//! The numbers quoted: percentiles of one round (HdrHistogram), then medians and spread over
//! rounds.
//!
//! `experiment.rs` turns every client's answer into named metrics here; `record.rs` takes the
//! medians.

use crate::orders::Answer;
use hdrhistogram::Histogram;

/// A metric of one round: its name, which carries the unit, and its value.
pub(crate) type Metric = (&'static str, f64);

/// Metrics of one answer; `octets_per_call` is the payload carried there and back by a call (0:
/// none).
///
/// # Errors
/// When the answer holds no sample or no time.
pub(crate) fn metrics(answer: &Answer, octets_per_call: u64) -> Result<Vec<Metric>, String> {
    match answer {
        Answer::Samples(samples) => latency_metrics(samples),
        Answer::Rate { calls, nanoseconds } => {
            if *calls == 0 || *nanoseconds == 0 {
                return Err(format!("{calls} calls in {nanoseconds} ns give no rate"));
            }
            let seconds = *nanoseconds as f64 / 1e9;
            let calls = *calls as f64;
            Ok(match octets_per_call {
                0 => vec![("calls_per_s", calls / seconds)],
                octets => vec![
                    ("mb_per_s", calls * octets as f64 / 1e6 / seconds),
                    ("rtt_mean_us", seconds * 1e6 / calls),
                ],
            })
        }
    }
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

    fn value(metrics: &[Metric], name: &str) -> f64 {
        metrics.iter().find(|(n, _)| *n == name).map(|(_, v)| *v).unwrap()
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
        let metrics = metrics(&Answer::Samples(samples.to_vec()), 0).unwrap();
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
        assert_eq!(metrics(&answer, 0).unwrap(), [("calls_per_s", 2_000.0)]);
        let both_ways = 2 * 1_000_000;
        let of_octets = metrics(&answer, both_ways).unwrap();
        assert_eq!(value(&of_octets, "mb_per_s"), 4_000.0);
        assert_eq!(value(&of_octets, "rtt_mean_us"), 500.0);
    }

    #[test]
    fn nothing_measured_is_an_error() {
        assert!(metrics(&Answer::Samples(vec![]), 0).is_err());
        assert!(metrics(&Answer::Rate { calls: 0, nanoseconds: 5 }, 0).is_err());
        assert!(metrics(&Answer::Rate { calls: 5, nanoseconds: 0 }, 0).is_err());
    }
}
