//! The text of a file on disk, and how its bytes are decoded: with the encoding and line ends that Neovim would use if
//! it read the file now. Does no I/O.

use super::editor::Buffer;
use super::encoding::Encoding;
use super::facts::DiskFacts;
use super::revisions::Revisions;
use crate::edit::{LineEnding, Snapshot, Text};

/// The text of a file on disk.
#[derive(Debug, Clone)]
pub(super) struct DiskText {
    pub(super) text: Snapshot,
    pub(super) facts: DiskFacts,
    pub(super) encoding: Encoding,
}

/// Determines the encoding and line ends of a file that is loaded in a buffer. A file that has changed may have others
/// than before, for example after `dos2unix`, and Neovim would detect that on reading it again. But an encoding or
/// format that the user has set explicitly stays in effect as long as detection gives the same result as when it was
/// set.
pub(super) struct FormatDetector {
    /// The encoding of the buffer; if that is modified, of the baseline, since the option may be an unsaved change.
    encoding: Encoding,
    /// The line ends, from the same source.
    ending: Option<LineEnding>,
    /// The line ends Neovim tries to detect (`'fileformats'`). Empty if the file is as Neovim read it.
    formats: Vec<LineEnding>,
    /// Whether Neovim detects the encoding (`'fileencodings'`).
    finds_encoding: bool,
    baseline: Option<DiskText>,
}

impl FormatDetector {
    /// Creates a detector for a file with these facts. `baseline` is the file as Neovim last read or wrote it.
    pub(super) fn new(buffer: &Buffer, baseline: Option<&DiskText>, facts: DiskFacts) -> Self {
        if !buffer.modified {
            let ending = Some(buffer.shape.ending);
            let encoding = buffer.encoding.clone();
            let unchanged = buffer.stamp == Some(facts.stamp());
            let formats = if unchanged { Vec::new() } else { buffer.formats.clone() };
            let finds_encoding = buffer.finds_encoding && !unchanged;
            let baseline = baseline.cloned();
            return Self { encoding, ending, formats, finds_encoding, baseline };
        }
        let encoding = baseline.map_or(&buffer.encoding, |baseline| &baseline.encoding).clone();
        let ending = baseline.map(|baseline| baseline.text.shape().ending);
        let (formats, finds_encoding) = (buffer.formats.clone(), buffer.finds_encoding);
        Self { encoding, ending, formats, finds_encoding, baseline: baseline.cloned() }
    }

    /// Returns the encoding to decode the file with.
    pub(super) fn encoding_of(&self, bytes: &[u8]) -> Encoding {
        let found = Encoding::detect(bytes);
        let changed = match (&self.encoding, &found) {
            _ if !self.finds_encoding => false,
            (Encoding::Utf8, _) => true,
            // Latin1 is only the fallback of detection, and ASCII text is the same in many encodings: neither shows
            // that the encoding has changed.
            (_, Encoding::Latin1) => false,
            (Encoding::Latin1 | Encoding::Other(_), Encoding::Utf8) => {
                !bytes.is_ascii() && !self.looked_like_utf8()
            }
            (_, Encoding::Utf8) => !bytes.contains(&0),
            _ => true,
        };
        if changed { found } else { self.encoding.clone() }
    }

    /// Whether the baseline was valid UTF-8 too, so that latin1 was the user's choice.
    fn looked_like_utf8(&self) -> bool {
        let latin1 = self.baseline.as_ref().filter(|file| file.encoding == Encoding::Latin1);
        let bytes = latin1.and_then(|baseline| {
            let content = baseline.text.content();
            content.chars().map(|c| u8::try_from(c).ok()).collect::<Option<Vec<u8>>>()
        });
        bytes.is_some_and(|bytes| !bytes.is_ascii() && str::from_utf8(&bytes).is_ok())
    }

    /// Parses decoded content and determines its line ends.
    pub(super) fn parse(&self, content: &str) -> Text {
        let found = LineEnding::of(content, &self.formats);
        let ending = match (self.ending, found) {
            (Some(ending), Some(found)) if ending != found => {
                let baseline = self.baseline.as_ref().map(|baseline| &baseline.text);
                let baseline = baseline.filter(|baseline| baseline.shape().ending == ending);
                let is_choice =
                    baseline.is_some_and(|text| text.found_ending(&self.formats) == Some(found));
                if is_choice { ending } else { found }
            }
            (ending, found) => ending.or(found).unwrap_or_default(),
        };
        Text::parse_as(content, ending)
    }
}

impl DiskText {
    /// Whether the text was decoded as the buffer's options say: the user may have changed them since.
    pub(super) fn matches_options_of(&self, buffer: &Buffer) -> bool {
        let same_ending = self.text.shape().ending == buffer.shape.ending;
        buffer.modified || (same_ending && self.encoding == buffer.encoding)
    }

    /// Reparses the text with the line ends of the buffer if the user has chosen those. Only the buffer's text shows
    /// that: for example, `'fileformat'` is unix and each line ends with `\r`.
    pub(super) fn with_chosen_ending(
        self,
        buffer: &Buffer,
        live: &Text,
        revisions: &Revisions,
    ) -> Self {
        let (here, there) = (buffer.shape.ending, self.text.shape().ending);
        if buffer.modified || here == there || live.found_ending(&buffer.formats) != Some(there) {
            return self;
        }
        let text = revisions.snapshot(Text::parse_as(&self.text.file_content(), here));
        Self { text, ..self }
    }

    /// Reparses the text with the line ends that Neovim has found in the file, if the buffer has got other ones since without a
    /// change of its text, as from `.editorconfig`: it counts as unmodified then. Only the buffer's text shows that.
    pub(super) fn with_found_ending(
        self,
        buffer: &Buffer,
        live: &Text,
        revisions: &Revisions,
    ) -> Self {
        let is_empty = self.text.is_empty() || live.is_empty();
        if buffer.modified || is_empty || self.text.line(0) == live.line(0) {
            return self;
        }
        let content = self.text.file_content();
        let Some(found) = LineEnding::of(&content, &buffer.formats) else { return self };
        let text = Text::parse_as(&content, found);
        if !text.same_lines(live) {
            return self;
        }
        Self { text: revisions.snapshot(text), ..self }
    }
}
