//! Documents: the files agents read and write, whether they are loaded in Neovim or not. [`Documents`] takes requests
//! with real paths and has one queue for each file. It merges agents' changes with those of the user and of other
//! programs, and reaches Neovim only through [`editor::Editor`]. Whether an agent may access a file is decided before
//! it gets here.

mod agent_view;
pub mod attachments;
mod before;
mod blocking;
mod buffer_events;
mod by_writes;
mod call_times;
mod change;
mod consent;
mod disk;
mod disk_text;
pub mod disks;
mod document;
pub mod editor;
mod encoding;
mod error;
mod facts;
mod follow_disk;
mod found;
mod found_by_turn;
mod limits;
mod on_disk;
mod prompt_context;
mod read;
mod record;
mod registry;
mod replacement;
mod requests;
mod restore;
mod restored;
mod review;
mod revisions;
mod scans;
mod separate;
mod session_documents;
mod taken_back;
mod transcode;
mod uncertain_start;
pub mod watch;
mod way_back;
mod whose;
mod write;
mod write_plan;

pub use change::{AgentChange, Origin, Via};
pub use encoding::{Encoding, Order};
pub use error::DocumentError;
pub use facts::{DiskFacts, FileTime, Stamp};
pub use registry::Documents;
pub use requests::{ReadRequest, WriteRequest};
pub use restore::{Replaced, Touched, TurnFile, Without, WithoutAgent};
pub use restored::Undone;
pub use review::Decided;
pub use scans::DiskScan;
pub use way_back::WayBack;
