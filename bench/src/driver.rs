//! The client process of our own contenders: reads orders, makes the calls, answers.
//!
//! Started by the harness as `corbie-bench drive KIND ADDRESS …` (`process.rs`). What a call is,
//! each kind says by implementing [`Client`]; how calls are timed and counted is here, once, and
//! the peers' clients do the same.

use crate::orders::{Answer, Order, Requests};
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why a call failed, in words.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A contender seen from the client: each method prepares what one thread then calls again and
/// again.
pub(crate) trait Client: Sync {
    /// A call of `echo`: takes a value and gives back what the server returned.
    ///
    /// # Errors
    /// When the server cannot be reached.
    fn echo(&self) -> Result<impl FnMut(i64) -> Result<i64, Failure>, Failure>;

    /// Sends oneways and waits until the server has taken them.
    ///
    /// # Errors
    /// When the server cannot be reached, or oneways are lost.
    fn oneways(&self, window: Duration) -> Result<Answer, Failure>;

    /// A call of `echo_octets`: the second argument asks for the octets to be compared, not only
    /// counted.
    ///
    /// # Errors
    /// When the server cannot be reached.
    fn octets(&self) -> Result<impl FnMut(&[u8], bool) -> Result<(), Failure>, Failure>;

    /// Makes `calls` asynchronous calls as fast as they are taken (`pipeline.rs`).
    ///
    /// # Errors
    /// When a call fails, or the contender has no asynchronous calls.
    fn pipelined(&self, calls: u64) -> Result<Answer, Failure> {
        Err(format!("this client makes no asynchronous calls, so not these {calls} either").into())
    }

    /// Makes asynchronous calls for a while, whatever becomes of the replies (`pipeline.rs`).
    ///
    /// # Errors
    /// When a call fails, or the contender has no asynchronous calls.
    fn unbounded(&self, window: Duration, step: Duration) -> Result<Answer, Failure> {
        Err(format!("this client makes no asynchronous calls ({window:?}, {step:?})").into())
    }

    /// Makes one call and counts its octets on the wire.
    ///
    /// # Errors
    /// When the call fails, or the contender cannot count.
    fn wire(&self) -> Result<Answer, Failure> {
        Err("this client does not count octets".into())
    }

    /// Does something within the process for a while (`local.rs`).
    ///
    /// # Errors
    /// When it fails, or the contender has a server to be called.
    fn local(&self, size: u64, window: Duration) -> Result<Answer, Failure> {
        Err(format!("this client measures nothing by itself ({size}, {window:?})").into())
    }

    /// Has events published and counts those that reach every consumer (`events.rs`).
    ///
    /// # Errors
    /// When an event is lost, or the contender is no event channel.
    fn events(&self, consumers: u64, octets: usize, window: Duration) -> Result<Answer, Failure> {
        Err(format!("this client has no events ({consumers}, {octets}, {window:?})").into())
    }

    /// Starts the components of MSHN (`mshn.rs`).
    ///
    /// # Errors
    /// When one does not start, or the client has none.
    fn components(&self, pause: Duration) -> Result<Answer, Failure> {
        Err(format!("this client has no components (that pause for {pause:?})").into())
    }

    /// Makes requests for schedules (`mshn.rs`).
    ///
    /// # Errors
    /// When they cannot be made, or the client has no components.
    fn requests(&self, requests: &Requests) -> Result<Answer, Failure> {
        Err(format!("this client has no components to ask {} times", requests.count).into())
    }

    /// Calls from `threads` threads; a contender that needs no thread per call in flight has its
    /// own way.
    ///
    /// # Errors
    /// When a call fails.
    fn threads(
        &self,
        threads: usize,
        warm_up: Duration,
        window: Duration,
    ) -> Result<Answer, Failure> {
        count_calls(self, threads, warm_up, window)
    }
}

/// Reads orders until the input ends.
///
/// # Errors
/// When the harness cannot be read from or written to.
pub(crate) fn drive<C: Client>(client: &C) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let answer = line?.parse().map_err(Failure::from).and_then(|order| obey(client, &order));
        let mut out = io::stdout().lock();
        match answer {
            Ok(answer) => writeln!(out, "{answer}")?,
            Err(failure) => writeln!(out, "error {}", failure.to_string().replace('\n', " "))?,
        }
        out.flush()?;
    }
    Ok(())
}

