//! What the harness asks of a client process, and what the client answers: one line of text each.
//!
//! The harness writes orders to a client's standard input (`experiment.rs`); our own clients read
//! them in `driver.rs`, the peers' in `peers/omniorb/echo.cc` and
//! `peers/jacorb/…/EchoProgram.java`. Plain text, so that a peer in any language needs no library
//! for it.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// One thing for a client to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// One thread calls `echo` again and again; every round trip is timed.
    Latency {
        /// Calls made before the timed ones.
        warm_up: u64,
        /// Calls timed.
        calls: u64,
    },
    /// Many threads call `echo` as fast as they can for a while.
    Threads {
        /// Threads that call.
        threads: usize,
        /// Milliseconds before counting starts.
        warm_up_ms: u64,
        /// Milliseconds during which completed calls are counted.
        window_ms: u64,
    },
    /// One thread sends oneways for a while, then waits until the server has taken them all.
    Oneways {
        /// Milliseconds during which oneways are sent; the time waited afterwards counts as well.
        window_ms: u64,
    },
    /// One thread echoes a sequence of octets for a while.
    Octets {
        /// Octets in the sequence.
        size: usize,
        /// Milliseconds of calls before counting starts (at least one call, checked octet by
        /// octet).
        warm_up_ms: u64,
        /// Milliseconds of calls counted.
        window_ms: u64,
    },
    /// Source clients connect, and wait until each has been accepted.
    Connect {
        /// Clients.
        clients: usize,
    },
    /// Many source clients, each with a connection and one call under way (`sources.rs`).
    Sources {
        /// Clients.
        clients: usize,
        /// Milliseconds before counting starts.
        warm_up_ms: u64,
        /// Milliseconds during which replies are counted.
        window_ms: u64,
    },
    /// A fixed number of asynchronous calls, sent as fast as they are taken; the time ends with
    /// the last reply.
    Pipelined {
        /// Calls.
        calls: u64,
    },
    /// One call through a relay that counts its octets.
    Wire,
    /// Something is done again and again within the process (`local.rs`).
    Local {
        /// How many of whatever is varied: levels, servants, octets.
        size: u64,
        /// Milliseconds during which it is done and counted.
        window_ms: u64,
    },
    /// Events are published to consumers, all by processes that the client starts (`events.rs`).
    Events {
        /// Consumers.
        consumers: u64,
        /// Octets in an event.
        octets: usize,
        /// Milliseconds that the counted run is to take, about.
        window_ms: u64,
    },
    /// The components of MSHN are started; computing a schedule is made to take so long
    /// (`mshn.rs`).
    Components {
        /// Microseconds of the advisor's pause.
        pause_us: u64,
    },
    /// Requests for schedules of MSHN, each counted when it is made and when it is answered.
    Requests(Requests),
    /// Asynchronous calls for a while, without ever waiting for replies: how many come back, and
    /// how much memory the client holds meanwhile, step by step.
    Unbounded {
        /// Milliseconds during which calls are made.
        window_ms: u64,
        /// Milliseconds between two samples.
        step_ms: u64,
    },
}

