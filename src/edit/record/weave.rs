//! [`Weave`], all lines a file has had since its record began, in one order, each with the step that brought it and the one
//! that took it away. Any text on the way can be derived from it. It does not know who made a step.

use std::ops::Range;

use rustc_hash::FxHashMap;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::super::hunks::Hunk;
use super::super::text::{Shape, Text};

/// Identifies a step of a record. The base counts as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId(pub(crate) u32);

/// What brought the lines that were there when the record began.
pub(crate) const BASE: StepId = StepId(0);

impl StepId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Identifies a line of a weave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LineId(pub(crate) u32);

impl LineId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A line, whether it is in the text at present or not.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Where its text begins in [`Weave::texts`]. It ends where that of the line with the next id begins.
    start: usize,
    /// The step that brought it.
    pub(crate) born: StepId,
    /// Whether that step is part of the present state. If not, the line does not count at all.
    pub(crate) exists: bool,
    /// Whether it has, or had, any of [`Weave::revivals`].
    was_revived: bool,
    /// The step that took it away.
    pub(crate) dead: Option<StepId>,
}

impl Line {
    /// Whether it is in the text.
    pub(crate) fn is_alive(&self) -> bool {
        self.exists && self.dead.is_none()
    }

    /// Whether it was in the text.
    pub(crate) fn is_ghost(&self) -> bool {
        self.exists && self.dead.is_some()
    }
}

/// That a line was taken away by one step and put back by another. One of the two is missing where it was rejected: a line that
/// came by several steps then is there until all of them are rejected, and one that went by several comes back only then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Revival {
    /// The step that took it away.
    pub(crate) away: Option<StepId>,
    /// The one that put it back.
    pub(crate) back: Option<StepId>,
}

/// Whether a line is there, and how that came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Life {
    /// [`Line::dead`], the last one that took it away.
    pub(crate) dead: Option<StepId>,
    /// Its revivals before, in their order.
    pub(crate) revivals: Vec<Revival>,
}

impl Life {
    fn comes_back(&mut self, back: StepId) {
        self.revivals.push(Revival { away: self.dead.take(), back: Some(back) });
    }

    fn goes(&mut self, away: StepId) {
        let before = self.dead.replace(away);
        self.revivals.extend(before.map(|before| Revival { away: Some(before), back: None }));
    }
}

/// A change of the life of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fate {
    line: LineId,
    before: Option<StepId>,
    after: Option<StepId>,
    /// Its revivals before and after, if they change.
    revivals: Option<Box<(Vec<Revival>, Vec<Revival>)>>,
}

/// What a step changes, in a form that can be undone and redone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Transition {
    /// The lines it brought, whose ids follow each other.
    born: Range<u32>,
    /// The lines that were in the text and that the step took away. They have no other fate in it.
    killed: Vec<LineId>,
    /// The step, if it has killed any.
    by: Option<StepId>,
    fates: Vec<Fate>,
}

impl Transition {
    /// Has a line leave the text.
    fn kill(&mut self, line: LineId, by: StepId) {
        self.by = Some(by);
        self.killed.push(line);
    }

    fn born(&self) -> impl Iterator<Item = LineId> + use<> {
        self.born.clone().map(LineId)
    }

    /// Takes a line away, even if another step has done so before.
    pub(crate) fn take(&mut self, weave: &Weave, id: LineId, by: StepId) {
        let mut life = weave.life(id);
        life.goes(by);
        self.set_life(weave, id, life);
    }

    /// Has a line come back to the text.
    fn revive(&mut self, weave: &Weave, id: LineId, by: StepId) {
        let mut life = weave.life(id);
        life.comes_back(by);
        self.set_life(weave, id, life);
    }

    /// Gives a line another life.
    pub(crate) fn set_life(&mut self, weave: &Weave, id: LineId, after: Life) {
        let before = weave.life(id);
        let is_changed = before.revivals != after.revivals;
        let revivals = is_changed.then(|| Box::new((before.revivals, after.revivals)));
        self.fates.push(Fate { line: id, before: before.dead, after: after.dead, revivals });
    }

