//! Plays a recording: says what the agent said, in the order and after the messages of ours it was said after.

use super::recording::{Recording, Step, key};
use super::rewrite::Rewrite;
use crate::jsonrpc::incoming::{self, Line, Lines, Message};
use crate::jsonrpc::outgoing;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufWriter, Read, Write};
use std::sync::mpsc::{Receiver, channel};

/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 << 10;

/// The code of an answer to what was not recorded (JSON-RPC: internal error).
const NOT_RECORDED: i64 = -32603;

/// A message of the client's.
#[derive(Debug)]
enum Heard {
    /// A request or notification.
    Asked { method: String, id: Option<Box<RawValue>>, params: Value },
    /// An answer, with its result.
    Answered { id: String, result: Value },
}

/// The agent that is played.
pub(super) struct Player<'a, W: Write> {
    steps: &'a [Step<'a>],
    /// What has been heard and not been waited for yet.
    heard: Vec<Heard>,
    input: Receiver<Heard>,
    output: BufWriter<W>,
    /// The ids of requests to the agent, as recorded and as now.
    ids: HashMap<String, Box<RawValue>>,
    rewrite: Rewrite,
}

impl<'a, W: Write> Player<'a, W> {
    pub(super) fn new(
        recording: &'a Recording<'a>,
        input: impl Read + Send + 'static,
        output: W,
    ) -> Self {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            // Whoever hears has ended if it fails.
            let _ = read(input, |heard| sender.send(heard).is_ok());
        });
        Self {
            steps: &recording.steps,
            heard: Vec::new(),
            input: receiver,
            output: BufWriter::new(output),
            ids: HashMap::new(),
            rewrite: Rewrite::default(),
        }
    }

    /// Plays to the end of the recording, and then on until the client is gone.
    pub(super) fn run(mut self) -> io::Result<()> {
        for (index, step) in self.steps.iter().enumerate() {
            match step {
                Step::Say(json) => self.say(json)?,
                Step::Stray(text) => writeln!(self.output, "{text}")?,
                Step::Answer { id, json } => self.answer(id, json)?,
                Step::Hear { .. } | Step::HearAnswer { .. } => {
                    if !self.wait_for(index)? {
                        return Ok(());
                    }
                }
            }
        }
        self.steps = &[];
        for heard in std::mem::take(&mut self.heard) {
            self.refuse(&heard)?;
        }
        self.output.flush()?;
        while let Ok(heard) = self.input.recv() {
            self.refuse(&heard)?;
            self.output.flush()?;
        }
        Ok(())
    }

    fn say(&mut self, json: &str) -> io::Result<()> {
        let rewritten = self.rewrite.message(json);
        writeln!(self.output, "{}", rewritten.as_deref().unwrap_or(json))
    }

    /// Answers a request under the id it has now.
    fn answer(&mut self, id: &str, json: &str) -> io::Result<()> {
        let Some(id) = self.ids.remove(id) else { return Ok(()) };
        let rewritten = self.rewrite.message(json);
        let json = rewritten.as_deref().unwrap_or(json);
        let answer = match incoming::parse(json) {
            Ok(Message::Response { outcome: Ok(result), .. }) => outgoing::result(&id, &result)?,
            Ok(Message::Response { outcome: Err(error), .. }) => outgoing::error(&id, &error)?,
            _ => return Ok(()),
        };
        writeln!(self.output, "{answer}")
    }

    /// Waits for the message of a step. Returns `false` if the client is gone.
    fn wait_for(&mut self, index: usize) -> io::Result<bool> {
        let steps = self.steps;
        loop {
            if let Some(at) = self.heard.iter().position(|heard| is_meant(&steps[index], heard)) {
                let heard = self.heard.remove(at);
                self.learn(&steps[index], heard);
                return Ok(true);
            }
            self.output.flush()?;
            let Ok(heard) = self.input.recv() else { return Ok(false) };
            if steps[index..].iter().any(|step| is_meant(step, &heard)) {
                self.heard.push(heard);
            } else {
                self.refuse(&heard)?;
            }
        }
    }

    fn learn(&mut self, step: &Step<'_>, heard: Heard) {
        let parsed = |json: &str| serde_json::from_str(json).unwrap_or_default();
        match (step, heard) {
            (Step::Hear { id, params, .. }, Heard::Asked { id: now, params: now_params, .. }) => {
                self.rewrite.learn_folder(&parsed(params), &now_params);
                if let (Some(id), Some(now)) = (id, now) {
                    self.ids.insert(id.clone(), now);
                }
            }
            (Step::HearAnswer { result, .. }, Heard::Answered { result: now, .. }) => {
                self.rewrite.learn_terminal(&parsed(result), &now);
            }
            _ => {}
        }
    }

    /// Answers a request that the recording has no answer to.
    fn refuse(&mut self, heard: &Heard) -> io::Result<()> {
        let Heard::Asked { method, id: Some(id), .. } = heard else { return Ok(()) };
        let message = format!("The recorded session has no more answer to {method}");
        let error = json!({"code": NOT_RECORDED, "message": message});
        writeln!(self.output, "{}", outgoing::error(id, &error)?)
    }
}

