//! What is different now from when a session was recorded: the project's folder and the ids that the client has given.

use serde_json::Value;
use std::collections::HashMap;

/// What stands in place of what.
#[derive(Debug, Default)]
pub(super) struct Rewrite {
    /// Ids of terminals.
    terminals: HashMap<String, String>,
    /// Folders, as recorded and as now.
    folders: Vec<(String, String)>,
}

impl Rewrite {
    /// Learns the folder of the params of a request to the agent.
    pub(super) fn learn_folder(&mut self, recorded: &Value, now: &Value) {
        if let (Some(recorded), Some(now)) = (recorded["cwd"].as_str(), now["cwd"].as_str())
            && recorded != now
            && recorded != "/"
        {
            self.folders.push((recorded.to_owned(), now.to_owned()));
        }
    }

    /// Learns the terminal of the result of a request to the client.
    pub(super) fn learn_terminal(&mut self, recorded: &Value, now: &Value) {
        let ids = (recorded["terminalId"].as_str(), now["terminalId"].as_str());
        if let (Some(recorded), Some(now)) = ids
            && recorded != now
        {
            self.terminals.insert(recorded.to_owned(), now.to_owned());
        }
    }

    /// Returns a message as it has to be now; `None` if it is the same.
    pub(super) fn message(&self, json: &str) -> Option<String> {
        if self.terminals.is_empty() && self.folders.is_empty() {
            return None;
        }
        let mut value = serde_json::from_str(json).ok()?;
        self.value(&mut value);
        Some(value.to_string())
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let new = self.folders.iter().find_map(|(recorded, now)| {
                    let below = text.strip_prefix(recorded)?;
                    (below.is_empty() || below.starts_with('/')).then(|| format!("{now}{below}"))
                });
                if let Some(new) = new {
                    *text = new;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => {
                for (key, value) in map {
                    let terminal = (key == "terminalId").then(|| value.as_str()).flatten();
                    match terminal.and_then(|id| self.terminals.get(id)) {
                        Some(now) => *value = now.as_str().into(),
                        None => self.value(value),
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn folders_and_terminals_are_those_of_now() {
        let mut rewrite = Rewrite::default();
        assert_eq!(rewrite.message("{}"), None);
        rewrite.learn_folder(&json!({"cwd": "/a/b"}), &json!({"cwd": "/c"}));
        rewrite.learn_terminal(&json!({"terminalId": "t1"}), &json!({"terminalId": "t9"}));
        let message =
            json!({"path": "/a/b/x", "cwd": "/a/b", "other": "/a/bc", "terminalId": "t1"});
        let now = json!({"path": "/c/x", "cwd": "/c", "other": "/a/bc", "terminalId": "t9"});
        let rewritten = rewrite.message(&message.to_string()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&rewritten).unwrap(), now);
    }
}
