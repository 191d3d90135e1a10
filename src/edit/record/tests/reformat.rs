//! What formatters make of the lines of agents.

use super::*;

/// Holds (Review): What only puts other white space into pending lines of an agent belongs to the agent, what changes more does not.
#[test]
fn other_white_space_in_an_agents_lines_is_the_agents() {
    let mut world = World::new("one\ntwo\nthree\n");
    world.agent("a", "one\nx=1\ny=2\nthree\n");
    world.user("one\nx = 1\ny = 2\nthree\n");
    assert_eq!(world.record.base(), Text::parse("one\ntwo\nthree\n"));
    let pending = world.record.pending();
    assert_eq!(pending.len(), 1);
    assert_eq!((pending[0].base.clone(), pending[0].text.clone()), (1..2, 1..3));
    // A line that is split stays the agent's as a whole.
    world.user("one\nx =\n  1\ny = 2\nthree\n");
    assert_eq!(world.record.base(), Text::parse("one\ntwo\nthree\n"));
    // What the user adds is theirs.
    world.user("one\nx =\n  1\ny = 2 + 1\nthree\n");
    assert_eq!(world.record.base(), Text::parse("one\ntwo\ny = 2 + 1\nthree\n"));
}

/// Holds (Review): Whatever a formatter makes of pending lines of an agent while a buffer is written belongs to the agent, and only that.
#[test]
fn what_is_formatted_while_it_is_written_keeps_its_owner() {
    let mut world = World::new("one\ntwo\nthree\n");
    world.agent("a", "one\nx = 'a'\nthree\n");
    world.user("one\nx = 'a'\nthree\nmine = 'b'\n");
    world.formatter("\"one\"\nx = \"a\";\nthree\n\nmine = \"b\"\n");
    assert_eq!(world.pending(), [("two".to_owned(), "x = \"a\";".to_owned())]);
    let choice = world.choose("a");
    assert_eq!(world.reject(&choice), []);
    assert_eq!(*world.now(), Text::parse("\"one\"\ntwo\nthree\n\nmine = \"b\"\n"));
}

/// Holds (Review): A line of the user's that a formatter moves among lines of an agent stays the user's, as where imports are sorted.
#[test]
fn a_line_that_is_moved_keeps_its_owner() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\nb\nd\n2\n3\n");
    world.user("1\nb\nd\n2\nc\n3\n");
    world.formatter("1\nb\nc\nd\n2\n3\n");
    let choice = world.choose("a");
    world.reject(&choice);
    assert_eq!(*world.now(), Text::parse("1\nc\n2\n3\n"));
    // And the other way round.
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n2\nc\n3\n");
    world.user("1\nb\nd\n2\nc\n3\n");
    world.formatter("1\nb\nc\nd\n2\n3\n");
    let choice = world.choose("a");
    world.reject(&choice);
    assert_eq!(*world.now(), Text::parse("1\nb\nd\n2\n3\n"));
}

#[test]
fn a_line_that_an_agent_put_back_stays_the_agents_when_it_is_formatted() {
    let mut world = World::new("1\nx\n3\n");
    world.user("1\nuser\n3\n");
    world.agent("a", "1\nx\n3\n");
    world.formatter("1\n\"x\",\n3\n");
    assert_eq!(world.pending(), one("user", "\"x\","));
    let choice = world.choose("a");
    assert_eq!(world.reject(&choice), []);
    assert_eq!(*world.now(), Text::parse("1\nuser\n3\n"));
}

#[test]
fn lines_of_two_agents_that_are_formatted_and_moved_stay_whose_they_are() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\na\n2\n3\n");
    world.agent("b", "1\na\nb\n2\n3\n");
    world.formatter("1\n\"b\",\n2\n3\na\n");
    let choice = world.choose("a");
    world.reject(&choice);
    assert_eq!(*world.now(), Text::parse("1\n\"b\",\n2\n3\n"));
}

#[test]
fn a_blank_line_of_an_agent_that_moves_takes_no_line_of_the_users_with_it() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n\n2\n3\n");
    world.formatter("1\n2(\n)\n3\n\n");
    let choice = world.choose("a");
    world.reject(&choice);
    assert_eq!(*world.now(), Text::parse("1\n2(\n)\n3\n\n"));
}

/// Holds (Review): Undo and redo lead through what a formatter has made of an agent's lines.
#[test]
fn undo_leads_through_a_reformatting() {
    let mut world = World::new("one\ntwo\nthree\nfour\n");
    world.agent("a", "one\nx=1\nthree\nfour\n");
    let sent = world.at;
    // The formatter has also changed a line of the user's.
    world.user("one\nx = 1\nthree\n  four\n");
    let formatted = world.at;
    let base = Text::parse("one\ntwo\nthree\n  four\n");
    assert_eq!(world.record.base(), base);
    world.goes_to(sent);
    assert_eq!(world.record.base(), Text::parse("one\ntwo\nthree\nfour\n"));
    assert_eq!(world.record.pending().len(), 1);
    world.goes_to(formatted);
    assert_eq!(world.record.base(), base);
    assert_eq!(world.record.pending().len(), 1);
    let choice = world.choose("a");
    assert_eq!(world.reject(&choice), []);
    assert_eq!(*world.now(), base);
}
