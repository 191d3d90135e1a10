//! Prompts: what the user says, and what goes with it.

use super::content::Content;

/// What an agent takes in a prompt (ACP `promptCapabilities`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromptCapabilities {
    /// Images.
    pub image: bool,
    /// Sound.
    pub audio: bool,
    /// Resources with their text.
    pub embedded: bool,
}

/// Lines of a file that go with a prompt, with the text as the user sees it, saved or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// `file://` address of the whole file, without a line range; a buffer without a file has another scheme.
    pub uri: String,
    /// The path as the user would write it, for the display.
    pub label: String,
    /// First and last line, counted from 1; `None` for the whole file.
    pub lines: Option<(u32, u32)>,
    /// MIME type, where known.
    pub mime: Option<String>,
    /// The text.
    pub text: String,
}

/// A prompt the user wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// What goes with them.
    pub attachments: Vec<Attachment>,
}

impl Prompt {
    /// The content blocks to send: first the words, then what goes with them, each in the richest form
    /// the agent takes (ACP content: `resource`, else a link and, for what a link cannot say, the text itself).
    pub fn blocks(&self, takes: PromptCapabilities) -> Vec<Content> {
        let mut blocks = Vec::with_capacity(1 + self.attachments.len());
        if !self.text.is_empty() {
            blocks.push(Content::Text(self.text.clone()));
        }
        for attachment in &self.attachments {
            attachment.blocks(takes, &mut blocks);
        }
        blocks
    }
}

impl Attachment {
    /// The address with the lines as its fragment, `#L3-7`.
    pub fn address(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}#L{first}", self.uri),
            Some((first, last)) => format!("{}#L{first}-{last}", self.uri),
            None => self.uri.clone(),
        }
    }

    /// What the user reads: `src/main.rs:3-7`.
    pub fn title(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}:{first}", self.label),
            Some((first, last)) => format!("{}:{first}-{last}", self.label),
            None => self.label.clone(),
        }
    }

    fn blocks(&self, takes: PromptCapabilities, out: &mut Vec<Content>) {
        if takes.embedded {
            out.push(Content::Resource {
                uri: self.address(),
                mime: self.mime.clone(),
                text: self.text.clone(),
            });
            return;
        }
        out.push(Content::ResourceLink {
            uri: self.address(),
            name: self.title(),
            mime: self.mime.clone(),
        });
        // A link names the file; the exact text, perhaps unsaved, has to go as words.
        let fence = fence_for(&self.text);
        let newline = if self.text.ends_with('\n') { "" } else { "\n" };
        out.push(Content::Text(format!(
            "{}:\n{fence}\n{}{newline}{fence}",
            self.title(),
            self.text
        )));
    }
}

/// A code fence longer than any in `text` (CommonMark 4.5).
fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}