    /// The lines that came or came back.
    pub(crate) fn brought(&self) -> impl Iterator<Item = LineId> {
        let back = self.fates.iter().filter(|fate| fate.after.is_none()).map(|fate| fate.line);
        self.born().chain(back)
    }

    /// The lines that went.
    pub(crate) fn taken(&self) -> impl Iterator<Item = LineId> {
        let gone = self.fates.iter().filter(|fate| fate.after.is_some()).map(|fate| fate.line);
        self.killed.iter().copied().chain(gone)
    }
}

/// Some of the lines of a weave. Looking one up costs less than in a set, which matters where all lines are looked up.
#[derive(Debug)]
pub(crate) struct Marks(Vec<bool>);

impl Marks {
    pub(crate) fn contains(&self, line: LineId) -> bool {
        self.0[line.index()]
    }
}

/// All lines of a file, those that are gone included.
#[derive(Debug, Clone)]
pub(crate) struct Weave {
    /// By id.
    lines: Vec<Line>,
    order: Vec<LineId>,
    /// The texts of all lines, one after the other, so that a weave of many lines is quickly made and copied.
    texts: String,
    /// Of the lines that have been revived.
    revivals: FxHashMap<LineId, Vec<Revival>>,
    /// Of those that have put lines in place of others.
    hunks: Vec<Replacement>,
}

/// A hunk of a step that has put lines in place of others.
#[derive(Debug, Clone)]
pub(crate) struct Replacement {
    pub(crate) by: StepId,
    killed: Vec<LineId>,
    /// Their ids follow each other.
    born: Range<u32>,
}

impl Replacement {
    pub(crate) fn killed(&self) -> impl Iterator<Item = LineId> {
        self.killed.iter().copied()
    }

    pub(crate) fn born(&self) -> impl Iterator<Item = LineId> + use<> {
        self.born.clone().map(LineId)
    }

    /// The lines that went and those that came.
    pub(crate) fn lines(&self) -> impl Iterator<Item = LineId> {
        self.killed().chain(self.born())
    }
}

impl Weave {
    /// Begins with the lines of a text.
    pub(crate) fn new(base: &Text) -> Self {
        let (lines, order, texts) = (Vec::new(), Vec::new(), String::new());
        let (revivals, hunks) = (FxHashMap::default(), Vec::new());
        let mut weave = Self { lines, order, texts, revivals, hunks };
        weave.reserve(base.len(), base.lines().map(str::len).sum());
        weave.order = base.lines().map(|line| weave.add(line, BASE)).collect();
        weave
    }

    fn add(&mut self, text: &str, born: StepId) -> LineId {
        let id = LineId(u32::try_from(self.lines.len()).unwrap_or(u32::MAX));
        let start = self.texts.len();
        self.texts.push_str(text);
        self.lines.push(Line { start, born, exists: true, was_revived: false, dead: None });
        id
    }

    /// Makes room for lines that are about to be added. A step that adds many is rare, and room for twice as many would be
    /// wasted in each of many files.
    fn reserve(&mut self, lines: usize, bytes: usize) {
        if lines > self.lines.len() / 8 {
            self.lines.reserve_exact(lines);
            self.texts.reserve_exact(bytes);
        }
    }

    pub(crate) fn line(&self, id: LineId) -> &Line {
        &self.lines[id.index()]
    }

