//! The asynchronous part of the catalogue (`idl/asynchrony.idl`): its rules, which every peer has
//! the same, and what the servants of `plain`, `responding`, `futures` and `dynamic` remember.

mod ami;
pub(super) mod client;
mod dii;
mod dynamic;
mod executor;
mod futures;
mod handler;
mod host;
mod oneways;
mod plain;
mod pollers;
mod quality;
mod recorder;
mod remote;
mod responding;

#[cfg(test)]
pub(crate) use client::RAISED;
pub(super) use host::start;

use crate::idl::asynchrony::calls::WorkError;
use crate::idl::asynchrony::{AmiCallsExceptionHolder, Calls, Item, Nothing, Refused, Visitor};
use corbie::messaging::ExceptionHolder;
use corbie::{CompletionStatus, Minor, SystemException};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How the `Calls` of a server are implemented: `peer server --style NAME`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Plain,
    /// Asynchronous method handling: a response is answered later, by another thread.
    Amh,
    /// `async fn`, on an executor of the peer's own.
    AsyncFn,
    /// Without generated code.
    Dsi,
}

impl Style {
    pub(super) fn named(name: &str) -> Option<Style> {
        Some(match name {
            "plain" => Style::Plain,
            "amh" => Style::Amh,
            "async" => Style::AsyncFn,
            "dsi" => Style::Dsi,
            _ => return None,
        })
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// ------------------------------------------------------------------ the rules

/// The numbers from `first` on.
pub(super) fn numbers(first: i32, count: i32) -> Vec<i32> {
    (first..first + count).collect()
}

pub(super) fn item(n: i32) -> Item {
    let parts = numbers(n, (n % 5).max(0));
    Item { name: format!("item {n}"), number: n, weight: f64::from(n) / 2.0, parts }
}

/// What `work` answers.
pub(super) fn work(number: i32, some: &[i32]) -> Result<(Item, Vec<i32>, String), WorkError> {
    match number {
        -1 => Err(Refused { why: "refused".to_owned(), code: 77, what: item(3) }.into()),
        -2 => Err(Nothing {}.into()),
        -3 => {
            Err(SystemException::bad_param(Minor::of::<0x4f4d_0007>(), CompletionStatus::Yes)
                .into())
        }
        _ => {
            let added = some.iter().map(|n| n + number).collect();
            Ok((item(number), added, format!("work {number}")))
        }
    }
}

/// "Refused refused 77 item 3" and so on; "" for none.
pub(super) fn raised<T>(outcome: &Result<T, WorkError>) -> String {
    match outcome {
        Ok(_) => String::new(),
        Err(WorkError::Refused(e)) => format!("Refused {} {} {}", e.why, e.code, e.what.name),
        Err(WorkError::Nothing(_)) => "Nothing".to_owned(),
        Err(WorkError::System(e)) => raised_system(e),
    }
}

/// "BAD_PARAM 4f4d0007 COMPLETED_YES".
pub(super) fn raised_system(e: &SystemException) -> String {
    format!("{} {:08x} {}", e.kind.name(), e.minor.code(), e.completed.name())
}

/// What a holder of the outcome of `work` raises.
pub(crate) fn raised_by(holder: &ExceptionHolder) -> String {
    raised(&AmiCallsExceptionHolder::from(holder).raise_work())
}

fn refuse_thirteen(number: i32) -> Result<(), SystemException> {
    match number {
        13 => Err(SystemException::no_permission(Minor::of::<13>(), CompletionStatus::No)),
        _ => Ok(()),
    }
}

// ------------------------------------------------------------------ what servants remember

/// Of every style.
#[derive(Default)]
pub(super) struct State {
    level: AtomicI32,
    told: Mutex<Told>,
    /// The servant's own reference, for `entertain`.
    this: OnceLock<Calls>,
}

#[derive(Default)]
struct Told {
    count: i32,
    last: i32,
    is_disordered: bool,
}

impl State {
    pub(super) fn level(&self) -> i32 {
        self.level.load(Ordering::SeqCst)
    }

    pub(super) fn set_level(&self, level: i32) -> Result<(), SystemException> {
        refuse_thirteen(level)?;
        self.level.store(level, Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn tell(&self, number: i32, milliseconds: u32) -> Result<(), SystemException> {
        refuse_thirteen(number)?;
        pass(milliseconds);
        let mut told = lock(&self.told);
        told.is_disordered |= told.count > 0 && number <= told.last;
        told.count += 1;
        told.last = number;
        Ok(())
    }

    /// How many, and whether in ascending order.
    pub(super) fn told(&self) -> (i32, bool) {
        let told = lock(&self.told);
        (told.count, !told.is_disordered)
    }

    pub(super) fn forget(&self) {
        *lock(&self.told) = Told::default();
    }

    pub(super) fn set_this(&self, this: Calls) {
        self.this.get_or_init(|| this);
    }

    pub(super) fn entertain(
        &self,
        guest: Option<&Visitor>,
        depth: i32,
    ) -> Result<i32, SystemException> {
        let guest = guest.ok_or_else(nil)?;
        match depth {
            0 => Ok(0),
            _ => Ok(guest.visit(self.this.get(), depth - 1)? + 1),
        }
    }
}

pub(super) fn base(number: i32) -> String {
    format!("base {number}")
}

pub(super) fn nil() -> SystemException {
    SystemException::bad_param(Minor::of::<1>(), CompletionStatus::No)
}

/// Lets time pass, as an operation that takes long does.
pub(super) fn pass(milliseconds: u32) {
    // tidy: sleep: how long an operation takes is what the features of time-outs are about
    std::thread::sleep(Duration::from_millis(milliseconds.into()));
}
