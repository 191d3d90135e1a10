//! The messages that a waiting turn receives.

use serde_json::{Value, json};

/// A message to a running turn.
#[derive(Debug)]
pub(super) enum Signal {
    /// The client cancelled the turn or closed the connection.
    Cancel,
    /// The response to a request, with its id.
    Response(u64, Result<Value, Failure>),
    /// A line of output of the program that the turn runs.
    Line(String),
    /// The program closed its output.
    End,
}

/// A JSON-RPC error object. Source: JSON-RPC 2.0; the codes are in ACP v1, errors.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Failure {
    pub(super) fn new(code: i64, message: &str) -> Self {
        Self { code, message: message.to_owned(), data: None }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Returns the message with its code.
    pub(super) fn text(&self) -> String {
        format!("{} ({})", self.message, self.code)
    }

    pub(super) fn from_json(error: &Value) -> Self {
        let message = error["message"].as_str().unwrap_or("an error without a message");
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: message.to_owned(),
            data: None,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}
