//! What was done last, for whoever has to find out why a world failed. It decides nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// So many lines are kept: more than a world has, whose steps are not left out one by one.
const LENGTH: usize = 1_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Trail(Arc<Mutex<(usize, VecDeque<String>)>>);

impl Trail {
    /// What follows belongs to this step.
    pub(crate) fn step(&self, number: usize) {
        self.0.lock().0 = number;
    }

    /// The step that was last.
    pub(crate) fn at(&self) -> usize {
        self.0.lock().0
    }

    pub(crate) fn note(&self, what: impl Into<String>) {
        let mut inner = self.0.lock();
        let line = format!("{:>6}  {}", inner.0, what.into());
        inner.1.push_back(line);
        while inner.1.len() > LENGTH {
            inner.1.pop_front();
        }
    }

    /// The lines, oldest first.
    pub(crate) fn lines(&self) -> String {
        self.0.lock().1.iter().map(|line| format!("{line}\n")).collect()
    }
}
