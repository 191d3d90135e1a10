//! [`TerminalCache`], the terminals of a transcript within memory limits. It does not know which
//! entries show them.

use crate::session::ids::TerminalId;
use crate::session::terminal::Terminal;
use std::collections::{BTreeMap, HashMap};

/// The memory limit in bytes for all terminals except our own that are still running.
const MEMORY_LIMIT: usize = 32 << 20;

/// The memory limit in bytes for our own that are still running. Beyond it, one that grows retains an equal share of it, so all
/// of them use at most twice as much.
const RUNNING_LIMIT: usize = 32 << 20;

/// Terminals by id, with an order of eviction.
#[derive(Debug)]
pub(super) struct TerminalCache {
    slots: HashMap<TerminalId, Slot>,
    /// The terminals that may be evicted: all except our own that are still running.
    evictable: BTreeMap<Priority, TerminalId>,
    /// The memory these use, in bytes.
    size: usize,
    limit: usize,
    /// The others: how many there are and the memory they use, in bytes.
    running: (usize, usize),
    /// The number of terminals inserted so far.
    count: u64,
}

/// The order of eviction: those that have ended first, and among them the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Priority {
    is_running: bool,
    number: u64,
}

#[derive(Debug)]
struct Slot {
    terminal: Terminal,
    number: u64,
    /// Its size as it was counted last.
    size: usize,
    /// Its key in `evictable`, if it may be evicted.
    evictable: Option<Priority>,
}

impl Default for TerminalCache {
    fn default() -> Self {
        Self::new(MEMORY_LIMIT)
    }
}

