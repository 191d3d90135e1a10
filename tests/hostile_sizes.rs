//! Texts and lists of every update at sizes made by chance, up to megabytes: what they make for Neovim is small, and memory
//! stays bounded. The figures go to stderr.

use crate::hostile_speed::expect_small_frames;
use crate::support::{Chat, Dice, Inputs, text};
use serde_json::{Value as Json, json};
use std::io::Write as _;

/// So many inputs are sent at once.
const BATCH: u64 = 20;
/// So many batches are played in one Neovim.
const BATCHES: usize = 10;
/// A text has at most so many bytes, and a list so many entries.
const LONGEST: usize = 4 << 20;
const MOST: usize = 100_000;
/// The most memory the binary may ever have held, in KiB.
const PEAK_KIB: u64 = 768 << 10;

/// A size from 1 on, by its power of two: all are as likely in one of three, and smaller ones likelier in the others.
fn size(dice: &mut Dice, most: usize) -> usize {
    let mut power = dice.within(0..most.ilog2() as usize + 1);
    if !dice.once_in(3) {
        power = power.min(dice.within(0..most.ilog2() as usize + 1));
    }
    dice.within((1 << power)..(2 << power)).min(most)
}

/// A text of words, lines or one word.
fn long(dice: &mut Dice) -> String {
    let piece = *dice.pick(&["word ", "true\n", "x", "漢字 ", "| a ", "> ", "```\n"]);
    piece.repeat(size(dice, LONGEST).div_ceil(piece.len()))
}

fn list(dice: &mut Dice, entry: impl Fn(usize) -> Json) -> Json {
    (0..size(dice, MOST)).map(entry).collect()
}

/// An update with one part that may be far too large.
fn update(dice: &mut Dice, id: &str) -> Json {
    let kinds = ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"];
    let call = |mut fields: Json| {
        fields["sessionUpdate"] = json!("tool_call");
        let call = fields.as_object_mut().unwrap();
        call.entry("toolCallId").or_insert_with(|| json!(id));
        call.entry("title").or_insert_with(|| json!("Look"));
        fields
    };
    match dice.within(0..15) {
        0 => {
            json!({"sessionUpdate": dice.pick(&kinds), "messageId": id, "content": text(&long(dice))})
        }
        1 => call(json!({"title": long(dice)})),
        2 => call(json!({"toolCallId": long(dice)})),
        3 => call(json!({"kind": "execute", "rawInput": {"command": long(dice)}})),
        4 => call(json!({"rawOutput": long(dice)})),
        5 => call(json!({"content": [{"type": "content", "content": text(&long(dice))}]})),
        6 => call(
            json!({"content": [{"type": "diff", "path": "/tmp/a", "oldText": long(dice), "newText": long(dice)}]}),
        ),
        7 => call(json!({"locations": list(dice, |at| json!({"path": format!("/tmp/{at}")}))})),
        8 => call(
            json!({"content": list(dice, |_| json!({"type": "content", "content": text("words")}))}),
        ),
        9 => {
            json!({"sessionUpdate": "plan", "entries": list(dice, |at| json!({"content": format!("{at}"), "status": "pending"}))})
        }
        10 => {
            json!({"sessionUpdate": "plan", "entries": [{"content": long(dice), "status": "pending"}]})
        }
        11 => json!({"sessionUpdate": "available_commands_update",
            "availableCommands": list(dice, |at| json!({"name": format!("c{at}"), "description": "does"}))}),
        12 => json!({"sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": long(dice), "description": long(dice)}]}),
        13 => json!({"sessionUpdate": "session_info_update", "title": long(dice)}),
        _ => json!({"sessionUpdate": long(dice), "x": long(dice)}),
    }
}

/// The most memory a process has held, in KiB; 0 where the system does not tell.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Holds (Hostile agents): At whatever sizes texts and lists come, Neovim gets small frames and short lines, memory is bounded, and the next turn works.
#[test]
fn generated_sizes_neither_hold_up_neovim_nor_fill_memory() {
    let _alone = super::alone();
    let inputs = Inputs::of("sizes");
    let (mut chat, mut played) = (Chat::in_turn(), 0);
    chat.write_draft("a draft");
    inputs.in_batches(BATCH, |numbers| {
        if played == BATCHES {
            finish(&mut chat);
            (chat, played) = (Chat::in_turn(), 0);
            chat.write_draft("a draft");
        }
        played += 1;
        let end = format!("{} and before", numbers.end);
        let updates: Vec<_> =
            numbers.map(|number| update(&mut inputs.dice(number), &format!("{number}"))).collect();
        expect_small_frames(&mut chat, &end, updates);
        assert!(!chat.nvim.mode_is_blocked(), "Neovim waits for a key");
    });
    finish(&mut chat);
}

/// The turn ends, the next one works, and what was too large is not held.
fn finish(chat: &mut Chat) {
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.prompt("and now?");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    assert_eq!(chat.draft(), ["a draft"]);
    let kib = peak(chat.nvim.binary());
    // Fails only where nobody reads.
    let _ = writeln!(std::io::stderr(), "sizes: the binary held at most {kib} KiB");
    assert!(kib < PEAK_KIB, "the binary held {kib} KiB");
}
