//! What stands on the wire in our words and back: lenient in what it takes, strict in what it sends. Nothing
//! an agent says makes a whole message fail where one row of it can be left out instead.

pub mod chunk;
mod content;
pub mod elicitation;
mod fields;
pub mod meta;
mod options;
pub mod outgoing;
pub mod reply;
pub mod request;
mod tool;
pub mod update;
