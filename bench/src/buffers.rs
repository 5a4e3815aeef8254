//! Paper POA, figure 17: what buffers of the ORB cost when the application uses the heap as well.
//!
//! Each iteration takes and gives back sixteen buffers among a thousand pseudo-random allocations
//! and deallocations, the same in every run; the time of the buffers alone is measured. With
//! `interfered`, other threads allocate meanwhile and free what this one allocated, as servants on
//! several threads do. In the table of `measures.rs`.

use crate::driver::Failure;
use crate::local::Task;
use crate::orders::Answer;
use corbie::buffers;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Buffers in an iteration, and how many of them are held at a time.
const BUFFERS: usize = 16;
const HELD: usize = 4;
/// Regular allocations and deallocations in an iteration.
const REGULAR: usize = 1_000;
/// Regular allocations that live at a time.
const ALIVE: usize = 512;
/// Threads that interfere.
const OTHERS: usize = 2;
/// Iterations before the first that counts.
const WARM_UP: u64 = 200;

/// Where the ORB's buffers come from.
#[derive(Clone, Copy)]
enum From {
    /// The pool of the thread.
    Pool,
    /// The heap that all use.
    Heap,
}

impl From {
    fn take(self, octets: usize) -> Vec<u8> {
        match self {
            From::Pool => buffers::take(octets),
            From::Heap => Vec::with_capacity(octets),
        }
    }

    fn give(self, buffer: Vec<u8>) {
        match self {
            From::Pool => buffers::give(buffer),
            From::Heap => drop(buffer),
        }
    }
}

pub(crate) fn pool_alone(task: &Task<'_>) -> Result<Answer, Failure> {
    Ok(measure(task.size, From::Pool, 0))
}

pub(crate) fn heap_alone(task: &Task<'_>) -> Result<Answer, Failure> {
    Ok(measure(task.size, From::Heap, 0))
}

pub(crate) fn pool_interfered(task: &Task<'_>) -> Result<Answer, Failure> {
    Ok(measure(task.size, From::Pool, OTHERS))
}

pub(crate) fn heap_interfered(task: &Task<'_>) -> Result<Answer, Failure> {
    Ok(measure(task.size, From::Heap, OTHERS))
}

/// A sequence of numbers that is the same in every run (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// The size of what an application allocates: mostly little, now and then much.
    fn size(&mut self) -> usize {
        let number = self.next();
        let most = match number % 16 {
            0 => 64 << 10,
            1..=3 => 4 << 10,
            _ => 256,
        };
        16 + (number >> 4) as usize % most
    }
}

fn measure(iterations: u64, from: From, others: usize) -> Answer {
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let interfering: Vec<SyncSender<Vec<u8>>> = (0..others)
            .map(|number| {
                let (to, from) = sync_channel(64);
                let ends = &ends;
                scope.spawn(move || interfere(number as u64 + 1, &from, ends));
                to
            })
            .collect();
        let mut run = BufferRun { numbers: Numbers(42), alive: Vec::new(), interfering, from };
        let times = (0..WARM_UP + iterations).map(|_| run.iteration()).skip(WARM_UP as usize);
        let times = times.collect();
        ends.store(true, Ordering::Relaxed);
        Answer::Curve(times)
    })
}

/// Allocates and frees as fast as it can, and frees what it is given.
fn interfere(seed: u64, given: &Receiver<Vec<u8>>, ends: &AtomicBool) {
    let mut numbers = Numbers(seed);
    let mut alive: Vec<Vec<u8>> = (0..ALIVE).map(|_| Vec::new()).collect();
    while !ends.load(Ordering::Relaxed) {
        let at = numbers.next() as usize % ALIVE;
        alive[at] = black_box(Vec::with_capacity(numbers.size()));
        drop(given.try_recv());
    }
}

struct BufferRun {
    numbers: Numbers,
    alive: Vec<Vec<u8>>,
    interfering: Vec<SyncSender<Vec<u8>>>,
    from: From,
}

impl BufferRun {
    /// Nanoseconds that the buffers of one iteration took.
    fn iteration(&mut self) -> u64 {
        let mut held: Vec<Vec<u8>> = Vec::with_capacity(HELD);
        let mut time = Duration::ZERO;
        for step in 0..REGULAR {
            self.regular();
            if step % (REGULAR / BUFFERS) == 0 && step / (REGULAR / BUFFERS) < BUFFERS {
                let octets = (4 << 10) << (self.numbers.next() % 5);
                let old = if held.len() == HELD { Some(held.remove(0)) } else { None };
                let start = Instant::now();
                if let Some(old) = old {
                    self.from.give(old);
                }
                let mut buffer = self.from.take(octets);
                buffer.push(1);
                time += start.elapsed();
                held.push(black_box(buffer));
            }
        }
        let start = Instant::now();
        held.drain(..).for_each(|buffer| self.from.give(buffer));
        (time + start.elapsed()).as_nanos() as u64
    }

    /// What the application does: allocates, frees, or leaves it to another thread to free.
    fn regular(&mut self) {
        let new = black_box(Vec::with_capacity(self.numbers.size()));
        if self.alive.len() < ALIVE {
            return self.alive.push(new);
        }
        let number = self.numbers.next() as usize;
        let old = std::mem::replace(&mut self.alive[number % ALIVE], new);
        if !self.interfering.is_empty() && number.is_multiple_of(7) {
            // When it cannot keep up, this thread frees it itself.
            let _ = self.interfering[number % self.interfering.len()].try_send(old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_iteration_is_timed_and_the_pool_allocates_only_at_first() {
        for measure in [pool_alone, heap_alone, pool_interfered, heap_interfered] {
            let task = Task { size: 50, window: Duration::ZERO, words: &[] };
            let before = buffers::statistics();
            let Ok(Answer::Curve(times)) = measure(&task) else { panic!("no curve") };
            assert_eq!(times.len(), 50);
            assert!(times.iter().all(|time| *time > 0));
            let now = buffers::statistics();
            assert!(now.allocated - before.allocated < 30, "{now:?}");
        }
    }
}
