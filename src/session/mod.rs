//! What a session is made of, in our own words: no JSON, no Neovim, no disk.

pub mod agent;
pub mod author;
pub mod ids;
pub mod label;

pub mod address;
pub mod compaction;
pub mod content;
pub mod media;
pub mod terminal;
pub mod tool_call;
pub mod turn;
pub mod update;

pub mod elicitation;
pub mod permission;
pub mod prompt;
pub mod remembered;
pub mod transcript;
