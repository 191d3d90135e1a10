//! The data model of a session: transcript, tool calls, permissions, elicitations, prompts and
//! terminals. It knows nothing of JSON-RPC, Neovim or disks.

pub mod address;
pub mod agent;
pub mod author;
pub mod compaction;
pub mod confinement;
pub mod content;
pub mod credentials;
pub mod denial;
pub mod editor_tool;
pub mod elicitation;
pub mod entry;
pub mod fork;
pub mod ids;
pub mod in_place;
pub mod keys;
pub mod label;
pub mod media;
pub mod paths;
pub mod permission;
pub mod prompt;
pub mod protocol;
pub mod saved;
pub mod search;
pub mod shown;
pub mod signs;
pub mod terminal;
pub mod tool_call;
pub mod transcript;
pub mod turn;
pub mod update;
pub mod utc;
