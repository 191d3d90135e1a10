//! Agents that mean harm, in real Neovim: nothing they say commands the terminal, and no name they choose opens, starts
//! or changes anything but what the user sees.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

#[path = "../support/mod.rs"]
mod support;

mod asked;
mod lookalike;
mod names;
mod offered;
mod poison;
mod restored;
mod shown;
mod terminal;
