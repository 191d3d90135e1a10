//! Decisions on the pending changes of a [`Record`]: to keep them, after which they belong to the base, or to reject them,
//! after which the text is as if they had never been made. A rejection is planned first, and recorded once the text has been
//! changed.

use rustc_hash::FxHashSet;
use std::collections::HashSet;
use std::ops::Range;

use super::hunks::Hunk;
use super::pending::{hunk_id, touches};
use super::record::weave::{Life, LineId, Transition};
use super::record::{Form, Forms, HunkId, Kept, Record, StepId, Version};

/// Pending changes that a decision is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The coming or going of a line by a step.
    pub(super) changes: FxHashSet<(LineId, StepId)>,
    /// Whether the change of the form is chosen, too, and what there would be without it.
    form: Option<FormWithout>,
}

/// What becomes of the form of a file without what was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FormWithout {
    /// Whether there is a file.
    exists: bool,
    /// The pending step that made it so, if it was not so before any.
    by: Option<StepId>,
}

impl Choice {
    /// Whether nothing is chosen.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.form.is_none()
    }

    pub(super) fn steps(&self) -> FxHashSet<StepId> {
        self.changes.iter().map(|(_, step)| *step).collect()
    }

    /// How many lines are chosen.
    pub fn lines(&self) -> usize {
        let lines: FxHashSet<LineId> = self.changes.iter().map(|(id, _)| *id).collect();
        lines.len()
    }
}

/// What it takes to reject a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The hunks that the text needs.
    pub hunks: Vec<Hunk>,
    /// The form that the file needs, if not its own.
    pub form: Option<Form>,
    /// The step that is pending then and has made it so.
    form_by: Option<StepId>,
    /// Lines of the text (0-based) where what was chosen stays, because somebody has replaced it since.
    pub conflicts: Vec<Range<usize>>,
    /// What becomes of lines.
    fates: Vec<(LineId, Fate)>,
}

/// What becomes of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// It goes, and does not come back with what may have taken it away before.
    Goes,
    /// It has the life it would have had without what was rejected.
    Had(Life),
}

impl Fate {
    pub(super) fn is_alive(&self) -> bool {
        matches!(self, Self::Had(Life { dead: None, .. }))
    }
}

impl Rejection {
    /// Whether the text stays as it is.
    pub fn changes_nothing(&self) -> bool {
        self.hunks.is_empty() && self.form.is_none()
    }

    /// How many lines it is about.
    pub fn lines(&self) -> usize {
        self.fates.len()
    }

    /// Whether there is nothing to record either.
    pub fn is_empty(&self) -> bool {
        self.fates.is_empty() && self.form.is_none()
    }
}

/// Lines from one that nobody has changed to the next.
pub(super) struct Cluster {
    pub(super) lines: Vec<LineId>,
    /// In the text.
    rows: Range<usize>,
}

impl<O> Record<O> {
    /// Chooses what is pending of all that the agents for which `is_chosen` did; with `lines` of the text (0-based) only the
    /// hunks that touch them. A hunk that has only removed lines touches the lines before and after it.
    pub fn choose(&self, lines: Option<&Range<usize>>, is_chosen: impl Fn(&O) -> bool) -> Choice {
        match lines {
            Some(lines) => self.choose_where(|text, _| touches(text, lines), is_chosen),
            None => self.choose_all(is_chosen),
        }
    }

    /// Like [`Self::choose`], with these hunks only. Those that are pending no more are left out.
    pub fn choose_hunks(&self, hunks: &HashSet<HunkId>, is_chosen: impl Fn(&O) -> bool) -> Choice {
        let hunks: FxHashSet<u32> = hunks.iter().map(|hunk| hunk.0).collect();
        self.choose_where(|_, ids| ids.iter().any(|id| hunks.contains(&id.0)), is_chosen)
    }

    fn choose_all(&self, is_chosen: impl Fn(&O) -> bool) -> Choice {
        let ids = self.weave.iter().map(|(id, _)| id);
        let changes = ids.flat_map(|id| self.pending_changes(id, &is_chosen)).collect();
        Choice { changes, form: self.form_without(&is_chosen) }
    }

    fn choose_where(
        &self,
        is_meant: impl Fn(&Range<usize>, &[LineId]) -> bool,
        is_chosen: impl Fn(&O) -> bool,
    ) -> Choice {
        let (mut changes, mut is_all) = (FxHashSet::default(), true);
        self.each_run_and_hidden(|_, text, ids, hidden| {
            let is_meant = is_meant(&text, ids);
            is_all &= is_meant;
            if is_meant {
                let ids = ids.iter().chain(hidden);
                changes.extend(ids.flat_map(|id| self.pending_changes(*id, &is_chosen)));
            }
        });
        // Whoever decides on every hunk of a file decides on the whole file.
        let form = self.form_without(&is_chosen).filter(|_| is_all);
        Choice { changes, form }
    }

