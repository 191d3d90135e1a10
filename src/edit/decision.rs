//! Decisions on the pending changes of a [`Record`]: to keep them, after which they belong to the base, or to reject them,
//! after which the text is as if they had never been made. A rejection is planned first, and recorded once the text has been
//! changed.

use std::collections::HashSet;
use std::ops::Range;

use super::hunks::Hunk;
use super::record::weave::{Line, LineId, Transition};
use super::record::{Form, Record, StepId, Version};

/// Pending changes that a decision is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The coming or going of a line by a step.
    changes: HashSet<(LineId, StepId)>,
    /// Whether the change of the form is chosen, too.
    form: bool,
}

impl Choice {
    /// Whether nothing is chosen.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.form
    }
}

/// What it takes to reject a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The hunks that the text needs.
    pub hunks: Vec<Hunk>,
    /// The form that the file needs, if not its own.
    pub form: Option<Form>,
    /// Lines of the text (0-based) where what was chosen stays, because somebody has replaced it since.
    pub conflicts: Vec<Range<usize>>,
    /// Whether the lines come back or go.
    fates: Vec<(LineId, bool)>,
}

impl Rejection {
    /// Whether the text stays as it is.
    pub fn changes_nothing(&self) -> bool {
        self.fates.is_empty() && self.form.is_none()
    }
}

/// Lines from one that nobody has changed to the next.
struct Cluster {
    lines: Vec<LineId>,
    /// In the text.
    rows: Range<usize>,
}

impl<O> Record<O> {
    /// Chooses what is pending of all that the agents for which `is_chosen` did; with `lines` of the text (0-based) only the
    /// hunks that touch them. A hunk that has only removed lines touches the lines before and after it.
    pub fn choose(&self, lines: Option<&Range<usize>>, is_chosen: impl Fn(&O) -> bool) -> Choice {
        let is_chosen = |step: StepId| self.origin(step).is_some_and(&is_chosen);
        let changes = |id: LineId| {
            let line = self.weave.line(id);
            let steps = std::iter::once(line.born).chain(line.dead).filter(move |_| line.exists);
            steps.map(move |step| (id, step))
        };
        let is_wanted =
            |&(id, step): &(LineId, StepId)| self.is_pending(id, step) && is_chosen(step);
        let Some(lines) = lines else {
            let ids = self.weave.iter().map(|(id, _)| id);
            let form = self.forms().by.is_some_and(is_chosen);
            return Choice { changes: ids.flat_map(changes).filter(is_wanted).collect(), form };
        };
        let (mut chosen, mut is_all) = (HashSet::new(), true);
        self.each_run(|_, text, ids| {
            let is_touched = touches(&text, lines);
            is_all &= is_touched;
            if is_touched {
                chosen.extend(ids.iter().copied().flat_map(changes).filter(is_wanted));
            }
        });
        // Whoever decides on every hunk of a file decides on the whole file.
        let form = is_all && self.forms().by.is_some_and(&is_chosen);
        Choice { changes: chosen, form }
    }

    /// Chooses of what is pending the coming of some lines of the text and the going of some lines of the base (0-based), as
    /// far as agents for which `is_chosen` did it.
    pub fn choose_rows(
        &self,
        removed: &Range<usize>,
        added: &Range<usize>,
        is_chosen: impl Fn(&O) -> bool,
    ) -> Choice {
        let is_chosen = |step: StepId| self.origin(step).is_some_and(&is_chosen);
        let mut changes = HashSet::new();
        self.each_run(|base, text, ids| {
            let (mut base_row, mut text_row) = (base.start, text.start);
            for &id in ids {
                let line = self.weave.line(id);
                let (row, rows, step) = if line.is_alive() {
                    (&mut text_row, added, Some(line.born))
                } else {
                    (&mut base_row, removed, line.dead)
                };
                let is_selected = rows.contains(row);
                *row += 1;
                let step = step.filter(|step| self.is_pending(id, *step) && is_chosen(*step));
                changes.extend(step.filter(|_| is_selected).map(|step| (id, step)));
            }
        });
        Choice { changes, form: false }
    }

