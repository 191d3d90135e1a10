//! What an agent asks the user to fill in or to open (ACP elicitation): the form, what is entered, what is sent. Whom it
//! is shown to and how is not known here.

mod field;
mod format;
mod pattern;

#[cfg(test)]
mod tests;

pub use field::{Field, Kind};
pub use format::Format;
pub use pattern::Pattern;

use super::address::Page;
use super::ids::{ElicitationId, ToolCallId};

/// A request, as it comes in.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// Why the agent asks.
    pub message: String,
    /// The tool call it is about.
    pub tool_call: Option<ToolCallId>,
    /// What the user is to do.
    pub wants: Wants,
}

/// What the user is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Wants {
    /// Fill in a form (ACP mode `form`).
    Form(Form),
    /// Open an address, and do there what the agent does not see (ACP mode `url`).
    Address(ElicitationId, Page),
}

impl Wants {
    /// The mode as it stands on the wire.
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Form(_) => "form",
            Self::Address(..) => "url",
        }
    }

    /// What is sent for what was entered; an address asks for nothing.
    pub fn read(&self, entered: &[(String, Given)]) -> Result<Vec<(String, Value)>, Vec<Problem>> {
        match self {
            Self::Form(form) => form.read(entered),
            Self::Address(..) => Ok(Vec::new()),
        }
    }
}

/// A form.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Form {
    /// What it is called.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// In the agent's order.
    pub fields: Vec<Field>,
}

/// What the user has entered in one field, as it was entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// A text, a number as text, or a choice's value.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// The values of several choices.
    Several(Vec<String>),
}

/// What is sent for one field (ACP `ElicitationContentValue`).
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text or a choice.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Boolean(bool),
    /// Several choices.
    Texts(Vec<String>),
}

/// What is wrong with what was entered: the key of a field, and one line.
pub type Problem = (String, String);

impl Form {
    /// What is sent for what was entered; fields without anything are left out. Every problem, if there is any.
    pub fn read(&self, entered: &[(String, Given)]) -> Result<Vec<(String, Value)>, Vec<Problem>> {
        let (mut values, mut problems) = (Vec::new(), Vec::new());
        for field in &self.fields {
            let given = entered.iter().find(|(key, _)| *key == field.key).map(|(_, given)| given);
            match field.read(given) {
                Ok(value) => values.extend(value.map(|value| (field.key.clone(), value))),
                Err(problem) => problems.push((field.key.clone(), problem)),
            }
        }
        if problems.is_empty() { Ok(values) } else { Err(problems) }
    }
}

/// What the user answers (ACP `ElicitationAction`).
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Yes; of a form what was filled in, by the keys of its fields.
    Accept(Option<Vec<(String, Value)>>),
    /// No.
    Decline,
    /// Neither: closed, or not wanted any more.
    Cancel,
}
