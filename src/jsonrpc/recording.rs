//! The format of recorded traffic with an agent: JSON Lines, a header and a record for each message. It does no I/O.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of the format.
pub const VERSION: u32 = 1;

/// The first line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format, by whose name the file is recognized.
    pub rat_trace: u32,
    /// The version of rat.nvim that has written it.
    #[serde(default)]
    pub rat_version: String,
    /// The agent's name in the configuration.
    #[serde(default)]
    pub agent: String,
}

/// The origin of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Sent by us.
    ToAgent,
    /// Sent by the agent.
    FromAgent,
    /// A line on the agent's stdout that is not a JSON-RPC message.
    Stray,
    /// A line on the agent's stderr.
    Stderr,
    /// Not a message: so many were left out here.
    Missing,
}

/// One line of a file after the header.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record<'a> {
    /// Seconds since the start of the agent.
    pub t: f64,
    /// Where it came from.
    pub direction: Direction,
    /// The message; for other directions a string, or the number of missing messages.
    #[serde(borrow)]
    pub message: &'a RawValue,
}

/// Formats a record as a line with its end. `message` is JSON.
pub fn line(seconds: f64, direction: Direction, message: &str) -> String {
    let direction = match direction {
        Direction::ToAgent => "to_agent",
        Direction::FromAgent => "from_agent",
        Direction::Stray => "stray",
        Direction::Stderr => "stderr",
        Direction::Missing => "missing",
    };
    format!("{{\"t\":{seconds:.6},\"direction\":\"{direction}\",\"message\":{message}}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let all = [
            Direction::ToAgent,
            Direction::FromAgent,
            Direction::Stray,
            Direction::Stderr,
            Direction::Missing,
        ];
        for direction in all {
            let line = line(1.5, direction, r#"{"a" : 1.0}"#);
            let record: Record<'_> = serde_json::from_str(&line).unwrap();
            assert_eq!((record.t, record.direction), (1.5, direction));
            assert_eq!(record.message.get(), r#"{"a" : 1.0}"#);
        }
    }
}