fn obey<C: Client>(client: &C, order: &Order) -> Result<Answer, Failure> {
    let ms = Duration::from_millis;
    match *order {
        Order::Latency { warm_up, calls } => time_calls(client, warm_up, calls),
        Order::Threads { threads, warm_up_ms, window_ms } => {
            client.threads(threads, ms(warm_up_ms), ms(window_ms))
        }
        Order::Oneways { window_ms } => client.oneways(ms(window_ms)),
        Order::Octets { size, warm_up_ms, window_ms } => {
            echo_octets(client, size, ms(warm_up_ms), ms(window_ms))
        }
        Order::Pipelined { calls } => client.pipelined(calls),
        Order::Wire => client.wire(),
        Order::Local { size, window_ms } => client.local(size, ms(window_ms)),
        Order::Events { consumers, octets, window_ms } => {
            client.events(consumers, octets, ms(window_ms))
        }
        Order::Unbounded { window_ms, step_ms } => client.unbounded(ms(window_ms), ms(step_ms)),
        Order::Components { pause_us } => client.components(Duration::from_micros(pause_us)),
        Order::Requests(ref requests) => client.requests(requests),
        ref other => Err(format!("this client does not know the order `{other}`").into()),
    }
}

/// Times every call. The clock is read once a call: one call's end is the next one's start.
fn time_calls<C: Client>(client: &C, warm_up: u64, calls: u64) -> Result<Answer, Failure> {
    let mut echo = client.echo()?;
    for value in 0..warm_up as i64 {
        echo(value)?;
    }
    let mut times = Vec::with_capacity(calls as usize);
    let mut before = Instant::now();
    for value in 0..calls as i64 {
        if echo(value)? != value {
            return Err("the echo came back changed".into());
        }
        let after = Instant::now();
        times.push((after - before).as_nanos() as u64);
        before = after;
    }
    times.sort_unstable();
    let mut counts: Vec<(u64, u64)> = Vec::with_capacity(times.len());
    for time in times {
        match counts.last_mut() {
            Some((last, count)) if *last == time => *count += 1,
            _ => counts.push((time, 1)),
        }
    }
    Ok(Answer::Samples(counts))
}

/// Calls from many threads, and counts what completes between warm-up and end.
pub(crate) fn count_calls<C: Client + ?Sized>(
    client: &C,
    threads: usize,
    warm_up: Duration,
    window: Duration,
) -> Result<Answer, Failure> {
    let counting = AtomicBool::new(false);
    let over = AtomicBool::new(false);
    let caller = || -> Result<u64, Failure> {
        let mut echo = client.echo()?;
        let mut calls = 0;
        while !over.load(Ordering::Relaxed) {
            if echo(42)? != 42 {
                return Err("the echo came back changed".into());
            }
            calls += u64::from(counting.load(Ordering::Relaxed));
        }
        Ok(calls)
    };
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..threads).map(|_| scope.spawn(caller)).collect();
        std::thread::sleep(warm_up); // tidy: sleep: the window of a measurement
        let before = Instant::now();
        counting.store(true, Ordering::Relaxed);
        std::thread::sleep(window); // tidy: sleep: the window of a measurement
        over.store(true, Ordering::Relaxed);
        let nanoseconds = before.elapsed().as_nanos() as u64;
        let mut calls = 0;
        for caller in callers {
            calls += caller.join().map_err(|_| "a calling thread panicked")??;
        }
        Ok(Answer::Rate { calls, nanoseconds })
    })
}

