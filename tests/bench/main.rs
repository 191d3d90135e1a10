//! Measurements, run by `make bench`, which print tables: each time beside that of a reference taken in the same run, as ratios
//! count where machines are noisy. They check nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement fails by panic")]

mod checkpoints;
mod diffs;
mod project_files;
mod searches;
mod start;

use std::io::Write as _;
use std::time::{Duration, Instant};

/// How often each time is taken.
const TIMES: usize = 7;

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let since = Instant::now();
    std::hint::black_box(work());
    since.elapsed()
}

/// Takes the times of something and of its reference in turn, and prints them.
fn compare<T, R>(
    what: &str,
    reference: &str,
    mut work: impl FnMut() -> T,
    mut refer: impl FnMut() -> R,
) {
    let times = (0..TIMES).map(|_| (time(&mut refer), time(&mut work)));
    let (references, times): (Vec<_>, Vec<_>) = times.unzip();
    let (time, other) = (median(times), median(references));
    let ratio = time / other;
    let line = format!("{what:<44} {time:>9.2} ms, {reference} {other:>9.2} ms: {ratio:.2}");
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
}