    /// Makes chosen changes part of the base. Where a chosen step replaced lines of a pending one that was not chosen, that
    /// one is kept there as well, since neither makes sense alone.
    pub fn keep(&mut self, choice: &Choice) {
        let mut changes = choice.changes.clone();
        for cluster in self.clusters(choice) {
            while let Some(step) = self.step_below(&cluster, &changes) {
                let of_step = cluster.lines.iter().flat_map(|id| {
                    let line = self.weave.line(*id);
                    let steps = std::iter::once(line.born).chain(line.dead);
                    steps.filter(|of| *of == step).map(|of| (*id, of))
                });
                changes.extend(of_step.collect::<Vec<_>>());
            }
        }
        let moved = self.moved_to(changes.difference(&choice.changes));
        changes.extend(moved);
        self.keep_pending(changes, choice.form);
    }

    /// Finds where steps have put lines that they took away elsewhere. Kept without that, a line would be in neither place
    /// once the rest is rejected.
    fn moved_to<'a>(
        &self,
        changes: impl Iterator<Item = &'a (LineId, StepId)>,
    ) -> Vec<(LineId, StepId)> {
        let gone = changes.filter(|(id, step)| self.weave.line(*id).dead == Some(*step));
        let gone: HashSet<(StepId, &str)> =
            gone.map(|(id, step)| (*step, self.weave.text(*id))).collect();
        if gone.is_empty() {
            return Vec::new();
        }
        let lines = self.weave.iter().filter(|(id, line)| {
            line.is_alive() && gone.contains(&(line.born, self.weave.text(*id)))
        });
        lines.map(|(id, line)| (id, line.born)).collect()
    }

    /// Makes pending again what was kept on these lines of the text (0-based), which may be empty places between lines.
    pub fn keep_no_longer(&mut self, rows: &[Range<usize>]) {
        let (mut row, mut changes) = (0, Vec::new());
        for (id, line) in self.weave.iter().filter(|(_, line)| line.exists) {
            let is_alive = line.is_alive();
            let is_on = |rows: &Range<usize>| {
                rows.start <= row && (row < rows.end || !is_alive && row == rows.end)
            };
            if rows.iter().any(is_on) {
                changes.push((id, line.born));
                changes.extend(line.dead.map(|dead| (id, dead)));
            }
            row += usize::from(is_alive);
        }
        self.remove_kept(&changes);
    }

    /// Finds a pending step that was not chosen and whose lines a chosen one replaced.
    fn step_below(&self, cluster: &Cluster, changes: &HashSet<(LineId, StepId)>) -> Option<StepId> {
        cluster.lines.iter().find_map(|&id| {
            let line = self.weave.line(id);
            let is_replaced = line.dead.is_some_and(|dead| changes.contains(&(id, dead)));
            let is_left = self.is_pending(id, line.born) && !changes.contains(&(id, line.born));
            (is_replaced && is_left).then_some(line.born)
        })
    }

    /// Plans to reject chosen changes. Lines of others never go. Where others have replaced chosen lines, everything stays
    /// as it is.
    pub fn plan_rejection(&self, choice: &Choice) -> Rejection {
        let clusters = self.clusters(choice);
        let (stay, go): (Vec<_>, Vec<_>) =
            clusters.into_iter().partition(|cluster| self.is_replaced(cluster, choice));
        // A line the agent has moved out of a place that stays must not go from where it is now.
        let gone = stay.iter().flat_map(|cluster| &cluster.lines);
        let gone = gone.filter(|id| self.fate(**id, choice) == Some(true));
        let moved: HashSet<&str> = gone.map(|id| self.weave.text(*id)).collect();
        let is_moved = |id: LineId| moved.contains(self.weave.text(id));
        let (mut fates, mut conflicts) = (Vec::new(), Vec::new());
        for cluster in go {
            let of_cluster = cluster.lines.iter();
            let of_cluster = of_cluster.filter_map(|&id| Some((id, self.fate(id, choice)?)));
            let before = fates.len();
            fates.extend(of_cluster);
            if fates[before..].iter().any(|&(id, comes_back)| !comes_back && is_moved(id)) {
                fates.truncate(before);
                conflicts.push(cluster.rows);
            }
        }
        conflicts.extend(stay.into_iter().map(|cluster| cluster.rows));
        conflicts.sort_unstable_by_key(|rows| (rows.start, rows.end));
        let hunks = self.hunks_of(&fates);
        let form = choice.form.then(|| {
            let base = self.forms().base;
            // A file that the agent has created stays if it has lines of others.
            let is_left = self.current().len() > hunks.iter().map(|hunk| hunk.removed).sum();
            Form { exists: base.exists || is_left, ..base }
        });
        Rejection { hunks, form, conflicts, fates }
    }

    /// Whether a line comes back or goes when a choice is rejected; `None` if neither.
    fn fate(&self, id: LineId, choice: &Choice) -> Option<bool> {
        let line = self.weave.line(id);
        let is_born = choice.changes.contains(&(id, line.born));
        match line.dead {
            None => is_born.then_some(false),
            Some(dead) => (!is_born && choice.changes.contains(&(id, dead))).then_some(true),
        }
    }

    /// Whether somebody else has put lines in place of chosen ones.
    fn is_replaced(&self, cluster: &Cluster, choice: &Choice) -> bool {
        let lines = || cluster.lines.iter().map(|&id| (id, self.weave.line(id)));
        let replacing = |(id, line): (LineId, &Line)| {
            let is_chosen = choice.changes.contains(&(id, line.born));
            line.dead.filter(|dead| is_chosen && !choice.changes.contains(&(id, *dead)))
        };
        let by: HashSet<StepId> = lines().filter_map(replacing).collect();
        let is_there = |(id, line): (LineId, &Line)| {
            line.is_alive() || line.dead.is_some_and(|dead| choice.changes.contains(&(id, dead)))
        };
        !by.is_empty() && lines().any(|(id, line)| by.contains(&line.born) && is_there((id, line)))
    }

    /// Returns the places where anything has changed since the base of the record and something is chosen, in their order.
    fn clusters(&self, choice: &Choice) -> Vec<Cluster> {
        let chosen = self.weave.marked(choice.changes.iter().map(|(id, _)| *id));
        let mut clusters = Vec::new();
        let (mut row, mut start) = (0, 0);
        let (mut lines, mut is_chosen) = (Vec::new(), false);
        for (id, line) in self.weave.iter().filter(|(_, line)| line.exists) {
            if line.is_alive() && self.is_settled(id, line) {
                if std::mem::take(&mut is_chosen) {
                    clusters.push(Cluster { lines: std::mem::take(&mut lines), rows: start..row });
                }
                lines.clear();
                row += 1;
                start = row;
                continue;
            }
            lines.push(id);
            is_chosen |= chosen.contains(id);
            row += usize::from(line.is_alive());
        }
        if is_chosen {
            clusters.push(Cluster { lines, rows: start..row });
        }
        clusters
    }

    fn hunks_of(&self, fates: &[(LineId, bool)]) -> Vec<Hunk> {
        let mut fates = fates.iter().peekable();
        let mut hunks: Vec<Hunk> = Vec::new();
        let (mut row, mut is_open) = (0, false);
        for (id, line) in self.weave.iter() {
            let was_alive = line.is_alive();
            if fates.peek().is_none() {
                break;
            }
            let Some((_, comes_back)) = fates.next_if(|(fated, _)| *fated == id) else {
                is_open &= !was_alive;
                row += usize::from(was_alive);
                continue;
            };
            if !std::mem::replace(&mut is_open, true) {
                hunks.push(Hunk { start: row, removed: 0, lines: Vec::new() });
            }
            if let Some(hunk) = hunks.last_mut() {
                hunk.removed += usize::from(was_alive);
                hunk.lines.extend(comes_back.then(|| self.weave.text(id).to_owned()));
            }
            row += usize::from(was_alive);
        }
        hunks
    }

    /// Records that a rejection was carried out, which led to `after`. It is no change of an agent. Nothing else may
    /// have been recorded since it was planned.
    pub fn reject(&mut self, rejection: &Rejection, after: &Version) {
        let step = self.add_step(None);
        let mut transition = Transition::default();
        for &(id, comes_back) in &rejection.fates {
            transition.set_fate(&self.weave, id, (!comes_back).then_some(step));
        }
        self.weave.redo(&transition);
        self.push_state(step, transition, rejection.form.unwrap_or(self.forms().text));
        if rejection.form.is_some() {
            self.keep_pending([], true);
        }
        // The user may have typed meanwhile.
        self.catch_up(after);
    }
}

/// Whether a range of lines, empty between two, touches another.
fn touches(hunk: &Range<usize>, lines: &Range<usize>) -> bool {
    if hunk.is_empty() {
        lines.start <= hunk.start && hunk.start <= lines.end
    } else {
        lines.start < hunk.end && hunk.start < lines.end
    }
}
