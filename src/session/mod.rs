//! The data model of a session: transcript, tool calls, permissions, elicitations, prompts and
//! terminals. It knows nothing of JSON-RPC, Neovim or disks.

pub mod agent;
pub mod author;
pub mod credentials;
pub mod ids;
pub mod label;
pub mod paths;
pub mod protocol;

pub mod address;
pub mod compaction;
pub mod content;
pub mod media;
pub mod terminal;
pub mod tool_call;
pub mod turn;
pub mod update;

pub mod elicitation;
pub mod entry;
pub mod fork;
pub mod permission;
pub mod prompt;
pub mod saved;
pub mod transcript;
