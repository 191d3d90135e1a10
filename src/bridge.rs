//! The loop: inbox, state, effects.
