//! Real agents with a scripted model, and agents on SDKs that play a script, driven in real Neovim by what a user types. Run by `make test-agents`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panic")]

mod agents;
mod answers;
mod commands;
mod confine;
mod documents;
mod editor_tools;
mod edits;
mod end;
mod exec;
mod forms;
mod images;
mod in_place;
mod model;
mod place;
mod replay;
mod review;
mod review_before;
mod rules;
mod sdks;
mod sessions;
#[path = "../support/mod.rs"]
mod support;
mod turns;
mod undo;
mod worktrees;

/// Makes a test of each of the functions for each of the agents; of those after `later` for the agents that speak what
/// came after ACP 0.1.1.
macro_rules! with_each_agent {
    ($($test:ident),* $(,)?) => {
        with_each_agent!($($test),*; later);
    };
    ($($test:ident),*; later $($later:ident),* $(,)?) => {
        with_agent!(opencode OpenCode $($test)* $($later)*);
        with_agent!(claude Claude $($test)* $($later)*);
        with_agent!(gemini Gemini $($test)* $($later)*);
        with_agent!(crate_0_1_1 Crate011 $($test)*);
        with_agent!(python Python $($test)* $($later)*);
        with_agent!(typescript TypeScript $($test)* $($later)*);
        with_agent!(typescript_v2 TypeScriptV2 $($test)* $($later)*);
    };
}

/// The same for the agents that nobody in this project wrote.
macro_rules! with_each_real_agent {
    ($($test:ident),* $(,)?) => {
        with_agent!(opencode OpenCode $($test)*);
        with_agent!(claude Claude $($test)*);
        with_agent!(gemini Gemini $($test)*);
    };
}

/// The same for the agents on SDKs only.
macro_rules! with_each_sdk {
    ($($test:ident),* $(,)?) => {
        with_agent!(crate_0_1_1 Crate011 $($test)*);
        with_agent!(python Python $($test)*);
        with_agent!(typescript TypeScript $($test)*);
        with_agent!(typescript_v2 TypeScriptV2 $($test)*);
    };
}

macro_rules! with_agent {
    ($name:ident $kind:ident $($test:ident)*) => {
        mod $name {
            $(#[test]
            fn $test() {
                super::$test($crate::agents::Kind::$kind);
            })*
        }
    };
}
use {with_agent, with_each_agent, with_each_real_agent, with_each_sdk};
