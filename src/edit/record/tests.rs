//! What a record says of a text with an undo history, whatever agents and the user do.

mod acts;
mod put_back;
mod reformat;
mod slots;

use std::collections::{HashMap, HashSet};

use super::super::decision::Choice;
use super::super::hunks::apply;
use super::super::revision::Revision;
use super::*;

/// A buffer with an undo history, and its record.
struct World {
    record: Record<&'static str>,
    /// The text of each state, by sequence number, with the state before it.
    history: Vec<(Text, usize)>,
    at: usize,
    revision: u64,
}

impl World {
    fn new(base: &str) -> Self {
        let base = Text::parse(base);
        let snapshot = Snapshot::new(Revision(0), base.clone());
        let undo = Some(UndoState { buffer: 1, seq: 0 });
        let record = Record::new(&Version::of_buffer(snapshot, undo));
        Self { record, history: vec![(base, 0)], at: 0, revision: 0 }
    }

    fn now(&self) -> &Text {
        &self.history[self.at].0
    }

    fn version(&mut self) -> Version {
        self.revision += 1;
        let text = Snapshot::new(Revision(self.revision), self.now().clone());
        let undo = UndoState { buffer: 1, seq: i64::try_from(self.at).unwrap() };
        Version::of_buffer(text, Some(undo))
    }

    /// The buffer gets another text.
    fn becomes(&mut self, new: Text) {
        if new != *self.now() {
            self.history.push((new, self.at));
            self.at = self.history.len() - 1;
        }
    }

    fn user(&mut self, new: &str) {
        self.becomes(Text::parse(new));
        self.looked_at();
    }

    fn agent(&mut self, by: &'static str, new: &str) {
        let before = self.version();
        self.becomes(Text::parse(new));
        let after = self.version();
        let hunks = diff(&before.text, &after.text);
        self.record.change(by, &before, &after, &hunks);
    }

    /// Neovim goes to another state of its history.
    fn goes_to(&mut self, state: usize) {
        self.at = state;
        self.looked_at();
    }

    fn looked_at(&mut self) {
        let now = self.version();
        self.record.catch_up(&now);
    }

    /// A formatter runs while the buffer is written. Each line stays whose it was, but for one that it puts back where it was
    /// before an agent moved it.
    fn formatter(&mut self, new: &str) {
        let (before, old) = (self.owners(), self.now().content());
        self.becomes(Text::parse(new));
        let now = self.version();
        self.record.was_formatted(&now);
        self.record.catch_up(&now);
        let (after, base) = (self.owners(), self.record.base());
        for (line, owner) in &before {
            let now = after.get(line).unwrap_or(owner);
            if now.is_none() && base.lines().any(|it| letters(it) == *line) {
                continue;
            }
            assert_eq!(owner, now, "whose {line} is in\n{old}formatted as\n{new}");
        }
    }