/// Whether this is the message that the step waits for.
fn is_meant(step: &Step<'_>, heard: &Heard) -> bool {
    match (step, heard) {
        (Step::Hear { method, id, .. }, Heard::Asked { method: now, id: now_id, .. }) => {
            method == now && id.is_some() == now_id.is_some()
        }
        (Step::HearAnswer { id, .. }, Heard::Answered { id: now, .. }) => id == now,
        _ => false,
    }
}

/// Reads messages until `input` ends or `each` wants no more.
fn read(mut input: impl Read, mut each: impl FnMut(Heard) -> bool) -> io::Result<()> {
    let (mut lines, mut buffer, mut goes_on) = (Lines::default(), vec![0; READ_BYTES], true);
    while goes_on {
        let read = input.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        lines.feed(&buffer[..read], |line| {
            let Line::Whole(bytes) = line else { return };
            let heard = str::from_utf8(bytes).ok().and_then(heard);
            goes_on &= heard.is_none_or(&mut each);
        });
    }
    Ok(())
}

fn heard(line: &str) -> Option<Heard> {
    let parsed = |json: &RawValue| serde_json::from_str(json.get()).unwrap_or_default();
    Some(match incoming::parse(line).ok()? {
        Message::Request { id, method, params } => Heard::Asked {
            method: method.into_owned(),
            id: Some(id.to_owned()),
            params: params.map(parsed).unwrap_or_default(),
        },
        Message::Notification { method, params } => Heard::Asked {
            method: method.into_owned(),
            id: None,
            params: params.map(parsed).unwrap_or_default(),
        },
        Message::Response { id, outcome, .. } => {
            Heard::Answered { id: key(id.get()), result: outcome.map(parsed).unwrap_or_default() }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::play;
    use std::io::Cursor;

    const HEADER: &str = r#"{"rat_trace":1}"#;

    fn record(direction: &str, message: &str) -> String {
        format!("\n{{\"t\":0,\"direction\":\"{direction}\",\"message\":{message}}}")
    }

    fn played(records: &[(&str, &str)], input: &'static str) -> Vec<String> {
        let records = records.iter().map(|(direction, message)| record(direction, message));
        let file = HEADER.to_owned() + &records.collect::<String>();
        let mut output = Vec::new();
        play(file.as_bytes(), Cursor::new(input), &mut output).unwrap();
        String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn answers_have_the_ids_of_now_and_come_when_they_did() {
        let records = [
            ("to_agent", r#"{"id":1,"method":"initialize","params":{}}"#),
            ("from_agent", r#"{"id":1,"result":{"protocolVersion":1}}"#),
            ("to_agent", r#"{"id":2,"method":"session/prompt","params":{}}"#),
            ("from_agent", r#"{"method":"session/update"}"#),
            ("stray", r#""npm warn""#),
            ("from_agent", r#"{"id":"p","method":"session/request_permission"}"#),
            ("to_agent", r#"{"id":"p","result":{}}"#),
            ("from_agent", r#"{"id":2,"error":{"code":-1,"message":"no"}}"#),
        ];
        let input = concat!(
            r#"{"id":"a","method":"session/prompt"}"#,
            "\n",
            r#"{"id":7,"method":"initialize"}"#,
            "\n",
            r#"{"id":8,"method":"session/list"}"#,
            "\n",
            r#"{"id":"p","result":{}}"#,
            "\n",
            r#"{"id":9,"method":"session/prompt"}"#,
            "\n",
        );
        assert_eq!(
            played(&records, input)[..],
            [
                r#"{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":1}}"#,
                r#"{"method":"session/update"}"#,
                "npm warn",
                r#"{"id":"p","method":"session/request_permission"}"#,
                r#"{"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"The recorded session has no more answer to session/list"}}"#,
                r#"{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"no"}}"#,
                r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":"The recorded session has no more answer to session/prompt"}}"#,
            ]
        );
    }

    #[test]
    fn it_ends_when_the_client_is_gone() {
        let records = [
            ("to_agent", r#"{"id":1,"method":"initialize"}"#),
            ("from_agent", r#"{"id":1,"result":{}}"#),
        ];
        assert!(played(&records, "").is_empty());
    }
}
