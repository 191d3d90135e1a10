//! [`Collector`] assembles a text from slices of a buffer that may change between two slices. It
//! fetches nothing itself.

use super::hunks::Hunk;

/// The lines collected so far: always the first lines of the buffer as of the latest slice.
#[derive(Debug, Default)]
pub struct Collector {
    body: String,
    lines: usize,
    /// How many of the buffer's changes are already applied to `body`.
    changes_applied: usize,
}

impl Collector {
    /// Creates a collector with room for a text of `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { body: String::with_capacity(bytes), ..Self::default() }
    }

    /// Adds a slice: `count` lines from line `from`, joined by `\n`, of the buffer after
    /// `changes`, which are all changes since the collection began. A slice that starts beyond the
    /// lines collected so far is ignored.
    pub fn add(&mut self, from: usize, slice: &str, count: usize, changes: &[Hunk]) {
        self.apply_changes(changes);
        let known = self.lines.wrapping_sub(from);
        if known >= count {
            return; // a gap (which wraps around), or nothing new
        }
        if self.lines > 0 {
            self.body.push('\n');
        }
        let skip = if known == 0 { 0 } else { start_of_line(slice, known) };
        self.body.push_str(&slice[skip..]);
        self.lines = from + count;
    }

    /// Returns the number of lines collected, which is where the next slice starts.
    pub fn len(&self) -> usize {
        self.lines
    }

    /// Whether nothing was collected yet.
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// Returns all lines joined by `\n`.
    pub fn into_body(self) -> String {
        self.body
    }

    fn apply_changes(&mut self, changes: &[Hunk]) {
        let new = changes.get(self.changes_applied..).filter(|new| !new.is_empty());
        let Some(new) = new else { return };
        self.changes_applied = changes.len();
        let mut lines: Vec<&str> =
            if self.lines == 0 { Vec::new() } else { self.body.split('\n').collect() };
        for change in new {
            if change.start >= lines.len() {
                continue; // beyond the lines collected so far
            }
            let end = change.old().end.min(lines.len());
            lines.splice(change.start..end, change.lines.iter().map(String::as_str));
        }
        self.lines = lines.len();
        self.body = lines.join("\n");
    }
}

/// Returns the byte offset of line `index`, which is at least 1 and within the slice.
fn start_of_line(slice: &str, index: usize) -> usize {
    slice.match_indices('\n').nth(index - 1).map_or(slice.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slice(buffer: &[String], from: usize, most: usize) -> (String, usize) {
        let from = from.min(buffer.len());
        let lines = &buffer[from..(from + most).min(buffer.len())];
        (lines.join("\n"), lines.len())
    }

    proptest! {
        /// The slices are planned in advance while the user changes the buffer.
        #[test]
        fn the_collected_text_is_that_of_the_changed_buffer(
            count in 1usize..20,
            changes in prop::collection::vec((0usize..20, 0usize..4, 0usize..4), 0..12),
            size in 1usize..6,
        ) {
            let mut buffer: Vec<String> = (0..count).map(|i| i.to_string()).collect();
            let (mut made, mut collector) = (Vec::new(), Collector::default());
            let mut planned = 0;
            let mut changes = changes.into_iter().enumerate();
            loop {
                if let Some((name, (start, removed, added))) = changes.next() {
                    let start = start.min(buffer.len());
                    let removed = removed.min(buffer.len() - start);
                    // A buffer has at least one line.
                    let added = if removed == buffer.len() { added.max(1) } else { added };
                    let lines = vec![format!("user {name}"); added];
                    buffer.splice(start..start + removed, lines.clone());
                    made.push(Hunk { start, removed, lines });
                }
                let from = if planned < count { planned } else { collector.len() };
                planned = from + size;
                let (text, lines) = slice(&buffer, from, size);
                collector.add(from, &text, lines, &made);
                prop_assert!(collector.len() <= buffer.len());
                if collector.len() == buffer.len() && planned >= count && changes.len() == 0 {
                    break;
                }
            }
            prop_assert_eq!(collector.into_body(), buffer.join("\n"));
        }
    }
}