    /// Whose each line is, by its letters and digits, without the lines that are there twice.
    fn owners(&self) -> HashMap<String, Option<&'static str>> {
        let (mut owners, mut twice) = (HashMap::new(), HashSet::new());
        for (line, owner) in self.now().lines().zip(self.record.owners()) {
            let letters = letters(line);
            let owner = owner.and_then(|step| self.record.origins[step.index()]);
            if owners.insert(letters.clone(), owner).is_some() {
                twice.insert(letters);
            }
        }
        owners.retain(|line, _| !line.is_empty() && !twice.contains(line));
        owners
    }

    fn choose(&self, by: &str) -> Choice {
        self.record.choose(None, |origin| *origin == by)
    }

    fn reject(&mut self, choice: &Choice) -> Vec<(usize, usize)> {
        let rejection = self.record.plan_rejection(choice);
        self.becomes(apply(&rejection.hunks, self.now()));
        let after = self.version();
        self.record.reject(&rejection, &after);
        rejection.conflicts.iter().map(|lines| (lines.start, lines.end)).collect()
    }

    /// What is pending, as lines that go and lines that come.
    fn pending(&self) -> Vec<(String, String)> {
        let (base, text) = (self.record.base(), self.record.text());
        let lines = |text: &Text, rows: &Range<usize>| {
            text.lines().skip(rows.start).take(rows.len()).collect::<Vec<_>>().join(" ")
        };
        let pending = self.record.pending();
        pending.iter().map(|hunk| (lines(&base, &hunk.base), lines(&text, &hunk.text))).collect()
    }

    /// No line of the user's is lost that an agent has not put back: if it went, it comes back once another change is rejected,
    /// too. A line the agent has moved may be gone from its new place and not be back at the old one.
    fn check_users_lines(&self, base: &Text, before: &Text) {
        let either = self.now().content() + &self.record.base().content();
        for line in before.lines().filter(|line| line.starts_with("user")) {
            let is_users = base.lines().any(|other| other == line);
            assert!(!is_users || either.lines().any(|other| other == line), "{line} is lost");
        }
    }

    fn check(&self) {
        assert_eq!(self.record.text(), *self.now());
        let (base, text) = (self.record.base(), self.record.text());
        let hunks = self.record.pending().into_iter().map(|hunk| {
            assert!(!hunk.steps.is_empty(), "somebody has made it");
            let lines = text.lines().skip(hunk.text.start).take(hunk.text.len());
            let lines = lines.map(str::to_owned).collect();
            Hunk { start: hunk.base.start, removed: hunk.base.len(), lines }
        });
        assert_eq!(apply(&hunks.collect::<Vec<_>>(), &base), text, "base and pending hunks");
    }
}

fn letters(line: &str) -> String {
    line.chars().filter(|it| it.is_alphanumeric()).collect()
}

fn one(base: &str, text: &str) -> Vec<(String, String)> {
    vec![(base.to_owned(), text.to_owned())]
}

#[test]
fn what_an_agent_changed_is_pending_and_what_the_user_changed_is_not() {
    let mut world = World::new("1\n2\n3\n");
    world.user("0\n1\n2\n3\n");
    world.agent("a", "0\n1\ntwo\n3\n");
    world.user("0\n1\ntwo\n3\n4\n");
    world.check();
    assert_eq!(world.pending(), one("2", "two"));
    assert_eq!(world.record.base(), Text::parse("0\n1\n2\n3\n4\n"));
}

#[test]
fn undo_and_redo_of_an_agents_step_take_its_hunks_away_and_bring_them_back() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\ntwo\n3\n");
    world.goes_to(0);
    assert_eq!(world.pending(), []);
    world.goes_to(1);
    assert_eq!(world.pending(), one("2", "two"));
    world.goes_to(0);
    world.user("1\n2\n3\n4\n");
    world.goes_to(1);
    assert_eq!(world.pending(), one("2", "two"), "across branches");
    world.check();
}

#[test]
fn what_is_kept_belongs_to_the_base_and_stays_kept_after_undo_and_redo() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\ntwo\n3\n");
    world.record.keep(&world.choose("a"));
    assert_eq!(world.pending(), []);
    assert_eq!(world.record.base(), Text::parse("1\ntwo\n3\n"));
    world.goes_to(0);
    world.goes_to(1);
    assert_eq!(world.pending(), []);
    world.check();
}

#[test]
fn a_hunk_is_rejected_alone_and_undo_makes_it_pending_again() {
    let mut world = World::new("1\n2\n3\n4\n5\n");
    world.agent("a", "1\ntwo\n3\n4\nfive\n");
    let choice = world.record.choose(Some(&(4..5)), |_| true);
    assert_eq!(world.reject(&choice), []);
    assert_eq!(*world.now(), Text::parse("1\ntwo\n3\n4\n5\n"));
    assert_eq!(world.pending(), one("2", "two"));
    world.goes_to(1);
    assert_eq!(world.pending().len(), 2);
    world.check();
}

#[test]
fn lines_that_are_put_back_by_hand_are_no_longer_pending() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n3\n");
    world.user("1\n2\n3\n");
    assert_eq!(world.pending(), []);
    world.check();
}

