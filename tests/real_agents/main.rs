//! Real agents with a scripted model, driven in real Neovim by what a user types. Run by `make test-agents`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panic")]

mod agents;
mod answers;
mod commands;
mod documents;
mod edits;
mod end;
mod forms;
mod images;
mod review;
mod review_before;
mod sessions;
#[path = "../support/mod.rs"]
mod support;
mod turns;

/// Makes a test of each of the functions for each of the agents.
macro_rules! with_each_agent {
    ($($test:ident),* $(,)?) => {
        with_each_agent!(@ opencode OpenCode $($test)*);
        with_each_agent!(@ claude Claude $($test)*);
        with_each_agent!(@ gemini Gemini $($test)*);
    };
    (@ $name:ident $kind:ident $($test:ident)*) => {
        mod $name {
            $(#[test]
            fn $test() {
                super::$test($crate::agents::Kind::$kind);
            })*
        }
    };
}
use with_each_agent;
