//! How hostile texts and names are made: from chance alone, and each with the marks by which `poison` finds it.

use super::super::poison;
use crate::support::Dice;
use std::path::Path;

/// A character of a range.
fn within(dice: &mut Dice, first: char, last: char) -> char {
    let code = dice.within(first as usize..last as usize + 1);
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(first)
}

/// One of these words.
fn word<'a>(dice: &mut Dice, of: &[&'a str]) -> &'a str {
    of[dice.within(0..of.len())]
}

/// A sequence that commands a terminal.
pub(crate) fn sequence(dice: &mut Dice) -> String {
    match dice.within(0..6) {
        0 | 1 => csi(dice),
        2 | 3 => string(dice),
        4 => {
            let control = *dice.pick(&[
                '\0', '\u{1}', '\u{5}', '\u{7}', '\u{8}', '\u{b}', '\u{c}', '\r', '\u{e}', '\u{7f}',
            ]);
            format!("zq{}rat", control.to_string().repeat(dice.within(1..4)))
        }
        _ => {
            let hidden = [
                '\u{80}', '\u{85}', '\u{9b}', '\u{9c}', '\u{202a}', '\u{202e}', '\u{2066}',
                '\u{2069}',
            ];
            format!("zq{}rat", dice.pick(&hidden))
        }
    }
}

/// A control sequence (ECMA-48, 5.4).
fn csi(dice: &mut Dice) -> String {
    let mut made = word(dice, &["\u{1b}[", "\u{9b}"]).to_owned();
    made.push_str(word(dice, &["", "", "?", ">", "<", "="]));
    made.push_str("7741");
    for _ in 0..dice.within(0..4) {
        made.push_str(word(dice, &[";", ":", ";7741", ";0", ";99999999999999999999"]));
    }
    for _ in 0..dice.within(0..2) {
        made.push(within(dice, ' ', '/'));
    }
    made.push(within(dice, '@', '~'));
    made
}

/// A control string (ECMA-48, 5.6), which may have no end.
fn string(dice: &mut Dice) -> String {
    let begins = [
        "\u{1b}]", "\u{9d}", "\u{1b}P", "\u{90}", "\u{1b}_", "\u{9f}", "\u{1b}^", "\u{9e}",
        "\u{1b}X", "\u{98}",
    ];
    let mut made = word(dice, &begins).to_owned();
    let kinds = [
        "0;",
        "2;",
        "52;c;",
        "8;;",
        "4;1;",
        "9;",
        "777;notify;",
        "1337;File=",
        "G",
        "+q",
        "$q",
        "",
    ];
    made.push_str(word(dice, &kinds));
    made.push_str(word(dice, &["zqrat", "zqrat;zqrat", "http://zqrat.test", "enFyYXQ="]));
    made.push_str(word(dice, &["\u{7}", "\u{1b}\\", "\u{9c}", ""]));
    made
}

/// Some sequences, with words between them.
pub(crate) fn escapes(dice: &mut Dice) -> String {
    let count = dice.within(1..6);
    (0..count).map(|_| sequence(dice) + word(dice, &["", " ", "words ", "\n", "漢字"])).collect()
}

/// A text where a title is expected: what hides, reorders or breaks it, and what other languages would evaluate.
pub(crate) fn title(dice: &mut Dice) -> String {
    let pieces = [
        "%{system('touch FLAG')}",
        "%{%system('touch FLAG')%}",
        "%!system('touch FLAG')",
        "%#Error#",
        "%=",
        "%<",
        "%999x",
        "%@system@x%X",
        "<CR>:!touch FLAG<CR>",
        "<C-r>=system('touch FLAG')<CR>",
        "`touch FLAG`",
        "$(touch FLAG)",
        "\" | !touch FLAG",
        "' .. os.execute('touch FLAG') .. '",
        "\n",
        "\r",
        "\t",
        "\0",
        "\u{200b}",
        "\u{200d}",
        "\u{2060}",
        "\u{feff}",
        "\u{ad}",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
        "\u{61c}",
        "\u{e0041}",
        "a\u{300}\u{301}\u{302}",
        "漢字",
        "😀",
        "👩\u{200d}💻",
        "words",
        "│",
        "▌ You",
        "└ ✓ Yes",
        "✓",
        "\\",
        "|",
        "%",
    ];
    let count = dice.within(1..10);
    let mut made: String = (0..count).map(|_| *dice.pick(&pieces)).collect();
    match dice.within(0..20) {
        0 => made = made.repeat(1 + 4000 / made.len()),
        1 => made.push_str(&"\u{301}".repeat(200)),
        2 => made.clear(),
        _ => {}
    }
    if dice.once_in(4) { made + &sequence(dice) } else { made }
}

