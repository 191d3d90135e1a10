//! Rates how well a path matches what is typed: all its bytes have to be in the path, in their order.

/// How well a path matches: the higher the better.
pub(super) type Score = i32;

/// Points for a byte that continues the one before it,
const CONTINUED: Score = 16;
/// for one that begins a word,
const BEGINS_WORD: Score = 12;
/// for one that begins the name of the file,
const BEGINS_NAME: Score = 20;
/// for a match within the name of the file,
const IN_NAME: Score = 24;
/// and for a name that is what is typed.
const IS_NAME: Score = 40;
/// Points for a path that has all parts of what is typed, between its slashes, as they are.
const HAS_PARTS: Score = 60;
/// A byte between the first and the last one that match costs a point, but all together no more than this.
const MAX_GAPS: usize = 24;
/// So many bytes of the path cost a point.
const LENGTH_PER_POINT: usize = 8;

/// What is typed. Letters of ASCII match in upper and lower case, unless there is an upper case letter.
#[derive(Debug)]
pub(super) struct Pattern {
    bytes: Vec<u8>,
    ignores_case: bool,
}

impl Pattern {
    pub(super) fn new(typed: &str) -> Self {
        let ignores_case = !typed.bytes().any(|byte| byte.is_ascii_uppercase());
        Self { bytes: typed.as_bytes().to_owned(), ignores_case }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Rates a path; `None` if it does not match.
    pub(super) fn score(&self, path: &str) -> Option<Score> {
        let path = path.as_bytes();
        let name = name_start(path);
        if let Some(end) = self.end_of_match(path, name) {
            let is_name = self.bytes.len() == path.len() - name;
            let bonus = if is_name { IN_NAME + IS_NAME } else { IN_NAME };
            return Some(bonus + self.rate(path, name, name, end));
        }
        let end = self.end_of_match(path, 0)?;
        let bonus = if self.bytes.contains(&b'/') && self.has_parts(path) { HAS_PARTS } else { 0 };
        Some(bonus + self.rate(path, 0, name, end))
    }

    fn has_parts(&self, path: &[u8]) -> bool {
        let mut rest = path;
        self.bytes.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).all(|part| {
            let is_part = |found: &[u8]| {
                part.iter().zip(found).all(|(typed, byte)| self.is_same(*typed, *byte))
            };
            let at = rest.windows(part.len()).position(is_part);
            rest = at.map_or(rest, |at| &rest[at + part.len()..]);
            at.is_some()
        })
    }

    fn is_same(&self, typed: u8, byte: u8) -> bool {
        typed == byte || self.ignores_case && typed == byte.to_ascii_lowercase()
    }

    /// Returns the end of the first match in the path from `start` on.
    fn end_of_match(&self, path: &[u8], start: usize) -> Option<usize> {
        let mut wanted = self.bytes.iter();
        let mut next = *wanted.next()?;
        for (at, byte) in path.iter().enumerate().skip(start) {
            if self.is_same(next, *byte) {
                match wanted.next() {
                    Some(byte) => next = *byte,
                    None => return Some(at + 1),
                }
            }
        }
        None
    }

    /// Rates the match that ends at `end`, taking each byte as late as possible: so it is short.
    fn rate(&self, path: &[u8], start: usize, name: usize, end: usize) -> Score {
        let mut score = 0;
        let (mut at, mut following) = (end, None);
        for typed in self.bytes.iter().rev() {
            while at > start {
                at -= 1;
                if self.is_same(*typed, path[at]) {
                    break;
                }
            }
            if following == Some(at + 1) {
                score += CONTINUED;
            }
            if at == name {
                score += BEGINS_NAME;
            } else if begins_word(path, at) {
                score += BEGINS_WORD;
            }
            following = Some(at);
        }
        let gaps = (end - at).saturating_sub(self.bytes.len()).min(MAX_GAPS);
        let cost = gaps + path.len() / LENGTH_PER_POINT;
        score - Score::try_from(cost).unwrap_or(Score::MAX / 2)
    }
}

/// Returns where the name of the file or folder begins.
fn name_start(path: &[u8]) -> usize {
    let without_slash = path.strip_suffix(b"/").unwrap_or(path);
    without_slash.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)
}

fn begins_word(path: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| path[at]) else { return true };
    let is_capital = path[at].is_ascii_uppercase() && before.is_ascii_lowercase();
    is_capital || !before.is_ascii_alphanumeric() && before.is_ascii()
}
