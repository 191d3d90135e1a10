//! What a process holds, as far as the system tells (`man 5 proc`).

use std::fmt::{self, Display, Formatter};
use std::fs;

/// Memory in bytes, and how many threads and descriptors.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// Resident memory.
    pub memory: u64,
    /// The most of it since the start, or since [`Held::forget_peak`].
    pub peak: u64,
    /// Threads.
    pub threads: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

impl Held {
    /// `None` where that cannot be read.
    pub fn by(pid: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        Some(Self {
            memory: number("VmRSS:")? << 10,
            peak: number("VmHWM:")? << 10,
            threads: number("Threads:")?,
            descriptors: u64::try_from(descriptors).ok()?,
        })
    }

    /// Makes what a process holds now the most that it has held. Gives `None` where that cannot be done.
    pub fn forget_peak(pid: u32) -> Option<()> {
        fs::write(format!("/proc/{pid}/clear_refs"), "5").ok()
    }
}

impl Display for Held {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { memory, threads, descriptors, .. } = self;
        write!(f, "{} MiB, {threads} threads, {descriptors} descriptors", memory >> 20)
    }
}
