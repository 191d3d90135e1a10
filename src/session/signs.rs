//! The signs in our own words, for screens that have them and for those that only have ASCII (the option `icons`). What stands
//! in front of lines is drawn by the editor, and what others have written is left as it is.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the editor's screen has only ASCII. All chats have the same.
static IS_ASCII: AtomicBool = AtomicBool::new(false);

/// Sets whether words are written in ASCII from now on.
pub fn use_ascii(is_ascii: bool) {
    IS_ASCII.store(is_ascii, Ordering::Relaxed);
}

/// A sign, of one cell in both forms.
#[derive(Debug, Clone, Copy)]
pub struct Sign {
    usual: &'static str,
    ascii: &'static str,
}

/// Between parts of a line.
pub const DOT: Sign = Sign { usual: "·", ascii: "-" };
/// Where something is left out.
pub const ELLIPSIS: Sign = Sign { usual: "…", ascii: "~" };
/// From one thing to another.
pub const ARROW: Sign = Sign { usual: "→", ascii: ">" };
/// The other way.
pub const BACK: Sign = Sign { usual: "←", ascii: "<" };
/// What was allowed or is done.
pub const DONE: Sign = Sign { usual: "✓", ascii: "+" };
/// What was rejected or has failed.
pub const FAILED: Sign = Sign { usual: "✗", ascii: "x" };
/// What runs.
pub const RUNNING: Sign = Sign { usual: "●", ascii: "*" };
/// What is not begun.
pub const PENDING: Sign = Sign { usual: "○", ascii: "o" };
/// What was given up.
pub const CANCELLED: Sign = Sign { usual: "⊘", ascii: "-" };
/// Between width and height.
pub const TIMES: Sign = Sign { usual: "×", ascii: "x" };

impl Sign {
    /// Returns it as it is written now.
    pub fn now(self) -> &'static str {
        if IS_ASCII.load(Ordering::Relaxed) { self.ascii } else { self.usual }
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.now())
    }
}

/// Joins the parts of a line.
pub fn joined<T: AsRef<str>>(parts: &[T]) -> String {
    let mut out = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(' ');
            out.push_str(DOT.now());
            out.push(' ');
        }
        out.push_str(part.as_ref());
    }
    out
}
