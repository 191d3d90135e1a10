//! Breaks lines that are too long into pieces: an editor wraps a line as a whole, however little of it is on the screen. It
//! changes nothing else of a text, and most texts have no such line.

/// A line of more bytes is broken.
const MAX_PIECE: usize = 16 * 1024;

/// A text that only grows, with breaks in lines that are too long. Where they are depends on the text alone.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The number of bytes read.
    read: usize,
    /// The length of the last piece, in bytes.
    last: usize,
    /// The text read, with breaks; `None` while there are none.
    broken: Option<String>,
}

impl Pieces {
    /// Reads what is new.
    pub(super) fn read(&mut self, text: &str) {
        for line in text[self.read..].split_inclusive('\n') {
            let mut rest = line.strip_suffix('\n').unwrap_or(line);
            let end = self.read + line.len();
            while self.last + rest.len() > MAX_PIECE {
                let at = floor_boundary(rest, MAX_PIECE - self.last);
                let before = self.read;
                let broken = self.broken.get_or_insert_with(|| text[..before].to_owned());
                broken.push_str(&rest[..at]);
                broken.push('\n');
                self.read += at;
                rest = &rest[at..];
                self.last = 0;
            }
            if let Some(broken) = &mut self.broken {
                broken.push_str(&text[self.read..end]);
            }
            self.last = if line.ends_with('\n') { 0 } else { self.last + rest.len() };
            self.read = end;
        }
    }

    /// Returns the length of a text with its breaks; `None` if it has not been read to its end.
    pub(super) fn len_of(&self, text: &str) -> Option<usize> {
        (self.read == text.len()).then(|| self.broken.as_ref().map_or(self.read, String::len))
    }

    /// Takes the text with its breaks; `None` if there are none.
    pub(super) fn take(&mut self) -> Option<String> {
        self.broken.take()
    }

    /// Gives back what was taken.
    pub(super) fn put(&mut self, broken: Option<String>) {
        self.broken = broken;
    }
}

/// Returns the last character boundary at or before `index`.
pub(super) fn floor_boundary(text: &str, mut index: usize) -> usize {
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, cuts: &[usize]) -> Pieces {
        let mut pieces = Pieces::default();
        let mut ends: Vec<_> =
            cuts.iter().map(|cut| floor_boundary(text, cut % (text.len() + 1))).collect();
        ends.sort_unstable();
        for end in ends.into_iter().chain([text.len()]) {
            pieces.read(&text[..end]);
        }
        pieces
    }

    #[test]
    fn a_text_without_long_lines_is_not_copied() {
        let text = format!("{}\n{}", "x".repeat(MAX_PIECE), "y".repeat(MAX_PIECE));
        let pieces = read(&text, &[5, MAX_PIECE, MAX_PIECE + 1]);
        assert_eq!((pieces.len_of(&text), &pieces.broken), (Some(text.len()), &None));
        assert_eq!(pieces.len_of(&format!("{text}z")), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Holds (Hostile agents): A line of megabytes is drawn in pieces of at most 16 KiB, in whatever chunks it comes, and nothing of it is lost.
        #[test]
        fn pieces_are_short_and_the_same_for_all_chunks(
            words in prop::collection::vec(
                ("[a漢 ]{1,3}", 1_usize..9_000, prop::bool::weighted(0.2)), 1..12,
            ),
            cuts in prop::collection::vec(any::<usize>(), 0..6),
        ) {
            let piece = |(text, count, ends): &(String, usize, bool)| {
                text.repeat(*count) + if *ends { "\n" } else { "" }
            };
            let text: String = words.iter().map(piece).collect();
            let pieces = read(&text, &cuts);
            let broken = pieces.broken.clone().unwrap_or_else(|| text.clone());
            prop_assert!(broken.split('\n').all(|line| line.len() <= MAX_PIECE));
            prop_assert_eq!(broken.replace('\n', ""), text.replace('\n', ""));
            prop_assert_eq!(pieces.len_of(&text), Some(broken.len()));
            prop_assert_eq!(read(&text, &[]).broken, pieces.broken);
            let kept = text.split('\n').filter(|line| line.len() <= MAX_PIECE);
            prop_assert!(kept.clone().all(|line| broken.split('\n').any(|other| other == line)));
        }
    }
}
