//! The terminals of a conversation within a budget of memory. Which entries show them is not known here.

use crate::session::ids::TerminalId;
use crate::session::terminal::Terminal;
use std::collections::{BTreeMap, HashMap};

/// What all terminals take together, in bytes, but for commands of ours that run.
const ROOM: usize = 32 << 20;

/// Terminals by name.
#[derive(Debug)]
pub(in crate::session::transcript) struct Shelf {
    slots: HashMap<TerminalId, Slot>,
    /// Those that may go, in the order in which they do.
    idle: BTreeMap<Turn, TerminalId>,
    /// What these take, in bytes.
    size: usize,
    room: usize,
    /// How many terminals there were.
    count: u64,
}

/// Who goes first: what has ended before what an agent says is running, and the oldest of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    runs: bool,
    number: u64,
}

#[derive(Debug)]
struct Slot {
    terminal: Terminal,
    number: u64,
    /// Its place among those that may go, and what it takes.
    idle: Option<(Turn, usize)>,
}

impl Default for Shelf {
    fn default() -> Self {
        Self::new(ROOM)
    }
}

impl Shelf {
    /// No terminals; those that may go will take at most `room` bytes.
    pub(super) fn new(room: usize) -> Self {
        let (slots, idle) = (HashMap::new(), BTreeMap::new());
        Self { slots, idle, size: 0, room, count: 0 }
    }

    pub(super) fn get(&self, id: &TerminalId) -> Option<&Terminal> {
        self.slots.get(id).map(|slot| &slot.terminal)
    }

    /// Puts a terminal there, in the place of one of that name.
    pub(super) fn insert(&mut self, id: &TerminalId, terminal: Terminal) {
        self.remove(id);
        self.count += 1;
        let slot = Slot { terminal, number: self.count, idle: None };
        self.slots.insert(id.clone(), slot);
        self.change(id, |_| {});
    }

    pub(super) fn remove(&mut self, id: &TerminalId) -> Option<Terminal> {
        let slot = self.slots.remove(id)?;
        if let Some((turn, size)) = slot.idle {
            self.idle.remove(&turn);
            self.size -= size;
        }
        Some(slot.terminal)
    }

    /// Changes a terminal, if there is one of that name.
    pub(super) fn change(&mut self, id: &TerminalId, change: impl FnOnce(&mut Terminal)) {
        let Some(Slot { terminal, number, idle }) = self.slots.get_mut(id) else { return };
        change(terminal);
        let turn = Turn { runs: terminal.exit.is_none(), number: *number };
        let is_idle = terminal.command.is_none() || !turn.runs;
        let now = is_idle.then(|| (turn, terminal.size() + id.as_str().len()));
        let before = std::mem::replace(idle, now);
        self.size -= before.map_or(0, |(_, size)| size);
        self.size += now.map_or(0, |(_, size)| size);
        let (before, now) = (before.map(|(turn, _)| turn), now.map(|(turn, _)| turn));
        if before != now {
            before.map(|turn| self.idle.remove(&turn));
            now.map(|turn| self.idle.insert(turn, id.clone()));
        }
    }

    /// Takes a terminal away that there is no room for.
    pub(super) fn spare(&mut self) -> Option<(TerminalId, Terminal)> {
        if self.size <= self.room {
            return None;
        }
        let id = self.idle.first_key_value()?.1.clone();
        let terminal = self.remove(&id)?;
        Some((id, terminal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::terminal::TerminalExit;
    use proptest::prelude::*;

    const SMALL: usize = 40_000;

    fn play(shelf: &mut Shelf, id: &TerminalId, what: u8, length: usize) {
        match what {
            0 => shelf.insert(id, Terminal::new("make".to_owned(), 0)),
            1 => shelf.insert(id, Terminal::default()),
            2 => shelf.change(id, |terminal| terminal.finish(TerminalExit::default(), None)),
            3 => drop(shelf.remove(id)),
            4 => shelf.change(id, Terminal::release),
            5 => shelf.change(id, |terminal| terminal.replace(b"new")),
            _ => shelf.change(id, |terminal| terminal.append("a line\n".repeat(length).as_bytes())),
        }
    }

    fn is_ours_and_runs(terminal: &Terminal) -> bool {
        terminal.command.is_some() && terminal.exit.is_none()
    }

    proptest! {
        /// Whatever happens to however many: what may go stays within the room, what is ours and runs stays, and no more
        /// goes than has to, the oldest of what has ended first.
        #[test]
        fn memory_has_a_limit(steps in prop::collection::vec((0..30usize, 0..12u8, 0..900usize), 0..150)) {
            let mut shelf = Shelf::new(SMALL);
            for (id, what, length) in steps {
                play(&mut shelf, &format!("{id}").into(), what, length);
                while shelf.size > SMALL {
                    let ended = shelf.slots.values().filter(|slot| slot.terminal.exit.is_some());
                    let oldest = ended.map(|slot| slot.number).min();
                    let number = |shelf: &Shelf, id| shelf.slots.get(id).map(|slot: &Slot| slot.number);
                    let first = shelf.idle.values().next().and_then(|id| number(&shelf, id));
                    prop_assert!(oldest.is_none() || oldest == first);
                    let (id, gone) = shelf.spare().unwrap();
                    prop_assert!(!is_ours_and_runs(&gone) && shelf.get(&id).is_none());
                }
                prop_assert!(shelf.spare().is_none());
                let may_go = shelf.slots.iter().filter(|(_, slot)| !is_ours_and_runs(&slot.terminal));
                let sizes = may_go.map(|(id, slot)| slot.terminal.size() + id.as_str().len());
                let sizes: Vec<usize> = sizes.collect();
                prop_assert_eq!(shelf.size, sizes.iter().sum::<usize>());
                prop_assert_eq!(shelf.idle.len(), sizes.len());
            }
        }
    }
}