/// Sends oneways with `send` until the window is over, then waits until `received` says that they
/// all arrived.
///
/// # Errors
/// When a call fails.
pub(crate) fn count_oneways(
    window: Duration,
    mut send: impl FnMut(i64) -> Result<(), Failure>,
    mut received: impl FnMut() -> Result<u64, Failure>,
) -> Result<Answer, Failure> {
    let before_all = received()?;
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < window {
        for value in 0..100 {
            send(value)?;
        }
        sent += 100;
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while received()? < before_all + sent {
        if Instant::now() > deadline {
            return Err("oneways were lost".into());
        }
    }
    Ok(Answer::Rate { calls: sent, nanoseconds: start.elapsed().as_nanos() as u64 })
}

/// Echoes a sequence of octets: compares all of it while warming up, counts calls afterwards.
fn echo_octets<C: Client>(
    client: &C,
    size: usize,
    warm_up: Duration,
    window: Duration,
) -> Result<Answer, Failure> {
    let data: Vec<u8> = (0..size).map(|at| (at * 31) as u8).collect();
    let mut echo = client.octets()?;
    let start = Instant::now();
    loop {
        echo(&data, true)?;
        if start.elapsed() >= warm_up {
            break;
        }
    }
    let start = Instant::now();
    let mut calls = 0;
    loop {
        echo(&data, false)?;
        calls += 1;
        let elapsed = start.elapsed();
        if elapsed >= window {
            return Ok(Answer::Rate { calls, nanoseconds: elapsed.as_nanos() as u64 });
        }
    }
}

/// Says how far a long order is; the harness shows it, and waits on.
///
/// # Errors
/// When the harness cannot be written to.
pub(crate) fn progress(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{PROGRESS}{text}")?;
    out.flush()
}

/// What a line of [`progress`] begins with.
pub(crate) const PROGRESS: &str = "progress ";

/// Says that the server can be called, and ends the process when the harness closes standard input.
///
/// # Errors
/// When the harness cannot be written to.
pub(crate) fn serve_until_input_ends(address: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "ready {address}")?;
    out.flush()?;
    drop(out);
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers in the process; `wrong` breaks it.
    struct Local {
        wrong: bool,
    }

    impl Client for Local {
        fn echo(&self) -> Result<impl FnMut(i64) -> Result<i64, Failure>, Failure> {
            Ok(|value| Ok(value + i64::from(self.wrong)))
        }

        fn oneways(&self, window: Duration) -> Result<Answer, Failure> {
            let taken = std::cell::Cell::new(0);
            let send = |_| -> Result<(), Failure> {
                taken.set(taken.get() + 1);
                Ok(())
            };
            count_oneways(window, send, || Ok(taken.get()))
        }

        fn octets(&self) -> Result<impl FnMut(&[u8], bool) -> Result<(), Failure>, Failure> {
            Ok(
                |data: &[u8], _| {
                    if self.wrong || data.len() != 64 { Err("wrong".into()) } else { Ok(()) }
                },
            )
        }
    }

    fn orders() -> [Order; 4] {
        [
            Order::Latency { warm_up: 5, calls: 100 },
            Order::Threads { threads: 3, warm_up_ms: 1, window_ms: 10 },
            Order::Oneways { window_ms: 2 },
            Order::Octets { size: 64, warm_up_ms: 1, window_ms: 2 },
        ]
    }

    #[test]
    fn every_order_is_obeyed() {
        for order in orders() {
            match obey(&Local { wrong: false }, &order).unwrap() {
                Answer::Samples(samples) => {
                    assert_eq!(samples.iter().map(|(_, count)| count).sum::<u64>(), 100);
                }
                Answer::Rate { calls, nanoseconds } => {
                    assert!(calls > 0, "{order}");
                    assert!(nanoseconds >= 2_000_000, "{order}");
                }
                other => panic!("{order}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_a_client_cannot_do_it_says() {
        for (order, text) in [
            (Order::Pipelined { calls: 5 }, "no asynchronous calls"),
            (Order::Unbounded { window_ms: 5, step_ms: 1 }, "no asynchronous calls"),
            (Order::Wire, "does not count octets"),
            (Order::Events { consumers: 1, octets: 64, window_ms: 1 }, "no events"),
            (Order::Local { size: 5, window_ms: 1 }, "measures nothing by itself"),
            (Order::Components { pause_us: 5 }, "has no components"),
            (Order::Connect { clients: 5 }, "does not know the order `connect 5`"),
        ] {
            let error = obey(&Local { wrong: false }, &order).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn a_changed_echo_is_noticed() {
        for order in &orders()[..2] {
            let error = obey(&Local { wrong: true }, order).unwrap_err();
            assert_eq!(error.to_string(), "the echo came back changed");
        }
        assert!(obey(&Local { wrong: true }, &orders()[3]).is_err());
    }
}
