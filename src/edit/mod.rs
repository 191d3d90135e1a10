//! Texts, hunks and merges: what changed between two texts, and how changes made apart come
//! together. Knows nothing of Neovim, agents or disks.

mod collect;
mod hunks;
mod merge;
mod rebase;
mod record;
mod take;
mod text;
pub mod unified;

pub use collect::Collector;
pub use hunks::{Edit, Hunk, apply, diff, invert, refine};
pub use merge::{Conflict, Merged, merge};
pub use rebase::{Overlap, Spans, rebase, replay};
pub use record::{Record, Step};
pub use take::{Kept, Taken, keep_all, leave, shared, take_in};
pub use text::{LineEnding, Shape, Text};
