//! Elicitations (ACP elicitation): an agent asks the user to fill in a [`Form`] or to open a web
//! page. Validates what the user entered; displaying it is up to others.

mod field;
mod format;
mod pattern;
mod value;

#[cfg(test)]
mod tests;

pub use field::{Field, Kind};
pub use format::Format;
pub use pattern::Pattern;
pub use value::{FieldValue, Value};

use super::address::Page;
use super::ids::{ElicitationId, ToolCallId};

/// An elicitation request.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// Why the agent asks.
    pub message: String,
    /// The tool call it belongs to, if any.
    pub tool_call: Option<ToolCallId>,
    /// What the user is asked to do.
    pub wants: ElicitationKind,
}

/// What the user is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationKind {
    /// Fill in a form (ACP mode `form`).
    Form(Form),
    /// Open a web page and do something there that the agent does not see (ACP mode `url`).
    Url(ElicitationId, Page),
}

impl ElicitationKind {
    /// Returns the `mode` of the request.
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Form(_) => "form",
            Self::Url(..) => "url",
        }
    }

    /// Validates what the user entered and returns the values to send. A URL has none.
    pub fn validate(
        &self,
        entered: &[(String, FieldValue)],
    ) -> Result<Vec<(String, Value)>, Vec<Problem>> {
        match self {
            Self::Form(form) => form.validate(entered),
            Self::Url(..) => Ok(Vec::new()),
        }
    }
}

/// A form to fill in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Form {
    /// Its title.
    pub title: Option<String>,
    /// A description for the user.
    pub description: Option<String>,
    /// The fields in the agent's order.
    pub fields: Vec<Field>,
}

/// What is wrong with the entered value of a field: the field's key, and a message of one line.
pub type Problem = (String, String);

impl Form {
    /// Validates what the user entered, by field keys, and returns the values to send. Empty fields
    /// are left out. Fails with all problems.
    pub fn validate(
        &self,
        entered: &[(String, FieldValue)],
    ) -> Result<Vec<(String, Value)>, Vec<Problem>> {
        let (mut values, mut problems) = (Vec::new(), Vec::new());
        for field in &self.fields {
            let value = entered.iter().find(|(key, _)| *key == field.key).map(|(_, value)| value);
            match field.validate(value) {
                Ok(value) => values.extend(value.map(|value| (field.key.clone(), value))),
                Err(problem) => problems.push((field.key.clone(), problem)),
            }
        }
        if problems.is_empty() { Ok(values) } else { Err(problems) }
    }
}

/// The user's response (ACP `ElicitationAction`).
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The user agreed. For a form, the values by the keys of its fields.
    Accept(Option<Vec<(String, Value)>>),
    /// The user declined.
    Decline,
    /// The user did not decide, or the request is obsolete.
    Cancel,
}