/// What [`Order::Requests`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requests {
    /// Requests made before those that count.
    pub(crate) warm_up: u64,
    /// Requests that count.
    pub(crate) count: u64,
    /// Whether a request does not wait for the answer to the one before.
    pub(crate) is_bursty: bool,
    /// Of a burst: microseconds from one request to the next.
    pub(crate) gap_us: u64,
    /// Whether the advisor's reference is resolved anew for each.
    pub(crate) resolves: bool,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Latency { warm_up, calls } => write!(f, "latency {warm_up} {calls}"),
            Order::Threads { threads, warm_up_ms, window_ms } => {
                write!(f, "threads {threads} {warm_up_ms} {window_ms}")
            }
            Order::Oneways { window_ms } => write!(f, "oneways {window_ms}"),
            Order::Octets { size, warm_up_ms, window_ms } => {
                write!(f, "octets {size} {warm_up_ms} {window_ms}")
            }
            Order::Connect { clients } => write!(f, "connect {clients}"),
            Order::Sources { clients, warm_up_ms, window_ms } => {
                write!(f, "sources {clients} {warm_up_ms} {window_ms}")
            }
            Order::Pipelined { calls } => write!(f, "pipelined {calls}"),
            Order::Wire => f.write_str("wire"),
            Order::Local { size, window_ms } => write!(f, "local {size} {window_ms}"),
            Order::Events { consumers, octets, window_ms } => {
                write!(f, "events {consumers} {octets} {window_ms}")
            }
            Order::Components { pause_us } => write!(f, "components {pause_us}"),
            Order::Requests(r) => {
                let (burst, resolves) = (u8::from(r.is_bursty), u8::from(r.resolves));
                write!(f, "requests {} {} {burst} {} {resolves}", r.warm_up, r.count, r.gap_us)
            }
            Order::Unbounded { window_ms, step_ms } => {
                write!(f, "unbounded {window_ms} {step_ms}")
            }
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(line: &str) -> Result<Order, String> {
        let mut words = line.split_ascii_whitespace();
        let verb = words.next().unwrap_or_default();
        let numbers: Vec<u64> = words
            .map(|word| word.parse().map_err(|_| format!("`{word}` in `{line}` is no number")))
            .collect::<Result<_, _>>()?;
        match (verb, numbers.as_slice()) {
            ("latency", &[warm_up, calls]) => Ok(Order::Latency { warm_up, calls }),
            ("threads", &[threads, warm_up_ms, window_ms]) => {
                Ok(Order::Threads { threads: threads as usize, warm_up_ms, window_ms })
            }
            ("oneways", &[window_ms]) => Ok(Order::Oneways { window_ms }),
            ("octets", &[size, warm_up_ms, window_ms]) => {
                Ok(Order::Octets { size: size as usize, warm_up_ms, window_ms })
            }
            ("connect", &[clients]) => Ok(Order::Connect { clients: clients as usize }),
            ("sources", &[clients, warm_up_ms, window_ms]) => {
                Ok(Order::Sources { clients: clients as usize, warm_up_ms, window_ms })
            }
            ("pipelined", &[calls]) => Ok(Order::Pipelined { calls }),
            ("wire", &[]) => Ok(Order::Wire),
            ("local", &[size, window_ms]) => Ok(Order::Local { size, window_ms }),
            ("events", &[consumers, octets, window_ms]) => {
                Ok(Order::Events { consumers, octets: octets as usize, window_ms })
            }
            ("components", &[pause_us]) => Ok(Order::Components { pause_us }),
            ("requests", &[warm_up, count, is_bursty, gap_us, resolves]) => {
                let (is_bursty, resolves) = (is_bursty != 0, resolves != 0);
                Ok(Order::Requests(Requests { warm_up, count, is_bursty, gap_us, resolves }))
            }
            ("unbounded", &[window_ms, step_ms]) => Ok(Order::Unbounded { window_ms, step_ms }),
            _ => Err(format!(
                "`{line}` is not an order (latency, threads, oneways, octets, connect, sources, \
                 pipelined, wire, local, events, components, requests, unbounded)"
            )),
        }
    }
}

/// What a client found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Round trips: nanoseconds, and how many took that long.
    Samples(Vec<(u64, u64)>),
    /// Calls completed in a time.
    Rate {
        /// Calls completed and checked.
        calls: u64,
        /// Nanoseconds in which they were.
        nanoseconds: u64,
    },
    /// What happened step by step.
    Steps(Vec<Step>),
    /// Nanoseconds of each iteration, in their order.
    Curve(Vec<u64>),
    /// Requests that were made and answered.
    Answered(Answered),
    /// Octets of one call on the wire.
    Wire {
        /// From the client.
        request: u64,
        /// From the server.
        reply: u64,
    },
}

/// The part of the busiest replica, in millionths of the work of its kind; 0 where there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Of requests, among advisors.
    pub(crate) advisor: u64,
    /// Of requests, among status servers or among requirement databases.
    pub(crate) server: u64,
    /// Of processor time, among event service processes.
    pub(crate) channel: u64,
}

/// What became of [`Requests`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answered {
    /// Requests made.
    pub(crate) asked: u64,
    /// Requests answered, each once and with the placement of its own job.
    pub(crate) answered: u64,
    /// From the first request to the last answer.
    pub(crate) nanoseconds: u64,
    /// Processor time of all processes together.
    pub(crate) processor_ns: u64,
    /// From request to answer: half of all took less.
    pub(crate) p50_ns: u64,
    /// 99 % took less.
    pub(crate) p99_ns: u64,
    /// How work spread over replicas.
    pub(crate) shares: Shares,
}

/// One step of [`Order::Unbounded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Step {
    /// Microseconds since the start at which the step ended.
    pub(crate) at_us: u64,
    /// Replies that came in the step.
    pub(crate) replies: u64,
    /// Calls sent and not answered, at its end.
    pub(crate) pending: u64,
    /// Kibibytes of memory that the client held at its end.
    pub(crate) resident_kib: u64,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.at_us, self.replies, self.pending, self.resident_kib)
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(word: &str) -> Result<Step, String> {
        let numbers: Vec<u64> = word
            .split(':')
            .map(|number| number.parse().map_err(|_| format!("no step: `{word}`")))
            .collect::<Result<_, _>>()?;
        match numbers.as_slice() {
            &[at_us, replies, pending, resident_kib] => {
                Ok(Step { at_us, replies, pending, resident_kib })
            }
            _ => Err(format!("no step: `{word}`")),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Samples(samples) => {
                f.write_str("samples")?;
                samples.iter().try_for_each(|(time, count)| write!(f, " {time}:{count}"))
            }
            Answer::Rate { calls, nanoseconds } => write!(f, "rate {calls} {nanoseconds}"),
            Answer::Wire { request, reply } => write!(f, "wire {request} {reply}"),
            Answer::Answered(a) => {
                write!(f, "answered {} {} {} ", a.asked, a.answered, a.nanoseconds)?;
                write!(f, "{} {} {} ", a.processor_ns, a.p50_ns, a.p99_ns)?;
                write!(f, "{} {} {}", a.shares.advisor, a.shares.server, a.shares.channel)
            }
            Answer::Curve(times) => {
                f.write_str("curve")?;
                times.iter().try_for_each(|time| write!(f, " {time}"))
            }
            Answer::Steps(steps) => {
                f.write_str("steps")?;
                steps.iter().try_for_each(|step| write!(f, " {step}"))
            }
        }
    }
}

