//! [`Record`], the history of one file since an agent first changed it: every line it has had, who brought it and who took
//! it away. The text without the pending changes of agents, the *base*, and the pending hunks are both derived from that, so
//! base and pending hunks always give the text. What is kept or rejected is decided in
//! `edit::decision`.

pub(super) mod weave;

#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

use super::hunks::{Hunk, diff};
use super::reformat::{self, Attributed};
use super::revision::{Revision, Snapshot};
use super::text::{Shape, Text};
pub use weave::StepId;
use weave::{BASE, Line, LineId, Transition, Weave};

/// A place in the undo history of a buffer, which identifies a text of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UndoState {
    /// The number of the buffer.
    pub buffer: i64,
    /// `:help changenr()`
    pub seq: i64,
}

/// A text of the file, as a record is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Without lines if there is no file.
    pub text: Snapshot,
    /// Where the buffer with this text is in its undo history; `None` without a buffer.
    pub undo: Option<UndoState>,
    /// Whether there is a file or a buffer with this text.
    pub exists: bool,
}

impl Version {
    /// The text of a file that is not loaded.
    pub fn of_file(text: Snapshot) -> Self {
        Self { text, undo: None, exists: true }
    }

    /// The text of a loaded buffer.
    pub fn of_buffer(text: Snapshot, undo: Option<UndoState>) -> Self {
        Self { text, undo, exists: true }
    }

    fn form(&self) -> Form {
        Form { shape: self.text.shape(), exists: self.exists }
    }
}

/// What a version is besides its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Line ends and the like.
    pub shape: Shape,
    /// Whether there is a file at all.
    pub exists: bool,
}

/// Identifies a pending hunk of a record, whatever becomes of the lines around it. Once a part of the hunk is accepted or
/// rejected, the rest may have another identity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HunkId(pub u32);

/// Lines that pending changes put in place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingHunk {
    /// Which one it is.
    pub id: HunkId,
    /// The lines in the base (0-based).
    pub base: Range<usize>,
    /// The lines in the text (0-based).
    pub text: Range<usize>,
    /// The steps that made it, in ascending order.
    pub steps: Vec<StepId>,
}

/// The lines that steps have brought and taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turnover<'a> {
    /// A line that came twice is there twice.
    pub brought: Vec<&'a str>,
    /// The same of those that went.
    pub taken: Vec<&'a str>,
}

/// A text on the way, and how it came about.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) parent: usize,
    /// How many states lie before it.
    depth: usize,
    pub(super) step: StepId,
    transition: Transition,
    pub(super) forms: Forms,
}

/// The forms of the base and of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forms {
    pub(super) base: Form,
    pub(super) text: Form,
    /// The step of an agent that made them differ.
    pub(super) by: Option<StepId>,
}

/// A text that a record has had, and how it came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The text that the record begins with: places of another record mean nothing.
    pub(super) base: Revision,
    pub(super) state: usize,
}

/// What a decision has kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub(super) at: Place,
    pub(super) changes: Vec<(LineId, StepId)>,
    /// The forms before, if they were kept.
    pub(super) forms: Option<Forms>,
}

impl Kept {
    /// Whether anything was kept.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.forms.is_none()
    }
}

/// The history of a file. `O` says where a change of an agent comes from.
#[derive(Debug, Clone)]
pub struct Record<O> {
    pub(super) weave: Weave,
    /// The first text, by which the record is told from others.
    pub(super) begins_with: Revision,
    /// Who made each step; `None` for the base, and for whoever is no agent.
    origins: Vec<Option<O>>,
    /// A tree whose root is the base.
    pub(super) states: Vec<State>,
    /// The present state.
    pub(super) at: usize,
    by_undo: FxHashMap<UndoState, usize>,
    /// The lines whose coming or going by a step of an agent is no longer pending.
    kept: FxHashSet<(LineId, StepId)>,
    current: Snapshot,
}

