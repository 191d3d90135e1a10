//! Reads a saved session and says what is wrong with a file that is none.

use crate::jsonrpc::incoming::{self, Message};
use crate::jsonrpc::recording::{Direction, Header, Record, VERSION};
use serde_json::Value;

/// A saved session.
#[derive(Debug)]
pub(super) struct Recording<'a> {
    pub(super) steps: Vec<Step<'a>>,
}

/// A line to be played, or to be waited for.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// The agent's request or notification, or a line that is neither.
    Say(&'a str),
    /// The agent's answer to the request that had this id.
    Answer { id: String, json: &'a str },
    /// A request or notification to the agent: its method, its id and its params.
    Hear { method: String, id: Option<String>, params: &'a str },
    /// An answer to the agent's request with this id, and its result.
    HearAnswer { id: String, result: &'a str },
    /// A line of the agent's that was no message.
    Stray(String),
}

impl<'a> Recording<'a> {
    /// Reads the text of a file. The error names the line.
    pub(super) fn parse(file: &'a [u8]) -> Result<Self, String> {
        let mut lines = file.split(|byte| *byte == b'\n').enumerate();
        let first = lines.next().map(|(_, line)| line).unwrap_or_default();
        let header: Header = serde_json::from_slice(first).map_err(|_| {
            "line 1: not a session saved by rat.nvim. :RatTrace save FILE saves one.".to_owned()
        })?;
        if header.rat_trace != VERSION {
            let version = header.rat_trace;
            return Err(format!(
                "line 1: has version {version} of the format, but this rat-nvim reads version {VERSION}"
            ));
        }
        let mut steps = Vec::new();
        for (index, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
            let number = index + 1;
            let record: Record<'a> = serde_json::from_slice(line)
                .map_err(|error| format!("line {number}: not a record of a session: {error}"))?;
            steps.extend(step(&record).map_err(|why| format!("line {number}: {why}"))?);
        }
        Ok(Self { steps })
    }
}

fn step<'a>(record: &Record<'a>) -> Result<Option<Step<'a>>, String> {
    let json = record.message.get();
    match record.direction {
        Direction::Stderr | Direction::Missing => return Ok(None),
        Direction::Stray => {
            let text = serde_json::from_str(json);
            return text.map(Step::Stray).map(Some).map_err(|_| "not a text".to_owned());
        }
        Direction::ToAgent | Direction::FromAgent => {}
    }
    let by_agent = record.direction == Direction::FromAgent;
    // What could not be saved as JSON is there as a text.
    if let Ok(text) = serde_json::from_str::<String>(json) {
        return Ok(by_agent.then_some(Step::Stray(text)));
    }
    let message = incoming::parse(json).map_err(|why| format!("not a message: {why}"))?;
    Ok(Some(match message {
        Message::Request { .. } | Message::Notification { .. } if by_agent => Step::Say(json),
        Message::Response { id, .. } if by_agent => Step::Answer { id: key(id.get()), json },
        Message::Request { id, method, params } => Step::Hear {
            method: method.into_owned(),
            id: Some(key(id.get())),
            params: params.map_or("null", |params| params.get()),
        },
        Message::Notification { method, params } => Step::Hear {
            method: method.into_owned(),
            id: None,
            params: params.map_or("null", |params| params.get()),
        },
        Message::Response { id, outcome, .. } => Step::HearAnswer {
            id: key(id.get()),
            result: outcome.map_or("null", |result| result.get()),
        },
    }))
}

/// Returns an id as it is compared.
pub(super) fn key(id: &str) -> String {
    serde_json::from_str::<Value>(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_line() {
        let header = r#"{"rat_trace":1,"agent":"a"}"#;
        let wrong = |text: &str| Recording::parse(text.as_bytes()).unwrap_err();
        assert!(wrong("").starts_with("line 1: not a session"));
        assert!(wrong("{\"jsonrpc\":\"2.0\"}\n").starts_with("line 1: not a session"));
        assert!(wrong("{\"rat_trace\":9}\n").starts_with("line 1: has version 9"));
        let after = |line: &str| wrong(&format!("{header}\n\n{line}\n"));
        assert!(after("{").starts_with("line 3: not a record of a session"));
        let record = r#"{"t":0,"direction":"from_agent","message":{"a":1}}"#;
        assert!(after(record).starts_with("line 3: not a message"));
        let good = r#"{"t":0,"direction":"stderr","message":"x"}"#;
        let text = format!("{header}\n{good}");
        assert!(Recording::parse(text.as_bytes()).unwrap().steps.is_empty());
    }
}
