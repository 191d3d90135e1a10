//! Splits the output of a command into text, control characters and escape sequences. Sequences
//! that do more than move the cursor, erase or set colours are dropped.

/// An incomplete sequence of more bytes is dropped.
const MAX_SEQUENCE: usize = 4096;

/// The maximum number of digits of a parameter, since terminals obey any repeat count.
const MAX_DIGITS: usize = 4;

/// A token of terminal output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// Printable characters.
    Text(&'a str),
    /// One of `\n`, `\r`, `\t` and backspace.
    Control(char),
    /// A sequence that moves the cursor, erases or sets colours, as it was written.
    Sequence(&'a str),
}

/// A tokenizer for output that arrives in chunks of any size.
#[derive(Debug, Default)]
pub struct Scanner {
    /// An incomplete character or sequence.
    partial: Vec<u8>,
    /// Whether the position is inside a control string, such as a window title, which is dropped.
    in_string: bool,
}

impl Scanner {
    /// Takes the next bytes and calls `each` with their tokens. The result does not depend on how
    /// the bytes are split, except where text is split into tokens.
    pub fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(Token<'_>)) {
        let joined;
        let mut rest = bytes;
        if !self.partial.is_empty() {
            self.partial.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.partial);
            rest = &joined;
        }
        while !rest.is_empty() {
            let taken = self.take(rest, &mut each);
            if taken == 0 {
                break;
            }
            rest = &rest[taken..];
        }
        if rest.len() <= MAX_SEQUENCE {
            self.partial = rest.to_vec();
        }
    }

    /// Ends the input. An incomplete character is replaced, an incomplete sequence dropped.
    pub fn end(&mut self, mut each: impl FnMut(Token<'_>)) {
        if self.partial.first().is_some_and(|byte| *byte >= 0x80) {
            each(Token::Text("\u{fffd}"));
        }
        *self = Self::default();
    }

    /// Takes one token from the front and returns its length; 0 if it is incomplete.
    fn take(&mut self, rest: &[u8], each: &mut impl FnMut(Token<'_>)) -> usize {
        if self.in_string {
            let skipped = self.skip_string(rest);
            if skipped > 0 {
                return skipped;
            }
        }
        match rest[0] {
            0x1b => self.escape(rest, each),
            byte @ (b'\n' | b'\r' | b'\t' | 0x08) => {
                each(Token::Control(char::from(byte)));
                1
            }
            // The other control characters ring the bell or change the character set.
            0..0x20 | 0x7f => 1,
            _ => text(rest, each),
        }
    }

    /// Skips a control string. It ends with BEL, ST, CAN or SUB, or where another sequence starts
    /// (`man 4 console_codes`).
    fn skip_string(&mut self, rest: &[u8]) -> usize {
        let ends = |byte: &u8| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b);
        let Some(end) = rest.iter().position(ends) else { return rest.len() };
        self.in_string = false;
        if rest[end] == 0x1b { end } else { end + 1 }
    }

    fn escape(&mut self, rest: &[u8], each: &mut impl FnMut(Token<'_>)) -> usize {
        let (start, final_from) = match rest.get(1) {
            None => return 0,
            Some(b'[') => (2, 0x40),
            Some(b']' | b'P' | b'X' | b'^' | b'_') => {
                self.in_string = true;
                return 2;
            }
            Some(_) => (1, 0x30),
        };
        let inner = |byte: &u8| (0x20..final_from).contains(byte);
        let Some(length) = rest[start..].iter().position(|byte| !inner(byte)) else { return 0 };
        let end = start + length;
        if !(final_from..0x7f).contains(&rest[end]) {
            // A malformed sequence is dropped; the invalid byte starts the next token.
            return end;
        }
        let sequence = &rest[..=end];
        if is_harmless(sequence)
            && let Ok(sequence) = std::str::from_utf8(sequence)
        {
            each(Token::Sequence(sequence));
        }
        end + 1
    }
}

/// Takes text up to the next control character. Invalid UTF-8 is replaced.
fn text(rest: &[u8], each: &mut impl FnMut(Token<'_>)) -> usize {
    let is_control = |byte: &u8| *byte < 0x20 || *byte == 0x7f;
    let end = rest.iter().position(is_control).unwrap_or(rest.len());
    let error = match std::str::from_utf8(&rest[..end]) {
        Ok(text) => {
            printable(text, each);
            return end;
        }
        Err(error) => error,
    };
    let valid = error.valid_up_to();
    printable(std::str::from_utf8(&rest[..valid]).unwrap_or_default(), each);
    match error.error_len() {
        Some(length) => {
            each(Token::Text("\u{fffd}"));
            valid + length
        }
        // The rest of the character may be in the next chunk.
        None if end == rest.len() => valid,
        None => {
            each(Token::Text("\u{fffd}"));
            end
        }
    }
}

/// Emits text without C1 control characters.
fn printable(text: &str, each: &mut impl FnMut(Token<'_>)) {
    for part in text.split(|c: char| c.is_control()).filter(|part| !part.is_empty()) {
        each(Token::Text(part));
    }
}

/// Whether a sequence only moves the cursor, erases or sets colours. Queries, which a terminal
/// would answer, modes and REP (`b`), which repeats a character, are not harmless.
fn is_harmless(sequence: &[u8]) -> bool {
    match sequence {
        [_, b'[', parameters @ .., last] => {
            b"@ABCDEFGHIJKLMPSTXZ`abdefmrsu".contains(last)
                && *last != b'b'
                && parameters.iter().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
                && parameters
                    .split(|byte| !byte.is_ascii_digit())
                    .all(|number| number.len() <= MAX_DIGITS)
        }
        [_, last] => b"78DEM".contains(last),
        [_, b'(', set] => b"0B".contains(set),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let (mut scanner, mut out) = (Scanner::default(), String::new());
        let mut write = |token: Token<'_>| match token {
            Token::Text(text) => out.push_str(text),
            Token::Control(control) => out.push(control),
            Token::Sequence(sequence) => out.extend(["<", &sequence[1..], ">"]),
        };
        for piece in pieces {
            scanner.feed(piece, &mut write);
        }
        scanner.end(&mut write);
        out
    }

    fn all(text: impl AsRef<[u8]>) -> String {
        scan([text.as_ref()])
    }

    #[test]
    fn only_movement_erasing_and_colours_pass() {
        assert_eq!(all("a\x1b[1;31mb\x1b[0m\x1b[2K\r\n"), "a<[1;31m>b<[0m><[2K>\r\n");
        // Titles, clipboard, sixel images, private messages.
        assert_eq!(
            all("\x1b]0;title\x07a\x1b]52;c;aGk=\x1b\\b\x1bPq#0\x1b\\c\x1b_x\x1b\\d"),
            "abcd"
        );
        // Queries, modes, window operations, repetition, huge parameters.
        assert_eq!(all("\x1b[6n\x1b[c\x1b[>c\x1b[?1049h\x1b[20t\x1b[9b\x1b[99999C\x1b[!pz"), "z");
        assert_eq!(all("\x07\x0e\x0f\0\x7f\u{9b}31m!"), "31m!");
        assert_eq!(all("\x1bc\x1b7\x1b(0\x1b(A\x1b="), "<7><(0>");
    }

    #[test]
    fn malformed_input_is_dropped_and_what_follows_is_read() {
        assert_eq!(all("\x1b[3\nx\x1b[\x1b[1mz"), "\nx<[1m>z");
        assert_eq!(all("\x1b]0;no end\x1b[1mx"), "<[1m>x");
        assert_eq!(all(b"a\xffb\xe2\x82c\xe2"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        let endless = format!("\x1b[{}", "1".repeat(MAX_SEQUENCE));
        assert_eq!(scan([endless.as_bytes(), b"x"]), "x");
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            "[a-zß€😀\r\n\t\u{8}]{1,6}".prop_map(String::into_bytes),
            "\x1b\\[[0-9;?]{0,6}[A-Za-z]".prop_map(String::into_bytes),
            "\x1b[\\]PX^_][a-z;0-9]{0,5}(\x07|\x1b\\\\|)".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 1..4),
            Just(vec![0x1b]),
        ];
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_output(
            bytes in bytes(),
            at in prop::collection::vec(0..60usize, 0..4),
        ) {
            let mut cuts: Vec<usize> = at.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(scan(pieces), all(&bytes));
        }

        #[test]
        fn only_text_and_harmless_sequences_get_through(bytes in bytes()) {
            let mut scanner = Scanner::default();
            scanner.feed(&bytes, |token| match token {
                Token::Text(text) => assert!(!text.contains(char::is_control), "{text:?}"),
                Token::Control(control) => assert!("\n\r\t\u{8}".contains(control)),
                Token::Sequence(sequence) => assert!(is_harmless(sequence.as_bytes())),
            });
        }
    }
}
