//! Where a rejection changes nothing: others stand on the lines that were chosen, so that what came of it would be a text that
//! nobody has written.

use rustc_hash::{FxHashMap, FxHashSet};

use super::decision::{Choice, Cluster, Fate};
use super::record::weave::{Life, LineId, Replacement};
use super::record::{Record, StepId};

/// The hunks that have taken a line away, of those that have put others there.
pub(super) type KilledIn = FxHashMap<LineId, Vec<usize>>;

impl<O> Record<O> {
    /// Of the lines of these places only, which are few where one hunk of thousands is decided on.
    pub(super) fn killed_in(&self, clusters: &[Cluster]) -> KilledIn {
        let lines = clusters.iter().flat_map(|cluster| cluster.lines.iter().copied());
        let wanted = self.weave.marked(lines);
        let mut killed_in = KilledIn::default();
        for (number, hunk) in self.weave.replacements().iter().enumerate() {
            for id in hunk.killed().filter(|id| wanted.contains(*id)) {
                killed_in.entry(id).or_default().push(number);
            }
        }
        killed_in
    }

    /// Takes the places out of `go` that have lines of the same hunks as places that stay: one that was put back since may lie
    /// between what a step has taken away and what it has put there instead.
    pub(super) fn held(
        &self,
        stay: &[Cluster],
        go: &mut Vec<Cluster>,
        choice: &Choice,
    ) -> Vec<Cluster> {
        if stay.is_empty() || go.is_empty() {
            return Vec::new();
        }
        let lines = |all: &[Cluster]| {
            self.weave.marked(all.iter().flat_map(|cluster| cluster.lines.iter().copied()))
        };
        let (mut staying, steps) = (lines(stay), choice.steps());
        let mut held = Vec::new();
        loop {
            let hunks = self.weave.replacements().iter().filter(|hunk| steps.contains(&hunk.by));
            let hunks = hunks.filter(|hunk| hunk.lines().any(|id| staying.contains(id)));
            let of_those = self.weave.marked(hunks.flat_map(Replacement::lines));
            let is_held = |cluster: &Cluster| cluster.lines.iter().any(|id| of_those.contains(*id));
            let (more, rest): (Vec<_>, Vec<_>) = std::mem::take(go).into_iter().partition(is_held);
            *go = rest;
            if more.is_empty() {
                return held;
            }
            held.extend(more);
            staying = lines(&held);
        }
    }

    /// Whether somebody else has changed what was chosen.
    pub(super) fn is_contested(
        &self,
        cluster: &Cluster,
        choice: &Choice,
        killed_in: &KilledIn,
    ) -> bool {
        self.is_replaced(cluster, choice, killed_in)
            || self.is_surrounded(cluster, choice, killed_in)
            || self.leaves_nothing(cluster, choice)
    }

    /// Whether a line would go that was put back in place of another, which has gone since: neither would be left.
    fn leaves_nothing(&self, cluster: &Cluster, choice: &Choice) -> bool {
        cluster.lines.iter().any(|&id| {
            let revived = self.weave.revivals(id).last().and_then(|revival| revival.back);
            let (Some(back), true) = (revived, self.weave.line(id).is_alive()) else {
                return false;
            };
            let Some(Fate::Had(Life { dead: Some(taker), .. })) = self.fate(id, choice) else {
                return false;
            };
            let in_its_place =
                || cluster.lines.iter().filter(|it| self.weave.line(**it).born == taker);
            let is_left = |id: &LineId| match self.fate(*id, choice) {
                Some(fate) => fate.is_alive(),
                None => self.weave.line(*id).is_alive(),
            };
            let has_gone = |id: &LineId| self.weave.line(*id).dead.is_some_and(|by| by > back);
            in_its_place().any(has_gone) && !in_its_place().any(is_left)
        })
    }