    /// Returns what the form would be without chosen agents, if they have made it what it is.
    fn form_without(&self, is_chosen: impl Fn(&O) -> bool) -> Option<FormWithout> {
        let is_pending = self.forms().by.is_some_and(|by| self.is_by(by, &is_chosen));
        let mut at = self.at;
        let without = loop {
            let (state, before) = (&self.states[at], &self.states[self.states[at].parent].forms);
            let (base, text) = (state.forms.base.exists, state.forms.text.exists);
            if at == 0 || base != before.base.exists {
                break FormWithout { exists: text, by: None };
            }
            if text != before.text.exists {
                // A decision may have led back to what somebody had made of it before.
                let is_decision = self.origin(state.step).is_none();
                let by = state.forms.by.filter(|_| is_decision).unwrap_or(state.step);
                if !self.is_by(by, &is_chosen) {
                    break FormWithout { exists: text, by: Some(by).filter(|_| text != base) };
                }
                while at > 0 && self.states[at].step != by {
                    at = self.states[at].parent;
                }
            }
            at = self.states[at].parent;
        };
        (is_pending || without.exists != self.forms().text.exists).then_some(without)
    }

    fn is_by(&self, step: StepId, is_chosen: impl Fn(&O) -> bool) -> bool {
        self.origin(step).is_some_and(is_chosen)
    }

    /// Returns the pending changes of a line by agents for which `is_chosen` holds.
    fn pending_changes(
        &self,
        id: LineId,
        is_chosen: impl Fn(&O) -> bool,
    ) -> impl Iterator<Item = (LineId, StepId)> {
        let steps = self.steps_of(id).filter(move |_| self.weave.line(id).exists);
        let pending = steps.filter(move |step| self.is_pending(id, *step));
        pending.filter(move |step| self.is_by(*step, &is_chosen)).map(move |step| (id, step))
    }

    /// Chooses of a pending hunk the coming of some lines and the going of others, counted from its first line in the text and
    /// in the base, as far as agents for which `is_chosen` did it.
    pub fn choose_rows(
        &self,
        hunk: HunkId,
        removed: &Range<usize>,
        added: &Range<usize>,
        is_chosen: impl Fn(&O) -> bool,
    ) -> Choice {
        let is_chosen = |step: StepId| self.origin(step).is_some_and(&is_chosen);
        let mut changes = FxHashSet::default();
        self.each_run(|_, _, ids| {
            if hunk_id(ids) != hunk {
                return;
            }
            let (mut base_row, mut text_row) = (0, 0);
            for &id in ids {
                let line = self.weave.line(id);
                let is_alive = line.is_alive();
                let (row, rows) =
                    if is_alive { (&mut text_row, added) } else { (&mut base_row, removed) };
                let is_selected = rows.contains(row);
                *row += 1;
                let brought = self.bringers_of(id).filter(|_| is_alive);
                let steps = brought.chain(self.weave.takers(id)).filter(|_| is_selected);
                let steps = steps.filter(|step| self.is_pending(id, *step) && is_chosen(*step));
                changes.extend(steps.map(|step| (id, step)));
            }
        });
        Choice { changes, form: None }
    }

    /// Returns who made the chosen changes.
    pub fn authors(&self, choice: &Choice) -> impl Iterator<Item = &O> {
        let mut steps: Vec<StepId> = choice.changes.iter().map(|(_, step)| *step).collect();
        steps.extend(self.forms().by.filter(|_| choice.form.is_some()));
        steps.sort_unstable();
        steps.dedup();
        steps.into_iter().filter_map(|step| self.origin(step))
    }

    /// Returns the steps that brought a line or took it away.
    fn steps_of(&self, id: LineId) -> impl Iterator<Item = StepId> {
        let line = self.weave.line(id);
        let revivals = self.weave.revivals(id).iter();
        let revivals = revivals.flat_map(|revival| revival.away.into_iter().chain(revival.back));
        std::iter::once(line.born).chain(revivals).chain(line.dead)
    }

    /// Returns the steps that brought a line.
    pub(super) fn bringers_of(&self, id: LineId) -> impl Iterator<Item = StepId> {
        let revivals = self.weave.revivals(id).iter().filter_map(|revival| revival.back);
        std::iter::once(self.weave.line(id).born).chain(revivals)
    }