impl<O> Record<O> {
    /// Starts a record with a version that no agent has changed yet.
    pub fn new(base: &Version) -> Self {
        let forms = Forms { base: base.form(), text: base.form(), by: None };
        let root = {
            let (step, transition) = (BASE, Transition::default());
            State { parent: 0, depth: 0, step, transition, forms }
        };
        Self {
            weave: Weave::new(&base.text),
            begins_with: base.text.revision(),
            origins: vec![None],
            states: vec![root],
            at: 0,
            by_undo: base.undo.map(|undo| (undo, 0)).into_iter().collect(),
            kept: FxHashSet::default(),
            current: base.text.clone(),
        }
    }

    /// Whether the current version is recorded already, which is quick to find out.
    pub fn is_at(&self, now: &Version) -> bool {
        let known = now.undo.is_none_or(|undo| self.by_undo.get(&undo) == Some(&self.at));
        known && self.has(&now.text) && self.forms().text == now.form()
    }

    /// Returns the same history as if nothing had been kept of what agents for which `is_chosen` did.
    #[must_use]
    pub fn as_if_pending(mut self, is_chosen: impl Fn(&O) -> bool) -> Self {
        let origins = &self.origins;
        let is_of = |step: StepId| origins[step.index()].as_ref().is_some_and(&is_chosen);
        self.kept.retain(|(_, step)| !is_of(*step));
        self
    }

    /// Whether the text of the present state has these lines.
    pub(super) fn has_lines_of(&self, text: &Text) -> bool {
        let mut own = self.weave.iter().filter(|(_, line)| line.is_alive());
        let is_next = |line| own.next().is_some_and(|(id, _)| self.weave.text(id) == line);
        text.lines().all(is_next) && own.next().is_none()
    }

    fn has(&self, text: &Snapshot) -> bool {
        self.current.revision() == text.revision()
    }

    /// Goes to a state if its text is `current`. The same place in the undo history may have another text, after the user
    /// has typed on or the buffer was loaded again.
    pub(super) fn goes_to(&mut self, state: usize, current: &Text) -> bool {
        let from = self.at;
        self.go_to(state);
        let is_there = self.has_lines_of(current);
        if !is_there {
            self.go_to(from);
        }
        is_there
    }

    fn step(&mut self, by: Option<O>, hunks: &[Hunk], after: &Version) {
        self.apply(by, hunks, after.form());
        self.is_now(after);
    }

    fn apply(&mut self, by: Option<O>, hunks: &[Hunk], form: Form) {
        let step = self.add_step(by);
        let (origins, kept) = (&self.origins, &self.kept);
        let may_revive = |id, line: &Line| !is_pending(origins, kept, id, line.born);
        let transition = self.weave.apply(step, hunks, may_revive);
        self.push_state(step, transition, form);
    }

