//! Takes what a command writes apart: text, control characters, escape sequences. What a display may have of them
//! comes out whole; what could do more than move, erase and colour is left out.

/// A begun sequence of more bytes than this is none.
const LONGEST: usize = 4096;

/// Digits a number in a sequence may have: displays repeat what they are told to repeat.
const DIGITS: usize = 4;

/// What a display is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Characters that print.
    Text(&'a str),
    /// One of `\n`, `\r`, `\t` and backspace.
    Control(char),
    /// A sequence that moves, erases or colours, as it came.
    Sequence(&'a str),
}

/// Reads bytes in pieces of any size.
#[derive(Debug, Default)]
pub struct Scanner {
    /// The beginning of a character or a sequence.
    begun: Vec<u8>,
    /// Inside a string that is left out, such as a window title.
    in_string: bool,
}

impl Scanner {
    /// Takes bytes, gives pieces. However the bytes are split, the pieces say the same.
    pub fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(Piece<'_>)) {
        let joined;
        let mut rest = bytes;
        if !self.begun.is_empty() {
            self.begun.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.begun);
            rest = &joined;
        }
        while !rest.is_empty() {
            let taken = self.take(rest, &mut each);
            if taken == 0 {
                break;
            }
            rest = &rest[taken..];
        }
        if rest.len() <= LONGEST {
            self.begun = rest.to_vec();
        }
    }

    /// What comes next will never be whole: what has begun is given as it is.
    pub fn end(&mut self, mut each: impl FnMut(Piece<'_>)) {
        if self.begun.first().is_some_and(|byte| *byte >= 0x80) {
            each(Piece::Text("\u{fffd}"));
        }
        *self = Self::default();
    }

    /// Takes one piece from the front, gives how long it is; 0 where its end has not come yet.
    fn take(&mut self, rest: &[u8], each: &mut impl FnMut(Piece<'_>)) -> usize {
        if self.in_string {
            let skipped = self.skip_string(rest);
            if skipped > 0 {
                return skipped;
            }
        }
        match rest[0] {
            0x1b => self.escape(rest, each),
            byte @ (b'\n' | b'\r' | b'\t' | 0x08) => {
                each(Piece::Control(char::from(byte)));
                1
            }
            // The other control characters ring bells and change alphabets.
            0..0x20 | 0x7f => 1,
            _ => text(rest, each),
        }
    }

    /// A string ends with BEL, ST, CAN or SUB, or where another sequence begins (`man 4 console_codes`).
    fn skip_string(&mut self, rest: &[u8]) -> usize {
        let ends = |byte: &u8| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b);
        let Some(end) = rest.iter().position(ends) else { return rest.len() };
        self.in_string = false;
        if rest[end] == 0x1b { end } else { end + 1 }
    }

    fn escape(&mut self, rest: &[u8], each: &mut impl FnMut(Piece<'_>)) -> usize {
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
            // A broken sequence is left out; the byte that broke it begins something else.
            return end;
        }
        let sequence = &rest[..=end];
        if is_harmless(sequence)
            && let Ok(sequence) = std::str::from_utf8(sequence)
        {
            each(Piece::Sequence(sequence));
        }
        end + 1
    }
}

/// Text up to the next control character; what is no UTF-8 is replaced.
fn text(rest: &[u8], each: &mut impl FnMut(Piece<'_>)) -> usize {
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
            each(Piece::Text("\u{fffd}"));
            valid + length
        }
        // The rest of the character may still come.
        None if end == rest.len() => valid,
        None => {
            each(Piece::Text("\u{fffd}"));
            end
        }
    }
}

/// Text without the control characters above ASCII.
fn printable(text: &str, each: &mut impl FnMut(Piece<'_>)) {
    for part in text.split(|c: char| c.is_control()).filter(|part| !part.is_empty()) {
        each(Piece::Text(part));
    }
}

/// Whether a sequence moves, erases or colours, and no more: no questions, which a display would answer, no modes, no
/// repetition without end.
fn is_harmless(sequence: &[u8]) -> bool {
    match sequence {
        [_, b'[', parameters @ .., last] => {
            b"@ABCDEFGHIJKLMPSTXZ`abdefmrsu".contains(last)
                && *last != b'b'
                && parameters.iter().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
                && parameters
                    .split(|byte| !byte.is_ascii_digit())
                    .all(|number| number.len() <= DIGITS)
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
        let mut note = |piece: Piece<'_>| match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Control(control) => out.push(control),
            Piece::Sequence(sequence) => out.extend(["<", &sequence[1..], ">"]),
        };
        for piece in pieces {
            scanner.feed(piece, &mut note);
        }
        scanner.end(&mut note);
        out
    }

    fn all(text: impl AsRef<[u8]>) -> String {
        scan([text.as_ref()])
    }

    #[test]
    fn colours_and_moves_pass_and_everything_else_is_left_out() {
        assert_eq!(all("a\x1b[1;31mb\x1b[0m\x1b[2K\r\n"), "a<[1;31m>b<[0m><[2K>\r\n");
        // Titles, the clipboard, links, pictures, private messages.
        assert_eq!(
            all("\x1b]0;title\x07a\x1b]52;c;aGk=\x1b\\b\x1bPq#0\x1b\\c\x1b_x\x1b\\d"),
            "abcd"
        );
        // Questions, modes, window operations, repetition, huge numbers.
        assert_eq!(all("\x1b[6n\x1b[c\x1b[>c\x1b[?1049h\x1b[20t\x1b[9b\x1b[99999C\x1b[!pz"), "z");
        assert_eq!(all("\x07\x0e\x0f\0\x7f\u{9b}31m!"), "31m!");
        assert_eq!(all("\x1bc\x1b7\x1b(0\x1b(A\x1b="), "<7><(0>");
    }

    #[test]
    fn what_is_broken_is_left_out_and_what_follows_is_read() {
        assert_eq!(all("\x1b[3\nx\x1b[\x1b[1mz"), "\nx<[1m>z");
        assert_eq!(all("\x1b]0;no end\x1b[1mx"), "<[1m>x");
        assert_eq!(all(b"a\xffb\xe2\x82c\xe2"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        let endless = format!("\x1b[{}", "1".repeat(LONGEST));
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
        /// However the bytes are split, the same comes out.
        #[test]
        fn any_split_says_the_same(bytes in bytes(), at in prop::collection::vec(0..60usize, 0..4)) {
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

        /// Nothing comes out that a display would take for more than text, but the sequences that are named so.
        #[test]
        fn nothing_gets_through_but_text_and_harmless_sequences(bytes in bytes()) {
            let mut scanner = Scanner::default();
            scanner.feed(&bytes, |piece| match piece {
                Piece::Text(text) => assert!(!text.contains(char::is_control), "{text:?}"),
                Piece::Control(control) => assert!("\n\r\t\u{8}".contains(control)),
                Piece::Sequence(sequence) => assert!(is_harmless(sequence.as_bytes())),
            });
        }
    }
}