    /// Whether somebody else has put lines in place of chosen ones; or another agent has taken them away, and what they had
    /// replaced would come back.
    fn is_replaced(&self, cluster: &Cluster, choice: &Choice, killed_in: &KilledIn) -> bool {
        let is_brought =
            |id: &LineId| self.bringers_of(*id).any(|by| choice.changes.contains(&(*id, by)));
        let chosen = cluster.lines.iter().filter(|id| is_brought(id)).copied();
        let fate = self.heirs(chosen, choice, killed_in);
        let comes_back = || cluster.lines.iter().any(|id| self.comes_back(*id, choice));
        fate.are_there || fate.is_by_agents && comes_back()
    }

    /// Whether a hunk of somebody else has replaced lines before and after one that would come back: nobody knows where in the
    /// new lines it belongs.
    fn is_surrounded(&self, cluster: &Cluster, choice: &Choice, killed_in: &KilledIn) -> bool {
        let places = 0..cluster.lines.len();
        let back: Vec<usize> =
            places.filter(|at| self.comes_back(cluster.lines[*at], choice)).collect();
        if back.is_empty() {
            return false;
        }
        let all = self.weave.replacements();
        let mut ranges: FxHashMap<usize, (usize, usize)> = FxHashMap::default();
        for (at, id) in cluster.lines.iter().enumerate() {
            let hunks = killed_in.get(id).into_iter().flatten();
            for hunk in hunks.filter(|hunk| self.others(*id, choice).any(|by| by == all[**hunk].by))
            {
                ranges.entry(*hunk).or_insert((at, at)).1 = at;
            }
        }
        let is_between =
            |(first, last): &(usize, usize)| back.iter().any(|at| first < at && at < last);
        let around = ranges.iter().filter(|(_, range)| is_between(range));
        let born: Vec<LineId> = around.flat_map(|(hunk, _)| all[*hunk].born()).collect();
        let is_there =
            |id: &LineId| self.is_known(*id) && self.others(*id, choice).next().is_none();
        let is_any_there = born.iter().any(is_there);
        // What an agent has taken away comes back once that is rejected, too.
        let fate = self.heirs(born.into_iter(), choice, killed_in);
        is_any_there || fate.are_there || fate.is_by_agents
    }

    /// Whether a line counts in the present state.
    fn is_known(&self, id: LineId) -> bool {
        self.weave.line(id).exists
    }

    /// The steps that were not chosen and took a line away.
    fn others(&self, id: LineId, choice: &Choice) -> impl Iterator<Item = StepId> {
        self.weave.takers(id).filter(move |by| !choice.changes.contains(&(id, *by)))
    }

    /// Whether a line is in the text again when a choice is rejected.
    fn comes_back(&self, id: LineId, choice: &Choice) -> bool {
        !self.weave.line(id).is_alive() && self.fate(id, choice).is_some_and(|fate| fate.is_alive())
    }

    /// Finds out what others have put in place of lines, in place of that, and so on.
    fn heirs(
        &self,
        lines: impl Iterator<Item = LineId>,
        choice: &Choice,
        killed_in: &KilledIn,
    ) -> Heirs {
        let all = self.weave.replacements();
        let (mut heirs, mut seen) = (Heirs::default(), FxHashSet::default());
        let mut open: Vec<LineId> = lines.filter(|id| self.is_known(*id)).collect();
        while let Some(id) = open.pop() {
            for by in self.others(id, choice) {
                heirs.is_by_agents |= self.origin(by).is_some();
                let hunks = killed_in.get(&id).into_iter().flatten().map(|hunk| &all[*hunk]);
                for heir in hunks.filter(|hunk| hunk.by == by).flat_map(Replacement::born) {
                    if self.is_known(heir) && seen.insert(heir) {
                        heirs.are_there |= self.others(heir, choice).next().is_none();
                        open.push(heir);
                    }
                }
            }
        }
        heirs
    }
}

/// What became of lines.
#[derive(Debug, Default)]
struct Heirs {
    /// Others are there in their place.
    are_there: bool,
    /// An agent has taken one of them away.
    is_by_agents: bool,
}