#[test]
fn lines_of_the_user_within_a_rejected_hunk_stay() {
    let mut world = World::new("1\n2\n");
    world.agent("a", "1\nx\ny\n2\n");
    world.user("1\nx\nuser\ny\n2\n");
    assert_eq!(world.reject(&world.choose("a")), []);
    assert_eq!(*world.now(), Text::parse("1\nuser\n2\n"));
}

#[test]
fn what_the_user_has_changed_within_a_hunk_is_a_conflict() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\ntwo\n3\n");
    world.user("1\ntwo!\n3\n");
    assert_eq!(world.reject(&world.choose("a")), [(1, 2)]);
    assert_eq!(*world.now(), Text::parse("1\ntwo!\n3\n"));
    world.user("1\n3\n");
    assert_eq!(world.reject(&world.choose("a")), [], "nothing is in its place any more");
    assert_eq!(*world.now(), Text::parse("1\n2\n3\n"));
}

#[test]
fn a_turn_can_be_rejected_below_another_unless_that_replaced_its_lines() {
    let mut world = World::new("1\n2\n3\n4\n");
    world.agent("a", "1\ntwo\n3\nfour\n");
    world.agent("b", "1\nzwei\n3\nfour\n");
    assert_eq!(world.reject(&world.choose("a")), [(1, 2)]);
    assert_eq!(*world.now(), Text::parse("1\nzwei\n3\n4\n"));
    assert_eq!(world.reject(&world.choose("b")), []);
    assert_eq!(*world.now(), Text::parse("1\ntwo\n3\n4\n"));
    assert_eq!(world.reject(&world.choose("a")), []);
    assert_eq!(*world.now(), Text::parse("1\n2\n3\n4\n"));
}

#[test]
fn keeping_a_step_keeps_what_it_replaced() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\ntwo\n3\n");
    world.agent("b", "1\nzwei\n3\n");
    world.record.keep(&world.choose("b"));
    assert_eq!(world.pending(), []);
}

#[test]
fn a_line_that_was_moved_by_what_is_kept_stays_where_it_is() {
    let mut world = World::new("1\n2\n3\n4\n");
    world.user("1\nuser\n2\n3\n4\n");
    world.agent("b", "b\n2\n3\n4\nuser\n");
    world.agent("a", "2\n3\n4\nuser\n");
    // It replaced the line that "b" brought in the place of the user's.
    world.record.keep(&world.choose("a"));
    world.reject(&world.choose("b"));
    assert_eq!(*world.now(), Text::parse("2\n3\n4\nuser\n"));
}

#[test]
fn a_line_that_was_moved_out_of_a_place_that_is_held_back_stays_where_it_is() {
    let mut world = World::new("1\nx\n2\n3\n4\ny\n5\n6\n7\n8\n");
    world.agent("a", "1\na\n2\n3\n4\nx\n5\n6\n7\ny\n8\n");
    let text = "1\nuser\n2\n3\n4\nx\n5\n6\n7\ny\n8\n";
    world.user(text);
    // The user's line stays, so "x" must, too, and then "y".
    assert_eq!(world.reject(&world.choose("a")), [(1, 2), (5, 6), (9, 10)]);
    assert_eq!(*world.now(), Text::parse(text));
}

#[test]
fn the_shape_is_part_of_a_change() {
    let mut world = World::new("1\n2\n");
    world.agent("a", "1\n2");
    assert_eq!(world.record.base(), Text::parse("1\n2\n"));
    let choice = world.choose("a");
    assert!(!choice.is_empty());
    assert!(world.record.plan_rejection(&choice).form.unwrap().shape.final_newline);
    world.record.keep(&choice);
    assert_eq!(world.record.base(), Text::parse("1\n2"));
}

/// A file that is not loaded, or none.
fn file(revision: u64, text: Option<&str>) -> Version {
    let snapshot = Snapshot::new(Revision(revision), text.map_or_else(Text::default, Text::parse));
    Version { exists: text.is_some(), ..Version::of_file(snapshot) }
}

fn changed(before: Option<&str>, after: Option<&str>) -> Record<&'static str> {
    let (before, after) = (file(1, before), file(2, after));
    let mut record = Record::new(&before);
    record.change("a", &before, &after, &diff(&before.text, &after.text));
    record
}

