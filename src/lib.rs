//! The map of the house. `mod` lines stand in reading order; a file may import its own folder and the floors
//! below it, never upwards (`tests/architecture.rs` holds that).
//!
//! ```text
//!                 bridge                 the loop: inbox -> State -> effects
//!        ┌────────┬─┴──────┬────────┐
//!      nvim      acp     files     host  edges: translate and carry out, never decide policy
//!        └────────┴─┬──────┴────────┘
//!                 core       process     Event in, Effects out; what acp and host share of processes
//!              ┌────┴────┐
//!             view       │
//!              │  └───┐  │
//!          session    edit               know nothing of Neovim, JSON or disks
//! ```

pub mod bridge;

pub mod acp;
pub mod files;
pub mod host;
pub mod nvim;

pub mod process;

pub mod core;

pub mod view;

pub mod edit;
pub mod session;

pub mod log;
pub mod secrets;
pub mod tour;