    /// Makes chosen changes part of the base. Where a chosen step replaced lines of a pending one that was not chosen, that
    /// one is kept there as well, since neither makes sense alone. Returns what it takes to take that back.
    pub fn keep(&mut self, choice: &Choice) -> Kept {
        let mut changes = choice.changes.clone();
        for cluster in self.clusters(choice) {
            while let Some(step) = self.step_below(&cluster, &changes) {
                let of_step = cluster
                    .lines
                    .iter()
                    .flat_map(|id| self.steps_of(*id).filter(|of| *of == step).map(|of| (*id, of)));
                changes.extend(of_step.collect::<Vec<_>>());
            }
            changes.extend(self.hidden_below(&cluster, &changes));
        }
        let moved = self.moved_to(changes.difference(&choice.changes));
        changes.extend(moved);
        self.keep_pending(changes, choice.form.is_some())
    }

    /// Finds lines that are in neither text: a pending step has brought them and a chosen one has replaced them, or a chosen one has
    /// brought them and the user has taken them away. Not kept, they could be rejected without being seen, and would not come
    /// back with the undo of the step that replaced them; and they would come alone with an undo in the editor.
    fn hidden_below(
        &self,
        cluster: &Cluster,
        changes: &FxHashSet<(LineId, StepId)>,
    ) -> Vec<(LineId, StepId)> {
        let of = |id: LineId| self.steps_of(id).map(move |step| (id, step));
        let chosen = cluster.lines.iter().flat_map(|id| of(*id));
        let chosen: FxHashSet<StepId> =
            chosen.filter(|change| changes.contains(change)).map(|(_, step)| step).collect();
        let is_hidden = |id: &LineId| {
            let line = self.weave.line(*id);
            !line.is_alive() && !self.is_in_base(*id, line)
        };
        let is_of_chosen = |id: &LineId| self.steps_of(*id).any(|by| chosen.contains(&by));
        let lines = cluster.lines.iter().filter(|id| is_hidden(id) && is_of_chosen(id));
        lines.flat_map(|id| of(*id)).filter(|(id, step)| self.is_pending(*id, *step)).collect()
    }