    /// The revivals of a line, in their order.
    pub(crate) fn revivals(&self, id: LineId) -> &[Revival] {
        // Most lines have none.
        if !self.line(id).was_revived {
            return &[];
        }
        self.revivals.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// The steps that took a line away since it came last.
    pub(crate) fn takers(&self, id: LineId) -> impl Iterator<Item = StepId> {
        let before = self.revivals(id).iter().rev().take_while(|it| it.back.is_none());
        self.line(id).dead.into_iter().chain(before.filter_map(|it| it.away))
    }

    pub(crate) fn life(&self, id: LineId) -> Life {
        Life { dead: self.line(id).dead, revivals: self.revivals(id).to_vec() }
    }

    /// Returns the life that a line would have without some steps. Without the one that brought it, that one took it away.
    pub(crate) fn life_without(&self, id: LineId, is_left_out: impl Fn(StepId) -> bool) -> Life {
        let &Line { born, dead, .. } = self.line(id);
        let unborn = Some(born).filter(|step| is_left_out(*step));
        let mut life = Life { dead: unborn, revivals: Vec::new() };
        let last = Revival { away: dead, back: None };
        for &Revival { away, back } in self.revivals(id).iter().chain([&last]) {
            // What has not come cannot go.
            let is_unborn = unborn.is_some() && life.dead == unborn;
            if let Some(away) = away.filter(|step| !is_unborn && !is_left_out(*step)) {
                life.goes(away);
            }
            // No rejection takes away a line that has been there from the beginning, whoever else has put it back.
            let is_sure = born == BASE && life.dead.is_none() && life.revivals.is_empty();
            if let Some(back) = back.filter(|step| !is_sure && !is_left_out(*step)) {
                life.comes_back(back);
            }
        }
        life
    }

    /// Marks some of the lines.
    pub(crate) fn marked(&self, lines: impl Iterator<Item = LineId>) -> Marks {
        let mut marks = vec![false; self.lines.len()];
        for line in lines {
            marks[line.index()] = true;
        }
        Marks(marks)
    }

    pub(crate) fn text(&self, id: LineId) -> &str {
        self.text_at(id.index())
    }

    fn text_at(&self, index: usize) -> &str {
        let end = self.lines.get(index + 1).map_or(self.texts.len(), |next| next.start);
        &self.texts[self.lines[index].start..end]
    }

    /// Returns all lines with the steps that brought them, oldest first.
    pub(crate) fn by_age(&self) -> impl Iterator<Item = (StepId, &str)> {
        self.lines.iter().enumerate().map(|(at, line)| (line.born, self.text_at(at)))
    }

    /// Returns the hunks that have put lines in place of others.
    pub(crate) fn replacements(&self) -> &[Replacement] {
        &self.hunks
    }

    /// Returns all lines in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (LineId, &Line)> {
        self.order.iter().map(|&id| (id, self.line(id)))
    }

    /// Returns the lines that a condition holds for as a text.
    pub(crate) fn text_of(&self, shape: Shape, is_in: impl Fn(LineId, &Line) -> bool) -> Text {
        let mut body = String::new();
        let mut empty = true;
        for (id, _) in self.iter().filter(|(id, line)| is_in(*id, line)) {
            if !empty {
                body.push('\n');
            }
            body.push_str(self.text(id));
            empty = false;
        }
        Text::from_body(body, shape, empty)
    }

    /// Makes a transition part of the present state.
    pub(crate) fn redo(&mut self, transition: &Transition) {
        for line in transition.born() {
            self.lines[line.index()].exists = true;
        }
        for line in &transition.killed {
            self.lines[line.index()].dead = transition.by;
        }
        for fate in &transition.fates {
            self.lines[fate.line.index()].dead = fate.after;
            if let Some(revivals) = &fate.revivals {
                self.set_revivals(fate.line, &revivals.1);
            }
        }
    }

    fn set_revivals(&mut self, id: LineId, revivals: &[Revival]) {
        self.lines[id.index()].was_revived = true;
        self.revivals.insert(id, revivals.to_vec());
    }

    /// Takes a transition out of the present state, of which it was the last.
    pub(crate) fn undo(&mut self, transition: &Transition) {
        for fate in transition.fates.iter().rev() {
            self.lines[fate.line.index()].dead = fate.before;
            if let Some(revivals) = &fate.revivals {
                self.set_revivals(fate.line, &revivals.0);
            }
        }
        for line in &transition.killed {
            self.lines[line.index()].dead = None;
        }
        for line in transition.born() {
            self.lines[line.index()].exists = false;
        }
    }