#[test]
fn rejecting_a_created_file_deletes_it_unless_it_has_lines_of_the_user() {
    let mut record = changed(None, Some("1\n2\n"));
    assert_eq!(record.existence(), (false, true));
    let all = record.choose(None, |_| true);
    assert!(!record.plan_rejection(&all).form.unwrap().exists);
    let lines = record.choose(Some(&(0..1)), |_| true);
    assert!(!record.plan_rejection(&lines).form.unwrap().exists, "its only hunk");
    record.catch_up(&file(3, Some("1\nuser\n2\n")));
    let all = record.choose(None, |_| true);
    let rejection = record.plan_rejection(&all);
    assert!(rejection.form.is_none_or(|form| form.exists));
}

#[test]
fn rejecting_the_deletion_of_a_file_brings_it_back_with_its_line_ends() {
    let record = changed(Some("1\r\n2\r\n"), None);
    assert_eq!((record.existence(), record.has_pending()), ((true, false), true));
    let rejection = record.plan_rejection(&record.choose(None, |_| true));
    let form = rejection.form.unwrap();
    assert!(form.exists);
    let text = apply(&rejection.hunks, &Text::default()).with_shape(form.shape);
    assert_eq!(text, Text::parse("1\r\n2\r\n"));
}

#[test]
fn a_file_that_is_made_again_goes_with_that_and_comes_back_with_its_deletion() {
    let text = |content: &str| Snapshot::new(Revision(content.len() as u64), Text::parse(content));
    let of = |content: &str| Version::of_file(text(content));
    let gone = Version { exists: false, ..of("") };
    let (base, new) = (of("base\n"), of("new one\n"));
    let mut record = Record::new(&base);
    record.change("a", &base, &gone, &diff(&base.text, &gone.text));
    record.change("b", &gone, &new, &diff(&gone.text, &new.text));
    let rejection = record.plan_rejection(&record.choose(None, |origin| *origin == "b"));
    assert!(!rejection.form.unwrap().exists);
    record.reject(&rejection, &gone);
    assert_eq!(record.existence(), (true, false));
    let rejection = record.plan_rejection(&record.choose(None, |origin| *origin == "a"));
    assert!(rejection.form.unwrap().exists);
    record.reject(&rejection, &base);
    assert_eq!((record.existence(), record.has_pending()), ((true, true), false));
    assert_eq!(record.text(), Text::parse("base\n"));
}

#[test]
fn an_empty_file_that_was_created_is_pending() {
    let mut record = changed(None, Some(""));
    assert!(record.has_pending());
    let all = record.choose(None, |_| true);
    assert!(!record.plan_rejection(&all).form.unwrap().exists);
    record.keep(&all);
    assert!(!record.has_pending());
}

#[test]
fn a_line_that_another_puts_back_after_it_was_kept_away_is_pending() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\ntwo\n3\n");
    let all = world.choose("a");
    world.record.keep(&all);
    world.agent("b", "1\n2\n3\n");
    world.check();
    assert_eq!(world.pending(), one("two", "2"));
    assert_eq!(world.record.base(), Text::parse("1\ntwo\n3\n"));
    assert_eq!(world.reject(&world.choose("b")), []);
    assert_eq!(*world.now(), Text::parse("1\ntwo\n3\n"));
}

#[test]
fn a_line_that_the_user_has_deleted_and_an_agent_puts_back_is_pending() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n2\n3\n4\n");
    world.user("1\n3\n4\n");
    world.agent("b", "1\n2\n3\n4\n");
    world.check();
    assert_eq!(world.reject(&world.choose("b")), []);
    assert_eq!(*world.now(), Text::parse("1\n3\n4\n"));
    world.agent("b", "1\n2\n3\n4\n");
    let all = world.choose("b");
    world.record.keep(&all);
    assert_eq!(world.record.base(), Text::parse("1\n2\n3\n"));
}

