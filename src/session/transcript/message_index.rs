//! Which entries of a transcript have the text of which message, and what may be a repetition of one.

use crate::session::ids::MessageId;
use crate::session::update::Role;
use std::collections::HashMap;

/// What is known of the messages of a session.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The entries with the text of each message, oldest first. There are several if something else came in between.
    pub(super) by_id: HashMap<(Role, MessageId), Vec<usize>>,
    pub(super) repeat: Option<Repeat>,
}

/// Pieces that so far repeat a message from its beginning. They are not shown until it is clear that they do not.
#[derive(Debug)]
pub(super) struct Repeat {
    /// The message that is repeated: the last entry.
    pub(super) message: usize,
    /// The id that they have.
    pub(super) id: Option<MessageId>,
    /// How many bytes of the message were repeated.
    pub(super) matched: usize,
}
