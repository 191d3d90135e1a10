//! Pure text algorithms: diffs between two [`Text`]s, three-way merges, and rebasing hunks over
//! concurrent edits. Knows nothing of Neovim, agents or disks.

mod collect;
mod contested;
mod decision;
mod external;
mod hunks;
mod indent;
mod merge;
mod own;
mod pending;
mod ranges;
mod rebase;
mod record;
mod reformat;
mod replace;
mod revision;
mod taken_back;
mod text;
pub mod unified;

pub use collect::Collector;
pub use decision::{Choice, Rejection};
pub use external::{
    ExternalMerge, UnresolvedHunk, common_lines, merge_external, without_merge, writer_view,
};
pub use hunks::{Edit, Hunk, apply, diff, invert, refine};
pub use indent::fit_indent;
pub use merge::{Conflict, Merged, merge};
pub use own::without_own;
pub use ranges::{Position, PositionEncoding, RangeEdit, apply_ranges};
pub use rebase::{Overlap, Spans, rebase, replay};
pub use record::{
    Form, HunkId, Kept, PendingHunk, Place, Record, StepId, Turnover, UndoState, Version,
};
pub use replace::{ReplaceError, replace};
pub use revision::{Revision, Snapshot};
pub use text::{LineEnding, Shape, Text};