#[test]
fn a_line_that_comes_and_goes_again_is_as_if_that_had_not_been_once_it_is_rejected() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\ntwo\n3\n");
    world.agent("b", "1\n2\n3\n");
    world.check();
    assert_eq!(world.pending(), []);
    world.agent("b", "1\ntwo\n3\n");
    world.check();
    assert_eq!(world.reject(&world.choose("b")), []);
    assert_eq!(*world.now(), Text::parse("1\ntwo\n3\n"));
    world.check();
    assert_eq!(world.reject(&world.choose("a")), []);
    assert_eq!(*world.now(), Text::parse("1\n2\n3\n"));
}

#[test]
fn what_puts_a_pending_line_back_is_rejected() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n3\n");
    world.agent("b", "1\n2\n3\n");
    assert_eq!(world.reject(&world.choose("b")), []);
    assert_eq!(*world.now(), Text::parse("1\n3\n"));
    world.check();
    assert_eq!(world.reject(&world.choose("a")), []);
    assert_eq!(*world.now(), Text::parse("1\n2\n3\n"));
}

#[test]
fn a_hunk_is_known_by_its_identity_whatever_becomes_of_others() {
    let version = |revision, text: &str| {
        Version::of_file(Snapshot::new(Revision(revision), Text::parse(text)))
    };
    let (before, after) = (version(0, "1\n2\n3\n"), version(1, "a\nb\n1\nc\n2\nd\n3\n"));
    let mut record = Record::new(&before);
    record.change("agent", &before, &after, &diff(&before.text, &after.text));
    let [first, second, third] = record.pending().try_into().unwrap();
    let choose =
        |record: &Record<_>, hunk: &PendingHunk| record.choose_hunks(&[hunk.id].into(), |_| true);
    let rejected = record.plan_rejection(&choose(&record, &first));
    let now = version(2, &apply(&rejected.hunks, record.current()).file_content());
    record.reject(&rejected, &now);
    assert!(choose(&record, &first).is_empty(), "it is gone");
    // Where it was, there is another one.
    let rejected = record.plan_rejection(&choose(&record, &third));
    let now = version(3, &apply(&rejected.hunks, record.current()).file_content());
    record.reject(&rejected, &now);
    assert_eq!(record.current().file_content(), "1\nc\n2\n3\n");
    record.keep(&choose(&record, &second));
    assert_eq!(record.pending(), []);
}

#[test]
fn some_lines_of_a_hunk_are_decided_on_alone() {
    let version = |revision, text: &str| {
        Version::of_file(Snapshot::new(Revision(revision), Text::parse(text)))
    };
    let (before, after) = (version(0, "1\n2\n3\n4\n"), version(1, "1\ntwo\nthree\nmore\n4\n"));
    let mut record = Record::new(&before);
    record.change("agent", &before, &after, &diff(&before.text, &after.text));
    let hunk = record.pending()[0].id;
    let first = record.choose_rows(hunk, &(0..2), &(0..1), |_| true);
    record.keep(&first);
    assert_eq!(record.base().file_content(), "1\ntwo\n4\n");
    let left = record.pending()[0].id;
    assert_eq!(record.choose_rows(hunk, &(0..2), &(0..1), |_| true), Choice::default());
    let rejection = record.plan_rejection(&record.choose_rows(left, &(0..0), &(1..2), |_| true));
    let text = apply(&rejection.hunks, record.current());
    assert_eq!(text.file_content(), "1\ntwo\nthree\n4\n");
    assert!(rejection.conflicts.is_empty());
}

/// Whether it was the record that rejected it, or somebody has deleted the file.
#[test]
fn the_rejection_of_an_empty_file_is_taken_back() {
    for is_elsewhere in [false, true] {
        the_rejection_is_taken_back(is_elsewhere);
    }
}

fn the_rejection_is_taken_back(is_elsewhere: bool) {
    let mut record = changed(None, Some(""));
    let before = record.place();
    if is_elsewhere {
        record.catch_up(&file(3, None));
    } else {
        let rejection = record.plan_rejection(&record.choose(None, |_| true));
        record.reject(&rejection, &file(3, None));
    }
    assert!(!record.has_pending());
    let (text, form) = record.text_at(before).unwrap();
    assert!(form.exists);
    record.return_to(before, &Version::of_file(Snapshot::new(Revision(4), text)));
    assert!(record.has_pending());
}
