//! What a session is made of.