    /// Applies the hunks of a step to the text. Where a hunk puts back a line that was there before it revives that line,
    /// if `may_revive`. Hunks past the end apply at the end.
    pub(crate) fn apply(
        &mut self,
        step: StepId,
        hunks: &[Hunk],
        may_revive: impl Fn(LineId, &Line) -> bool,
    ) -> Transition {
        let old_order = std::mem::take(&mut self.order);
        let new: usize = hunks.iter().map(|hunk| hunk.lines.len()).sum();
        let mut order = Vec::with_capacity(old_order.len() + new);
        let next = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        let mut transition = Transition { born: next..next, ..Transition::default() };
        self.reserve(new, hunks.iter().flat_map(|hunk| &hunk.lines).map(String::len).sum());
        let (mut at, mut row) = (0, 0);
        for hunk in hunks {
            while at < old_order.len() && row < hunk.start {
                row += usize::from(self.line(old_order[at]).is_alive());
                order.push(old_order[at]);
                at += 1;
            }
            // What lies between the last line before the hunk and the first one after it.
            let from = at;
            let (mut gap, mut last_removed) = (Vec::new(), 0);
            while at < old_order.len() {
                let (id, line) = (old_order[at], self.line(old_order[at]));
                if line.is_alive() {
                    if row >= hunk.start + hunk.removed {
                        break;
                    }
                    row += 1;
                    transition.kill(id, step);
                    last_removed = at + 1 - from;
                } else if line.is_ghost() && may_revive(id, line) {
                    gap.push(at - from);
                }
                at += 1;
            }
            let region = &old_order[from..at];
            let (killed, born) = (transition.killed.len() - hunk.removed, transition.born.end);
            self.weave_in(step, hunk, (region, &gap, last_removed), &mut order, &mut transition);
            let (killed, born) = (&transition.killed[killed..], born..transition.born.end);
            if !killed.is_empty() && !born.is_empty() {
                self.hunks.push(Replacement { by: step, killed: killed.to_vec(), born });
            }
        }
        order.extend_from_slice(&old_order[at..]);
        self.order = order;
        transition.killed.shrink_to_fit();
        self.redo(&transition);
        transition
    }

    /// Puts the lines of a hunk between those of a region. `ghosts` are the places in it of lines that may be revived, and
    /// new lines come after so many `removed` ones, unless they are next to a revived one.
    fn weave_in(
        &mut self,
        step: StepId,
        hunk: &Hunk,
        (region, ghosts, removed): (&[LineId], &[usize], usize),
        order: &mut Vec<LineId>,
        transition: &mut Transition,
    ) {
        let pairs = pairs(
            &ghosts.iter().map(|&at| self.text(region[at])).collect::<Vec<_>>(),
            &hunk.lines.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let first = pairs.first().map_or(removed, |(ghost, _)| ghosts[*ghost]);
        let (mut taken, mut made) = (first, 0);
        order.extend_from_slice(&region[..first]);
        for (ghost, line) in pairs {
            let at = ghosts[ghost];
            order.extend_from_slice(&region[taken..at]);
            self.bring(step, &hunk.lines[made..line], order, transition);
            transition.revive(self, region[at], step);
            order.push(region[at]);
            (taken, made) = (at + 1, line + 1);
        }
        self.bring(step, &hunk.lines[made..], order, transition);
        order.extend_from_slice(&region[taken..]);
    }

    fn bring(
        &mut self,
        step: StepId,
        lines: &[String],
        order: &mut Vec<LineId>,
        transition: &mut Transition,
    ) {
        for line in lines {
            let id = self.add(line, step);
            order.push(id);
            transition.born.end = id.0 + 1;
        }
    }
}

/// Returns which lines of both are the same, as pairs of places, both ascending.
fn pairs(ghosts: &[&str], lines: &[&str]) -> Vec<(usize, usize)> {
    if ghosts.is_empty() || lines.is_empty() {
        return Vec::new();
    }
    let ops = capture_diff_slices(Algorithm::Myers, ghosts, lines).into_iter();
    let equal = ops.filter_map(|op| match op {
        DiffOp::Equal { old_index, new_index, len } => Some((old_index, new_index, len)),
        _ => None,
    });
    equal.flat_map(|(old, new, len)| (0..len).map(move |i| (old + i, new + i))).collect()
}
