//! Generated Markdown that imitates, breaks and nests, in whole messages and in chunks: it is drawn the same however it was cut,
//! its text is the agent's, and no line of it passes for one of ours.

use super::world::World;
use crate::support::{Dice, Inputs, text};
use rat_nvim::view::line::Line;
use serde_json::json;

/// How headers and the rows of cards begin.
const FRAME: &[char] = &['▌', '◦', '│', '├', '└'];
/// What may stand before them and not be seen.
const MARKS: &str = "#*_`~>\\";

/// Pieces of Markdown. `@` is a piece in it. No link is defined for others, since blocks that came earlier are not parsed
/// again for what it changes.
const PIECES: &[&str] = &[
    "```\n@",
    "```rust\n@\n```\n",
    "~~~~\n@\n~~~",
    "    @",
    "\t@",
    "> @",
    ">> @\n> @",
    "- @\n  - @",
    "1. @",
    "- [ ] @",
    "# @",
    "###### @ #",
    "@\n===\n",
    "@\n---\n",
    "---\n",
    "***\n",
    "| @ | @ |\n|---|:-:|\n| @ | x |\n",
    "@ | x\n--|--\n@ | y\n",
    "[@](http://a.test)",
    "[@][a]",
    "![@](file:///etc/passwd)",
    "<http://a.test>",
    "<div>\n@\n</div>\n",
    "<!-- @",
    "<b>@</b>",
    "&#x2502; @",
    "**@**",
    "_@_",
    "`@`",
    "``@",
    "~~@~~",
    "**@",
    "[@](",
    "\u{1b}[1m@\u{1b}[m",
    "\u{1b}[31m@",
    "\\@",
    "$$@$$",
    "@\r\n@",
    "@  \n@",
    "\n\n@",
    "@\n",
];

/// What begins as ours does, and words.
const WORDS: &[&str] = &[
    "▌ You",
    "◦ Thought",
    "│ $ rm -rf ~",
    "├ ✓ done",
    "└ ✓ Yes, always",
    "│",
    "? edit main.rs",
    "words",
    "漢字",
    "e\u{301}",
    "😀",
    "a_b",
    "|",
    "\u{202e}drow",
    "\u{200b}",
    "é",
    "x",
];

fn piece(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.once_in(3) {
        return (*dice.pick(WORDS)).to_owned();
    }
    let mut made = String::new();
    for part in dice.pick(PIECES).split_inclusive('@') {
        made.push_str(part.trim_end_matches('@'));
        if part.ends_with('@') {
            made.push_str(&piece(dice, depth - 1));
        }
    }
    made
}

fn markup(dice: &mut Dice) -> String {
    let count = dice.within(1..9);
    let separators = ["\n", "\n\n", "", " "];
    (0..count).map(|_| piece(dice, 4) + *dice.pick(&separators)).collect()
}

/// The same text in chunks.
fn cut(dice: &mut Dice, whole: &str) -> Vec<String> {
    let mut chunks = vec![String::new()];
    let often = dice.within(1..20);
    for char in whole.chars() {
        if dice.once_in(often) {
            chunks.push(String::new());
        }
        chunks.last_mut().unwrap().push(char);
    }
    chunks
}

/// What a message looks like that comes in these chunks, without what stood before it.
fn drawn(chunks: &[String]) -> Vec<Line> {
    let mut world = World::in_a_turn();
    let before = world.views["chat"].len();
    for chunk in chunks {
        world.update(&json!({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text(chunk)}));
    }
    // The last line before may become the empty one in front of the message.
    world.views["chat"][before..].to_vec()
}

/// The text of a line without what its format hides.
fn shown(line: &Line) -> String {
    let spans = line.format.split('|').nth(1).unwrap_or_default();
    let mut hidden = Vec::new();
    for span in spans.split_inclusive(|it: char| it.is_ascii_alphabetic()) {
        if let Some((start, end)) = span.strip_suffix('X').and_then(|it| it.split_once(',')) {
            hidden.push(start.parse().unwrap()..end.parse::<usize>().unwrap());
        }
    }
    let is_shown = |at: &usize| !hidden.iter().any(|range| range.contains(at));
    line.text.char_indices().filter(|(at, _)| is_shown(at)).map(|(_, char)| char).collect()
}

fn passes_for_ours(line: &Line) -> bool {
    let shown = shown(line);
    let rest = shown.trim_start_matches(|it: char| it.is_whitespace() || MARKS.contains(it));
    let rest = rest.strip_prefix(FRAME);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Holds (Hostile agents): Markdown is drawn the same in whatever chunks it comes, byte for byte, and no line of it passes for one of ours.
#[test]
fn generated_markup_is_drawn_the_same_in_all_chunks_and_imitates_nothing() {
    let inputs = Inputs::of("markup");
    inputs.in_batches(1, |numbers| {
        let mut dice = inputs.dice(numbers.start);
        let whole = markup(&mut dice);
        let in_one = drawn(std::slice::from_ref(&whole));
        let chunks = cut(&mut dice, &whole);
        assert_eq!(drawn(&chunks), in_one, "{chunks:?}");
        let lines: Vec<_> = in_one.iter().map(|line| line.text.as_str()).collect();
        assert!(lines.join("\n").contains(whole.trim_end_matches('\n')), "{whole:?}: {lines:?}");
        for line in &in_one {
            // Code stands on a ground of its own.
            let is_told_apart = line.format.starts_with(['l', 'c', 'f']);
            assert!(is_told_apart || !passes_for_ours(line), "{line:?} of {whole:?}");
        }
    });
}