impl TerminalCache {
    /// Creates an empty cache in which evictable terminals use at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        let (slots, evictable) = (HashMap::new(), BTreeMap::new());
        Self { slots, evictable, size: 0, limit, running: (0, 0), count: 0 }
    }

    pub(super) fn get(&self, id: &TerminalId) -> Option<&Terminal> {
        self.slots.get(id).map(|slot| &slot.terminal)
    }

    /// Inserts a terminal, replacing one with the same id.
    pub(super) fn insert(&mut self, id: &TerminalId, terminal: Terminal) {
        self.remove(id);
        self.count += 1;
        let slot = Slot { terminal, number: self.count, size: 0, evictable: None };
        self.slots.insert(id.clone(), slot);
        self.running.0 += 1;
        self.change(id, |_| {});
    }

    pub(super) fn remove(&mut self, id: &TerminalId) -> Option<Terminal> {
        let slot = self.slots.remove(id)?;
        match slot.evictable {
            Some(priority) => {
                self.evictable.remove(&priority);
                self.size -= slot.size;
            }
            None => self.running = (self.running.0 - 1, self.running.1 - slot.size),
        }
        Some(slot.terminal)
    }

    /// Changes a terminal, if it exists, and updates its size and priority.
    pub(super) fn change(&mut self, id: &TerminalId, change: impl FnOnce(&mut Terminal)) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        match &slot.evictable {
            Some(_) => self.size -= slot.size,
            None => self.running = (self.running.0 - 1, self.running.1 - slot.size),
        }
        change(&mut slot.terminal);
        let size = |terminal: &Terminal| terminal.size() + id.as_str().len();
        slot.size = size(&slot.terminal);
        let priority = Priority { is_running: slot.terminal.exit.is_none(), number: slot.number };
        let after = (!slot.terminal.is_ours || !priority.is_running).then_some(priority);
        let before = std::mem::replace(&mut slot.evictable, after);
        if after.is_some() {
            self.size += slot.size;
        } else {
            let count = self.running.0 + 1;
            let share = RUNNING_LIMIT / count;
            if self.running.1 + slot.size > RUNNING_LIMIT && slot.size > share {
                slot.terminal.shrink(share);
                slot.size = size(&slot.terminal);
            }
            self.running = (count, self.running.1 + slot.size);
        }
        if before != after {
            before.map(|key| self.evictable.remove(&key));
            after.map(|key| self.evictable.insert(key, id.clone()));
        }
    }

    /// Removes and returns the next terminal to evict, or `None` if the limit is observed.
    pub(super) fn evict(&mut self) -> Option<(TerminalId, Terminal)> {
        if self.size <= self.limit {
            return None;
        }
        let id = self.evictable.first_key_value()?.1.clone();
        let terminal = self.remove(&id)?;
        Some((id, terminal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::terminal::{MAX_OUTPUT, TerminalExit};
    use proptest::prelude::*;

    const SMALL: usize = 40_000;

    fn apply(cache: &mut TerminalCache, id: &TerminalId, operation: u8, length: usize) {
        match operation {
            0 => cache.insert(id, Terminal::new("make".to_owned(), 0)),
            1 => cache.insert(id, Terminal::default()),
            2 => cache.change(id, |terminal| terminal.finish(TerminalExit::default(), None)),
            3 => drop(cache.remove(id)),
            4 => cache.change(id, Terminal::release),
            5 => cache.change(id, |terminal| terminal.replace(b"new")),
            _ => cache.change(id, |terminal| terminal.append("a line\n".repeat(length).as_bytes())),
        }
    }

    fn is_ours_and_running(terminal: &Terminal) -> bool {
        terminal.is_ours && terminal.exit.is_none()
    }

    /// Holds (Terminals): The output of any number of running commands has one limit; a single one keeps as much as its agent may ask for.
    #[test]
    fn running_commands_share_their_memory() {
        let mut cache = TerminalCache::default();
        let line = format!("{}\n", "x".repeat(99)).repeat(MAX_OUTPUT / 100);
        let ids: Vec<TerminalId> = (0..100).map(|id| format!("{id}").into()).collect();
        for id in &ids {
            cache.insert(id, Terminal::new("make".to_owned(), MAX_OUTPUT));
        }
        let text = |cache: &TerminalCache, id| cache.get(id).unwrap().text(usize::MAX).0;
        for id in &ids {
            cache.change(id, |terminal| terminal.append(line.as_bytes()));
            if *id == ids[0] {
                assert_eq!(text(&cache, id).len(), line.len());
            }
            assert!(text(&cache, id).ends_with(&line[..100]));
        }
        let size: usize =
            ids.iter().map(|id| cache.get(id).unwrap().size() + id.as_str().len()).sum();
        assert_eq!(cache.running, (100, size));
        assert!(size <= 2 * RUNNING_LIMIT, "{size}");
        for id in &ids {
            cache.change(id, |terminal| terminal.finish(TerminalExit::default(), None));
        }
        assert_eq!(cache.running, (0, 0));
        assert!(cache.size <= 2 * RUNNING_LIMIT);
    }

    proptest! {
        /// Under any operations: evictable terminals stay within the limit, our running ones are
        /// never evicted, and no more are evicted than necessary, the oldest that have ended first.
        /// Holds (Terminals): The output of any number of commands has one limit.
        #[test]
        fn memory_has_a_limit(
            steps in prop::collection::vec((0..30usize, 0..12u8, 0..900usize), 0..150),
        ) {
            let mut cache = TerminalCache::new(SMALL);
            for (id, operation, length) in steps {
                apply(&mut cache, &format!("{id}").into(), operation, length);
                while cache.size > SMALL {
                    let ended = cache.slots.values().filter(|slot| slot.terminal.exit.is_some());
                    let oldest = ended.map(|slot| slot.number).min();
                    let number = |cache: &TerminalCache, id| cache.slots.get(id).map(|slot: &Slot| slot.number);
                    let first = cache.evictable.values().next().and_then(|id| number(&cache, id));
                    prop_assert!(oldest.is_none() || oldest == first);
                    let (id, evicted) = cache.evict().unwrap();
                    prop_assert!(!is_ours_and_running(&evicted) && cache.get(&id).is_none());
                }
                prop_assert!(cache.evict().is_none());
                let evictable =
                    cache.slots.iter().filter(|(_, slot)| !is_ours_and_running(&slot.terminal));
                let sizes = evictable.map(|(id, slot)| slot.terminal.size() + id.as_str().len());
                let sizes: Vec<usize> = sizes.collect();
                prop_assert_eq!(cache.size, sizes.iter().sum::<usize>());
                prop_assert_eq!(cache.evictable.len(), sizes.len());
            }
        }
    }
}
