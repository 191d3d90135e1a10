//! The loop: inbox, state, effects.

pub mod editor;