/// How names begin that are none of a file.
const SCHEMES: &[&str] = &[
    "term://",
    "http://127.0.0.1:1/",
    "scp://localhost/",
    "zipfile://",
    "tarfile::",
    "rat://fake/1/",
    "man://",
    "fugitive://",
    "oil://",
    "FILE:///",
    "data:,",
];

/// How names begin that lead elsewhere, or are an option or a variable.
const ROOTS: &[&str] = &[
    "/",
    "//",
    "~/",
    "$HOME/",
    "${HOME}/",
    "/dev/",
    "/proc/self/fd/",
    "/proc/",
    "./",
    "../",
    "+",
    "-c ",
];

/// What names are made of. None is just FLAG, so that nobody may make that file by its name.
const PARTS: &[&str] = &[
    "plain.txt",
    "fifo",
    "to-fifo",
    "to-device",
    "to-stdin",
    "to-nothing",
    "to-outside",
    "loop",
    "socket",
    "folder",
    "secret",
    "..",
    ".",
    "",
    " ",
    "`touch FLAG`",
    "$(touch FLAG)",
    "`=system('touch FLAG')`",
    "%{system('touch FLAG')}",
    "|!touch FLAG",
    "x | !touch FLAG",
    "+!touch FLAG",
    "x\n!touch FLAG",
    "x\r:!touch FLAG",
    "x\0y",
    "x\u{1b}[7741my",
    "x\u{9b}7741my",
    "x\u{202e}y",
    "x\u{200b}y",
    "*",
    "**",
    "?",
    "[a-z]",
    "{a,b}",
    "%",
    "#",
    "##",
    "<cfile>",
    "<afile>",
    "%2e%2e",
    "%2f",
    "%00",
    "%0a",
    "~root",
    "$HOME",
    "\\",
    "x\\ y",
    "-",
    "plain.txt:3",
    "plain.txt:99999999999999999999",
    "zero",
    "tty",
    "mem",
    "漢字",
    "\u{ff0f}etc",
];

/// A name of a file, or of what an editor takes for one.
pub(crate) fn path(dice: &mut Dice, cwd: &Path, outside: &Path) -> String {
    let (cwd, outside) = (cwd.display(), outside.display());
    let start = match dice.within(0..9) {
        0 => format!("{cwd}/"),
        1 => format!("{cwd}//"),
        2 => format!("{outside}/"),
        3 => format!("{cwd}/../outside/"),
        4 => format!("file://{cwd}/"),
        5 => format!("file://{outside}/%2e%2e/"),
        6 => word(dice, SCHEMES).to_owned(),
        7 => word(dice, ROOTS).to_owned(),
        _ => String::new(),
    };
    let mut made = start;
    for at in 0..dice.within(1..5) {
        if at > 0 {
            made.push_str(word(dice, &["/", "/", "//", "\\", ""]));
        }
        made.push_str(word(dice, PARTS));
    }
    if dice.once_in(60) {
        made.push_str(&"x".repeat(10 * 1024));
    }
    made
}

/// What the tests of sequences look for is in each.
#[test]
fn a_sequence_that_reaches_a_terminal_is_found() {
    let mut dice = Dice::new(1);
    for _ in 0..2_000 {
        let sequence = sequence(&mut dice);
        let sent = format!("\u{1b}[1;1Hwords {sequence} words");
        assert!(!poison::problems(sent.as_bytes()).is_empty(), "{sequence:?}");
    }
}
