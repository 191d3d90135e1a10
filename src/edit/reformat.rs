//! Finds out which of the changes that no agent made only put other white space into lines of an agent, as formatters do when a
//! file is saved. Such lines stay the agent's.

use super::hunks::Hunk;
use super::record::weave::StepId;
use super::text::Text;

/// Hunks by the step whose lines they reformat; `None` for all others. Their line numbers refer to the same text.
pub(super) type Attributed = Vec<(Option<StepId>, Hunk)>;

/// Attributes the hunks of a change that no agent made. `owners` are the pending steps that have brought the lines of the text.
pub(super) fn attribute(hunks: Vec<Hunk>, text: &Text, owners: &[Option<StepId>]) -> Attributed {
    let owner = |at: usize| owners.get(at).copied().flatten();
    let mut attributed = Attributed::new();
    for hunk in hunks {
        let old = hunk.old().filter(|at| *at < text.len()).map(|at| text.line(at));
        let old: Vec<&str> = old.collect();
        let is_line_by_line = old.len() == hunk.lines.len()
            && old.iter().zip(&hunk.lines).all(|(old, new)| is_same([*old], [new.as_str()]));
        if is_line_by_line {
            attributed.extend(by_line(&hunk, owner));
            continue;
        }
        let first = hunk.old().next().and_then(owner);
        let is_of_one = first.is_some() && hunk.old().all(|at| owner(at) == first);
        let new = hunk.lines.iter().map(String::as_str);
        let step = first.filter(|_| is_of_one && is_same(old.iter().copied(), new));
        attributed.push((step, hunk));
    }
    attributed
}

/// Splits a hunk that gives each line other white space.
fn by_line(hunk: &Hunk, owner: impl Fn(usize) -> Option<StepId>) -> Attributed {
    let mut split = Attributed::new();
    for (at, line) in hunk.old().zip(&hunk.lines) {
        let step = owner(at);
        match split.last_mut() {
            Some((last, hunk)) if *last == step => {
                hunk.removed += 1;
                hunk.lines.push(line.clone());
            }
            _ => {
                let lines = vec![line.clone()];
                split.push((step, Hunk { start: at, removed: 1, lines }));
            }
        }
    }
    split
}

/// Whether lines differ in nothing but white space.
fn is_same<'a>(
    old: impl IntoIterator<Item = &'a str>,
    new: impl IntoIterator<Item = &'a str>,
) -> bool {
    let visible = |line: &'a str| line.chars().filter(|character| !character.is_whitespace());
    old.into_iter().flat_map(visible).eq(new.into_iter().flat_map(visible))
}

/// Takes the hunks of one owner out of a list. The line numbers of the others then refer to the text with them.
pub(super) fn take(attributed: &mut Attributed, owner: Option<StepId>) -> Vec<Hunk> {
    let (mut taken, mut rest) = (Vec::new(), Attributed::new());
    let mut shift = 0_isize;
    for (step, hunk) in attributed.drain(..) {
        if step == owner {
            shift += hunk.lines.len().cast_signed() - hunk.removed.cast_signed();
            taken.push(hunk);
        } else {
            let start = hunk.start.saturating_add_signed(shift);
            rest.push((step, Hunk { start, ..hunk }));
        }
    }
    *attributed = rest;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_may_differ() {
        assert!(is_same(["a=b", "  c"], ["a = b c"]));
        assert!(is_same([""], []));
        assert!(!is_same(["a"], ["b"]));
        assert!(!is_same(["ab"], ["ba"]));
    }

    #[test]
    fn what_is_taken_shifts_the_rest() {
        let hunk = |start, removed, lines: &[&str]| {
            let lines = lines.iter().map(|line| (*line).to_owned()).collect();
            Hunk { start, removed, lines }
        };
        let own = Some(StepId(1));
        let mut all = vec![
            (None, hunk(0, 1, &[])),
            (own, hunk(3, 1, &["a", "b"])),
            (None, hunk(5, 1, &["c"])),
            (own, hunk(7, 2, &[])),
        ];
        assert_eq!(take(&mut all, own), [hunk(3, 1, &["a", "b"]), hunk(7, 2, &[])]);
        assert_eq!(all, [(None, hunk(0, 1, &[])), (None, hunk(6, 1, &["c"]))]);
    }
}
