//! What agents say and show arrives as it was sent: text, thoughts, plans, tool calls and what they put out.

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_agent};

with_each_agent!(
    text_arrives_byte_for_byte,
    thoughts_are_told_from_the_answer,
    steps_are_listed,
    a_command_shows_its_output,
    tool_calls_run_in_parallel,
);

fn text_arrives_byte_for_byte(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    let answer = "# Für **dich**\n\n- `a  b`\n- [x](y) <b>\n\n```lua\nlocal x = 1   -- spaces\n```\n\n日本 🙂 1 < 2";
    let prompt = format!("[[say {}]]", answer.replace('\n', "\\n"));
    chat.ask_and_wait(&prompt);
    let transcript = chat.transcript();
    assert_eq!(transcript.matches(answer).count(), 1, "{transcript}");
    assert_eq!(transcript.matches(&prompt).count(), 1, "an echoed prompt:\n{transcript}");
    chat.finish();
}

fn thoughts_are_told_from_the_answer(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask_and_wait("[[think **Plan** first this, then that]][[say The answer.]]");
    let transcript = chat.transcript();
    let thought = transcript.rfind("first this, then that").unwrap();
    let answer = transcript.rfind("The answer.").unwrap();
    assert!(thought < answer, "{transcript}");
    let screen = chat.nvim.screen();
    assert!(screen.contains("Thinking · "), "{}", screen.text());
    assert!(!screen.contains(" 1 lines"), "{}", screen.text());
    chat.finish();
}

fn steps_are_listed(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask("[[todo 0]][[todo 1]]");
    if kind == Kind::Gemini {
        chat.answer("allow_once");
        chat.answer("allow_once");
    }
    chat.ends("end_turn");
    let shown: &[&str] = match kind {
        Kind::OpenCode => &["2 todos", "│ ✓ Look at the file"],
        Kind::Gemini => &["Set 3 todo(s)"],
        _ => &["Plan 1/3", "✓ Look at the file", "○ Tell the user"],
    };
    for text in shown {
        chat.until(text, |chat| chat.nvim.screen().contains(text).then_some(()));
    }
    chat.finish();
}

fn a_command_shows_its_output(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    // Longer than what the model says of it, which repeats its beginning. (Gemini runs nothing with `$(`.)
    let command = "mkdir made-by-the-agent && printf 'the answer is %s' 42";
    chat.ask(&format!("[[shell {command}]]"));
    assert_eq!(chat.permission()["command"], command);
    let transcript = chat.transcript();
    assert_eq!(transcript.matches(command).count(), 2, "the prompt and the card:\n{transcript}");
    assert!(!transcript.contains("current working directory"), "{transcript}");
    chat.answer("allow_once");
    chat.ends("end_turn");
    let transcript = chat.transcript();
    assert!(chat.path("made-by-the-agent").is_dir(), "{transcript}");
    // Gemini keeps what a command puts out to itself; what its model quotes of it is not the card's.
    let (card, _) = transcript.rsplit_once("All 1 steps done").unwrap();
    assert_eq!(card.contains("the answer is 42"), kind != Kind::Gemini, "{transcript}");
    chat.finish();
}

fn tool_calls_run_in_parallel(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", "one\n"), ("b.py", "uno\n")]);
    chat.ask("[[read a.py]]&&[[read b.py]][[edit a.py|one|1]]&&[[edit b.py|uno|I]]");
    chat.answer("allow_once");
    chat.answer("allow_once");
    chat.ends("end_turn");
    assert_eq!(chat.file("a.py").unwrap(), "1\n");
    assert_eq!(chat.file("b.py").unwrap(), "I\n");
    // Claude's titles say the kind themselves, with a capital.
    let done = |chat: &mut Chat, lower: &str, upper: &str| {
        let is_done = |line: &&String| line.contains(lower) || line.contains(upper);
        chat.nvim.screen().lines().iter().filter(is_done).count()
    };
    chat.until("two of each", |chat| {
        let counts = (done(chat, "✓ read", "✓ Read"), done(chat, "✓ edit", "✓ Edit"));
        (counts == (2, 2)).then_some(())
    });
    chat.finish();
}
