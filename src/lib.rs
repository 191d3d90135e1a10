//! The layers of the crate. The `mod` lines are in reading order. A file may import from its own folder and from lower
//! layers, never from higher ones; `tests/architecture.rs` enforces this.
//!
//! ```text
//!              exec  bridge               the event loops, for scripts and for Neovim: events -> State -> effects
//!            ┌───────┴──────┐
//!           app             │             runs effects, independent of the editor
//!        ┌───┴────┬──────┐  │
//!       acp  documents  host nvim         edges: translate and execute, never decide policy
//!        └────────┴─┬────┴───┘
//!                 core  process  jsonrpc  events in, effects out; processes; JSON-RPC lines
//!              ┌────┴────┐
//!         view  trust    │
//!           │  └──┴───┐  │
//!          session    edit               independent of Neovim, JSON and the file system
//! ```

pub mod bridge;
pub mod exec;

pub mod app;

pub mod acp;
pub mod documents;
pub mod host;
pub mod mcp;
pub mod nvim;

pub mod jsonrpc;
pub mod process;

pub mod core;

pub mod config;

pub mod view;

pub mod trust;

pub mod edit;
pub mod session;

pub mod log;
pub mod replay;
pub mod secrets;
pub mod tour;