impl FromStr for Answer {
    type Err = String;

    fn from_str(line: &str) -> Result<Answer, String> {
        let number = |word: &str| word.parse::<u64>().map_err(|_| format!("no number: `{word}`"));
        let (verb, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match verb {
            "samples" => {
                let pair = |word: &str| {
                    let (time, count) =
                        word.split_once(':').ok_or_else(|| format!("no pair: `{word}`"))?;
                    Ok((number(time)?, number(count)?))
                };
                rest.split_ascii_whitespace()
                    .map(pair)
                    .collect::<Result<_, String>>()
                    .map(Answer::Samples)
            }
            "rate" => {
                let (calls, nanoseconds) =
                    rest.split_once(' ').ok_or_else(|| format!("no rate: `{line}`"))?;
                Ok(Answer::Rate { calls: number(calls)?, nanoseconds: number(nanoseconds)? })
            }
            "wire" => {
                let (request, reply) =
                    rest.split_once(' ').ok_or_else(|| format!("no octets: `{line}`"))?;
                Ok(Answer::Wire { request: number(request)?, reply: number(reply)? })
            }
            "answered" => {
                let numbers: Vec<u64> =
                    rest.split_ascii_whitespace().map(number).collect::<Result<_, String>>()?;
                let &[asked, answered, nanoseconds, ref rest @ ..] = numbers.as_slice() else {
                    return Err(format!("no counts: `{line}`"));
                };
                let &[processor_ns, p50_ns, p99_ns, advisor, server, channel] = rest else {
                    return Err(format!("no times and shares: `{line}`"));
                };
                let shares = Shares { advisor, server, channel };
                Ok(Answer::Answered(Answered {
                    asked,
                    answered,
                    nanoseconds,
                    processor_ns,
                    p50_ns,
                    p99_ns,
                    shares,
                }))
            }
            "curve" => {
                let times = rest.split_ascii_whitespace().map(number);
                times.collect::<Result<_, String>>().map(Answer::Curve)
            }
            "steps" => {
                let steps = rest.split_ascii_whitespace().map(str::parse);
                steps.collect::<Result<_, String>>().map(Answer::Steps)
            }
            "error" => Err(rest.to_owned()),
            _ => Err(format!("the client said `{line}`, which is no answer")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_survives_its_text_form() {
        for order in [
            Order::Latency { warm_up: 10, calls: 20 },
            Order::Threads { threads: 7, warm_up_ms: 1, window_ms: 2 },
            Order::Oneways { window_ms: 3 },
            Order::Octets { size: 1 << 24, warm_up_ms: 4, window_ms: 5 },
            Order::Connect { clients: 10_000 },
            Order::Sources { clients: 10_000, warm_up_ms: 6, window_ms: 7 },
            Order::Pipelined { calls: 2_200_000 },
            Order::Wire,
            Order::Local { size: 1_000_000, window_ms: 10 },
            Order::Unbounded { window_ms: 8, step_ms: 9 },
            Order::Components { pause_us: 500_000 },
            Order::Requests(Requests {
                warm_up: 1,
                count: 2,
                is_bursty: true,
                gap_us: 3,
                resolves: false,
            }),
        ] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        assert!("latency 5".parse::<Order>().is_err());
        assert!("latency five 6".parse::<Order>().is_err());
        assert!("".parse::<Order>().is_err());
    }

    #[test]
    fn every_answer_survives_its_text_form() {
        for answer in [
            Answer::Samples(vec![(4_600, 12), (4_610, 7)]),
            Answer::Rate { calls: 1, nanoseconds: 2 },
            Answer::Wire { request: 3, reply: 4 },
            Answer::Answered(Answered {
                asked: 1,
                answered: 2,
                nanoseconds: 3,
                processor_ns: 4,
                p50_ns: 5,
                p99_ns: 6,
                shares: Shares { advisor: 7, server: 8, channel: 9 },
            }),
            Answer::Curve(vec![5, 6]),
            Answer::Steps(vec![Step { at_us: 1, replies: 2, pending: 3, resident_kib: 4 }]),
        ] {
            assert_eq!(answer.to_string().parse(), Ok(answer));
        }
        assert_eq!("error COMM_FAILURE".parse::<Answer>(), Err("COMM_FAILURE".to_owned()));
        assert!("rate 5".parse::<Answer>().is_err());
        assert!("wire 5".parse::<Answer>().is_err());
        assert!("answered 5 6".parse::<Answer>().is_err());
        assert!("curve five".parse::<Answer>().is_err());
        assert!("steps 5:6".parse::<Answer>().is_err());
        assert!("samples 5".parse::<Answer>().is_err());
        assert!("hello".parse::<Answer>().is_err());
    }
}