    pub(super) fn add_step(&mut self, by: Option<O>) -> StepId {
        self.origins.push(by);
        StepId(u32::try_from(self.origins.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds a state after the present one, and goes there. The weave is there already.
    pub(super) fn push_state(&mut self, step: StepId, transition: Transition, form: Form) {
        let agents = self.origin(step).is_some().then_some(step);
        let State { depth, forms, .. } = self.states[self.at];
        let forms = forms.after(form, agents);
        self.states.push(State { parent: self.at, depth: depth + 1, step, transition, forms });
        self.at = self.states.len() - 1;
    }

    /// The present state is this version.
    pub(super) fn is_now(&mut self, now: &Version) {
        self.by_undo.extend(now.undo.map(|undo| (undo, self.at)));
        let forms = &mut self.states[self.at].forms;
        *forms = forms.after(now.form(), None);
        self.current = now.text.clone();
    }

    pub(super) fn go_to(&mut self, target: usize) {
        let mut way = Vec::new();
        let (mut from, mut to) = (self.at, target);
        while from != to {
            if self.states[from].depth >= self.states[to].depth {
                self.weave.undo(&self.states[from].transition);
                from = self.states[from].parent;
            } else {
                way.push(to);
                to = self.states[to].parent;
            }
        }
        for state in way.into_iter().rev() {
            self.weave.redo(&self.states[state].transition);
        }
        self.at = target;
    }

    /// Returns who made a step; `None` if it was no agent.
    pub fn origin(&self, step: StepId) -> Option<&O> {
        self.origins[step.index()].as_ref()
    }

    /// Returns who made the steps of agents, in their order.
    pub fn origins(&self) -> impl Iterator<Item = &O> {
        self.origins.iter().flatten()
    }

    /// What the file is now besides its lines.
    pub fn form(&self) -> Form {
        self.forms().text
    }

    /// Returns all lines the file has had since the record began, each with the step that brought it, in that order.
    pub fn lines(&self) -> impl Iterator<Item = (StepId, &str)> {
        self.weave.by_age()
    }

    /// Returns the lines that the steps of agents for which `is_chosen` have brought, and those they have taken away, whatever
    /// became of them.
    pub fn turnover(&self, is_chosen: impl Fn(&O) -> bool) -> Turnover<'_> {
        let mut turnover = Turnover::default();
        let states = self.states.iter();
        for state in states.filter(|state| self.origin(state.step).is_some_and(&is_chosen)) {
            turnover.brought.extend(state.transition.brought().map(|id| self.weave.text(id)));
            turnover.taken.extend(state.transition.taken().map(|id| self.weave.text(id)));
        }
        turnover
    }

    /// Whether nothing but so many steps has led to the present text: no decision, and no undo.
    pub fn has_only_steps(&self, count: usize) -> bool {
        self.states.len() == count + 1 && self.at == count && self.kept.is_empty()
    }

    /// Returns the latest recorded text.
    pub fn current(&self) -> &Snapshot {
        &self.current
    }

    pub(super) fn forms(&self) -> Forms {
        self.states[self.at].forms
    }

    /// Whether there is a file in the base, and now.
    pub fn existence(&self) -> (bool, bool) {
        (self.forms().base.exists, self.forms().text.exists)
    }

    /// Whether anything is pending.
    pub fn has_pending(&self) -> bool {
        self.forms().by.is_some()
            || self.weave.iter().any(|(id, line)| self.is_in_base(id, line) != line.is_alive())
    }

    pub(super) fn text(&self) -> Text {
        self.weave.text_of(self.forms().text.shape, |_, line| line.is_alive())
    }

    /// Returns the text without the pending changes.
    pub fn base(&self) -> Text {
        self.weave.text_of(self.forms().base.shape, |id, line| self.is_in_base(id, line))
    }

    /// Whether the coming or going of a line by a step is pending.
    pub(super) fn is_pending(&self, line: LineId, step: StepId) -> bool {
        is_pending(&self.origins, &self.kept, line, step)
    }

    pub(super) fn is_in_base(&self, id: LineId, line: &Line) -> bool {
        let is_pending = |step| self.is_pending(id, step);
        line.exists && {
            let has_revivals = !self.weave.revivals(id).is_empty();
            if has_revivals {
                self.weave.life_without(id, is_pending).dead.is_none()
            } else {
                !is_pending(line.born) && line.dead.is_none_or(is_pending)
            }
        }
    }

    /// Whether a line that is in the text was there in the beginning, or was brought by an agent and kept.
    pub(super) fn is_settled(&self, id: LineId, line: &Line) -> bool {
        let is_users = line.born != BASE && self.origin(line.born).is_none();
        let is_pending = |step| self.is_pending(id, step);
        let mut revivals = self.weave.revivals(id).iter();
        !is_users && !is_pending(line.born) && !revivals.any(|it| it.back.is_some_and(is_pending))
    }

    pub(super) fn keep_pending(
        &mut self,
        changes: impl IntoIterator<Item = (LineId, StepId)>,
        form: bool,
    ) -> Kept {
        let is_new = |change: &(LineId, StepId)| self.kept.insert(*change);
        let changes = changes.into_iter().filter(is_new).collect();
        let forms = &mut self.states[self.at].forms;
        let before = *forms;
        if form {
            *forms = Forms { base: before.text, text: before.text, by: None };
        }
        Kept { at: self.place(), changes, forms: form.then_some(before) }
    }

    pub(super) fn remove_kept(&mut self, changes: &[(LineId, StepId)]) {
        for change in changes {
            self.kept.remove(change);
        }
    }
}

impl<O: Clone> Record<O> {
    /// Records that an agent turned `before` into `after` with `hunks`. Whatever led from the previous version to `before` was
    /// not made by an agent.
    pub fn change(&mut self, by: O, before: &Version, after: &Version, hunks: &[Hunk]) {
        self.catch_up(before);
        self.step(Some(by), hunks, after);
    }

    /// Records the current version. If it is one that the undo history leads back to, what was pending then is pending again;
    /// otherwise, what changed since the previous version was not made by an agent.
    pub fn catch_up(&mut self, now: &Version) {
        let known = now.undo.and_then(|undo| self.by_undo.get(&undo).copied());
        let is_there = (self.has(&now.text) && known.is_none_or(|known| known == self.at))
            || known.is_some_and(|known| self.goes_to(known, &now.text));
        let is_same = is_there || self.has_lines_of(&now.text);
        let hunks = if is_same { Vec::new() } else { diff(&self.text(), &now.text) };
        // An empty file that an agent has made, and that is gone, may come back by a decision that is taken back.
        let is_gone = self.forms().by.is_some() && now.exists != self.forms().text.exists;
        if hunks.is_empty() && !is_gone {
            self.is_now(now);
        } else {
            self.change_of_others(hunks, now);
        }
    }

    /// Records the current version, which a formatter has made of the previous one: lines that it has changed stay those of
    /// whoever had brought them.
    pub fn was_formatted(&mut self, now: &Version) {
        let hunks = diff(&self.text(), &now.text);
        if !hunks.is_empty() {
            let attributed = reformat::attribute_formatted(hunks, &self.text(), &self.owners());
            self.change_as_attributed(attributed, now);
        }
    }

    /// For each line of the text, the step of an agent that has brought it, or put it back, and is pending.
    fn owners(&self) -> Vec<Option<StepId>> {
        let alive = self.weave.iter().filter(|(_, line)| line.is_alive());
        let owner = |(id, line): (LineId, &Line)| {
            let is_pending = !self.is_in_base(id, line);
            is_pending.then(|| self.last_change(id)).flatten()
        };
        alive.map(owner).collect()
    }

    /// Records a change that no agent made. Lines of an agent that only get other white space stay its own.
    fn change_of_others(&mut self, hunks: Vec<Hunk>, now: &Version) {
        let attributed = reformat::attribute(hunks, &self.text(), &self.owners());
        self.change_as_attributed(attributed, now);
    }

    fn change_as_attributed(&mut self, mut attributed: Attributed, now: &Version) {
        while let Some(owner) = attributed.iter().find_map(|(step, _)| *step) {
            let hunks = reformat::take(&mut attributed, Some(owner));
            let by = self.origins[owner.index()].clone();
            self.apply(by, &hunks, self.form());
        }
        let rest = reformat::take(&mut attributed, None);
        if rest.is_empty() && self.form() == now.form() {
            self.is_now(now);
        } else {
            self.step(None, &rest, now);
        }
    }
}

fn is_pending<O>(
    origins: &[Option<O>],
    kept: &FxHashSet<(LineId, StepId)>,
    line: LineId,
    step: StepId,
) -> bool {
    step != BASE && origins[step.index()].is_some() && !kept.contains(&(line, step))
}

impl Forms {
    /// Returns the forms after a step that gave the text another form.
    fn after(self, text: Form, agents: Option<StepId>) -> Self {
        match agents {
            _ if text == self.text => self,
            Some(_) if text == self.base => Self { text, by: None, ..self },
            Some(step) => Self { text, by: Some(step), ..self },
            None => Self { base: text, text, by: None },
        }
    }
}