    /// Finds where steps have put lines that they took away elsewhere. Kept without that, a line would be in neither place
    /// once the rest is rejected.
    fn moved_to<'a>(
        &self,
        changes: impl Iterator<Item = &'a (LineId, StepId)>,
    ) -> Vec<(LineId, StepId)> {
        let gone = changes.filter(|(id, step)| self.weave.takers(*id).any(|by| by == *step));
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
                changes.extend(self.steps_of(id).map(|step| (id, step)));
            }
            row += usize::from(is_alive);
        }
        self.remove_kept(&changes);
    }

    /// Finds a pending step that was not chosen and whose lines a chosen one replaced.
    fn step_below(
        &self,
        cluster: &Cluster,
        changes: &FxHashSet<(LineId, StepId)>,
    ) -> Option<StepId> {
        cluster.lines.iter().find_map(|&id| {
            let is_replaced = self.weave.takers(id).any(|by| changes.contains(&(id, by)));
            let is_left =
                |step: &StepId| self.is_pending(id, *step) && !changes.contains(&(id, *step));
            self.bringers_of(id).find(is_left).filter(|_| is_replaced)
        })
    }

    /// Plans to reject chosen changes. Lines of others never go. Where others have replaced chosen lines, everything stays
    /// as it is.
    pub fn plan_rejection(&self, choice: &Choice) -> Rejection {
        let clusters = self.clusters(choice);
        let killed_in = self.killed_in(&clusters);
        let is_contested = |cluster: &Cluster| self.is_contested(cluster, choice, &killed_in);
        let (mut stay, mut go): (Vec<_>, Vec<_>) = clusters.into_iter().partition(is_contested);
        let mut seen = 0;
        let mut moved = HashSet::new();
        while seen < stay.len() {
            let held = self.held(&stay, &mut go, choice);
            stay.extend(held);
            // A line the agent has moved out of a place that stays must not go from where it is now, so that place stays, too.
            moved.extend(stay[seen..].iter().flat_map(|it| self.turned(it, choice, true)));
            seen = stay.len();
            let takes = |cluster: &Cluster| {
                self.turned(cluster, choice, false).iter().any(|line| moved.contains(line))
            };
            let held;
            (held, go) = go.into_iter().partition(takes);
            stay.extend(held);
        }
        let lines = go.iter().flat_map(|cluster| &cluster.lines);
        let fates: Vec<_> = lines.filter_map(|&id| Some((id, self.fate(id, choice)?))).collect();
        let mut conflicts: Vec<_> = stay.into_iter().map(|cluster| cluster.rows).collect();
        conflicts.sort_unstable_by_key(|rows| (rows.start, rows.end));
        let hunks = self.hunks_of(&fates);
        let form = choice.form.map(|without| {
            let base = self.forms().base;
            // A file that the agent has created stays if it has lines of others.
            let is_left = self.current().len() > hunks.iter().map(|hunk| hunk.removed).sum();
            Form { exists: without.exists || is_left, ..base }
        });
        let form_by = choice.form.and_then(|without| without.by);
        let form_by =
            form_by.filter(|_| form.is_some_and(|form| form.exists != self.forms().base.exists));
        Rejection { hunks, form, form_by, conflicts, fates }
    }

    /// Returns the lines that come in a place, or those that go, when a choice is rejected there.
    fn turned(&self, cluster: &Cluster, choice: &Choice, comes: bool) -> Vec<&str> {
        let turns = |id: LineId| {
            let fate = self.fate(id, choice).filter(|fate| fate.is_alive() == comes);
            fate.is_some() && self.weave.line(id).is_alive() != comes
        };
        let lines = cluster.lines.iter().filter(|id| turns(**id));
        lines.map(|id| self.weave.text(*id)).collect()
    }

    /// Returns what becomes of a line when a choice is rejected; `None` if it stays as it is.
    pub(super) fn fate(&self, id: LineId, choice: &Choice) -> Option<Fate> {
        let line = self.weave.line(id);
        let is_chosen = |step| choice.changes.contains(&(id, step));
        let had = self.weave.life_without(id, is_chosen);
        // If somebody else has put it back, it is theirs.
        if is_chosen(line.born) && had.dead == Some(line.born) {
            // Also if it is gone already: it must not come back with what has taken it away.
            let is_gone = self.weave.takers(id).any(|step| self.origin(step).is_none());
            return (!is_gone).then_some(Fate::Goes);
        }
        (had != self.weave.life(id)).then_some(Fate::Had(had))
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
                // What had taken it away before somebody put it back.
                if chosen.contains(id) {
                    clusters.push(Cluster { lines: vec![id], rows: row..row + 1 });
                }
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

    fn hunks_of(&self, fates: &[(LineId, Fate)]) -> Vec<Hunk> {
        let shows =
            |(id, fate): &&(LineId, Fate)| fate.is_alive() != self.weave.line(*id).is_alive();
        let mut fates = fates.iter().filter(shows).peekable();
        let mut hunks: Vec<Hunk> = Vec::new();
        let (mut row, mut is_open) = (0, false);
        for (id, line) in self.weave.iter() {
            let was_alive = line.is_alive();
            if fates.peek().is_none() {
                break;
            }
            let Some((_, fate)) = fates.next_if(|(fated, _)| *fated == id) else {
                is_open &= !was_alive;
                row += usize::from(was_alive);
                continue;
            };
            if !std::mem::replace(&mut is_open, true) {
                hunks.push(Hunk { start: row, removed: 0, lines: Vec::new() });
            }
            if let Some(hunk) = hunks.last_mut() {
                hunk.removed += usize::from(was_alive);
                hunk.lines.extend(fate.is_alive().then(|| self.weave.text(id).to_owned()));
            }
            row += usize::from(was_alive);
        }
        hunks
    }

    /// Records that a rejection was carried out, which led to `after`. It is no change of an agent. Nothing else may
    /// have been recorded since it was planned.
    pub fn reject(&mut self, rejection: &Rejection, after: &Version)
    where
        O: Clone,
    {
        let step = self.add_step(None);
        let mut transition = Transition::default();
        for (id, fate) in &rejection.fates {
            match fate {
                Fate::Goes => transition.take(&self.weave, *id, step),
                Fate::Had(life) => transition.set_life(&self.weave, *id, life.clone()),
            }
        }
        self.weave.redo(&transition);
        let base = self.forms().base;
        self.push_state(step, transition, rejection.form.unwrap_or(self.forms().text));
        match (rejection.form, rejection.form_by) {
            (Some(text), Some(by)) => {
                self.states[self.at].forms = Forms { base, text, by: Some(by) };
            }
            (Some(_), None) => drop(self.keep_pending([], true)),
            (None, _) => {}
        }
        if self.text().same_lines(&after.text) {
            // Also where the text is the same as before, and the place in the undo history with it.
            self.is_now(after);
        } else {
            // The user may have typed meanwhile.
            self.catch_up(after);
        }
    }
}
