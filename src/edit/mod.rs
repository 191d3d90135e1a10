//! Texts, hunks and merges.
