//! The pure core: events in, effects out.
