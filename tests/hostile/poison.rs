//! What a hostile agent puts into its texts: sequences that command a terminal, and how to find them in what a terminal
//! was sent. Their numbers and words are ones that Neovim never sends by itself.

/// The word in the sequences, and the same in base64.
const WORD: &str = "zqrat";
const WORD_64: &str = "enFyYXQ=";
/// The parameter of sequences that have no words.
const NUMBER: &str = "7741";
/// How a title begins that the user has Neovim set: what is shown of an agent's text in it commands nothing.
const TITLE: &str = "\u{1b}]0;the user's title: ";

/// Each of them alone would do harm. The first ones are short: titles are cut.
pub(crate) const SEQUENCES: &[&str] = &[
    "\u{1b}[7741m",
    "\u{9b}7741m",
    "zq\u{7}rat",
    "zq\u{8}rat",
    "zq\rrat",
    "zq\u{7f}rat",
    "zq\0rat",
    "zq\u{202e}rat",
    "zq\u{2066}rat",
    "\u{1b}]2;zqrat\u{7}",
    "\u{9d}0;zqrat\u{9c}",
    "\u{90}zqrat\u{9c}",
    "\u{9f}Gzqrat\u{9c}",
    "\u{1b}]52;c;enFyYXQ=\u{7}",
    "\u{1b}]0;zqrat\u{1b}\\",
    "\u{1b}]8;;http://zqrat.test\u{1b}\\zqrat\u{1b}]8;;\u{1b}\\",
    "\u{1b}[7741;7741H",
    "\u{1b}[?7741h",
    "\u{1b}[7741 q",
    "\u{1b}[>7741u",
    "\u{1b}[7741t",
    "\u{1b}P7741;zqrat\u{1b}\\",
    "\u{1b}_Gzqrat\u{1b}\\",
    "\u{1b}^zqrat\u{1b}\\",
    "\u{1b}Xzqrat\u{1b}\\",
];

/// A text for a place: its name, then all sequences, beginning elsewhere for each place.
pub(crate) fn text(place: &str) -> String {
    let start = place.bytes().map(usize::from).sum::<usize>() % SEQUENCES.len();
    let (last, first) = SEQUENCES.split_at(start);
    format!("{place} {}{}", first.concat(), last.concat())
}

/// A text for a place that other texts stand behind.
pub(crate) fn short(place: &str) -> String {
    format!("{place} {}", SEQUENCES[..6].concat())
}

/// What reached a terminal and must not have, with what stands around it.
pub(crate) fn problems(bytes: &[u8]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut found = |what: &str, at: usize| {
        let around = &bytes[at.saturating_sub(60)..(at + 60).min(bytes.len())];
        problems.push(format!("{what}: {}", around.escape_ascii()));
    };
    for (at, sequence) in sequences(bytes) {
        let text = String::from_utf8_lossy(sequence);
        let is_marked = [WORD, WORD_64, NUMBER].iter().any(|mark| text.contains(mark));
        if is_marked && !text.starts_with(TITLE) {
            found("a control sequence", at);
        }
    }
    // Whatever Neovim itself draws holds none of these.
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for (offset, char) in chunk.valid().char_indices() {
            if matches!(char, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            {
                found("a character that controls", at + offset);
            }
        }
        at += chunk.valid().len();
        // The last one may go on in what is written next.
        if !chunk.invalid().is_empty() && at + chunk.invalid().len() < bytes.len() {
            found("no UTF-8", at);
        }
        at += chunk.invalid().len();
    }
    for at in memchr::memmem::find_iter(bytes, "zq") {
        let rest = &bytes[at + 2..];
        let controls = rest.iter().take_while(|byte| byte.is_ascii_control()).count();
        // With these, Neovim goes to one of its next rows.
        let rows = rest[..controls].strip_prefix(b"\r").unwrap_or_default();
        let is_wrapped = !rows.is_empty() && rows.iter().all(|byte| *byte == b'\n');
        if controls > 0 && !is_wrapped && rest[controls..].starts_with(b"rat") {
            found("a control character", at);
        }
    }
    problems
}

/// The control sequences and strings in what a terminal was sent, with their places (ECMA-48, 5.4 and 5.6).
fn sequences(bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(start) = memchr::memchr(0x1b, &bytes[at..]).map(|found| at + found) {
        let rest = &bytes[start..];
        let end = match rest.get(1) {
            Some(b'[') => rest[2..].iter().position(|byte| !(0x20..0x40).contains(byte)),
            Some(b']') => rest[2..].iter().position(|byte| matches!(byte, 7 | 0x1b)),
            Some(b'P' | b'_' | b'^' | b'X') => rest[2..].iter().position(|byte| *byte == 0x1b),
            _ => Some(0),
        };
        let length = end.map_or(rest.len(), |end| (end + 2).min(rest.len()));
        all.push((start, &rest[..length]));
        at = start + length;
    }
    all
}

/// Holds (Hostile agents): No text of an agent commands the terminal, in any window: checked in the bytes that Neovim's TUI writes.
#[test]
fn each_sequence_is_found_as_it_is_and_not_as_neovim_shows_it() {
    for sequence in SEQUENCES {
        let sent = format!("\u{1b}[1;1H\u{1b}[38;2;1;2;3mwords {sequence} words\u{1b}[m");
        assert!(!problems(sent.as_bytes()).is_empty(), "{sequence:?}");
        let in_title = format!("{TITLE}{sequence}\u{7}");
        assert!(!problems(in_title.as_bytes()).is_empty(), "{sequence:?} in a title");
    }
    let shown = "\u{1b}]0;the user's title: 7741\u{7}\u{1b}]0;words\u{7}\u{1b}[?2026h\
        ^[]52;c;enFyYXQ=^G<9b>7741mzq^Grat zq<202e>rat zq\r\nrat\r\n";
    assert_eq!(problems(shown.as_bytes()), [""; 0]);
    assert!(!problems(b"words \x9b7741m words").is_empty());
}
