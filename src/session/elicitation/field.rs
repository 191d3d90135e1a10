//! [`Field`], one field of a form: validates a value against the constraints of JSON Schema (ACP
//! elicitation), and describes these for the user.

use super::format::Format;
use super::pattern::Pattern;
use super::value::{FieldValue, Value};
use crate::session::update::Choice;
use std::fmt::Display;

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its property name in the schema.
    pub key: String,
    /// Its display name.
    pub title: String,
    /// A description for the user.
    pub description: Option<String>,
    /// Whether a value is required.
    pub required: bool,
    /// Its type and constraints.
    pub kind: Kind,
    /// The initial value.
    pub default: Option<FieldValue>,
}

/// The type of a field and its constraints. Limits are inclusive.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A string.
    Text {
        /// Minimum and maximum number of characters.
        length: (Option<u64>, Option<u64>),
        /// The pattern it has to match.
        pattern: Option<Pattern>,
        /// The format it has to have.
        format: Option<Format>,
    },
    /// One of these choices.
    Choice(Vec<Choice>),
    /// A whole number: minimum and maximum.
    Integer(Option<i64>, Option<i64>),
    /// A number: minimum and maximum.
    Number(Option<f64>, Option<f64>),
    /// A boolean.
    Boolean,
    /// Any number of choices.
    Several {
        /// What can be chosen.
        choices: Vec<Choice>,
        /// Minimum and maximum number of choices.
        count: (Option<u64>, Option<u64>),
    },
    /// A type we do not know, by its name.
    Unknown(String),
}

impl Kind {
    /// Returns what can be chosen; empty if the field has no choices.
    pub fn choices(&self) -> &[Choice] {
        match self {
            Self::Choice(choices) | Self::Several { choices, .. } => choices,
            _ => &[],
        }
    }

    fn offers(&self, value: &str) -> bool {
        self.choices().iter().any(|choice| choice.value == value)
    }

    /// Describes for the user what may be entered.
    pub fn allows(&self) -> String {
        match self {
            Self::Text { length, pattern, format } => {
                let length =
                    describe_limits(length.0, length.1).map(|range| format!("{range} characters"));
                let format = format.map(|format| format.description().to_owned());
                let pattern =
                    pattern.as_ref().map(|pattern| format!("matching {}", pattern.source()));
                let parts: Vec<String> = format.into_iter().chain(length).chain(pattern).collect();
                if parts.is_empty() { "text".to_owned() } else { parts.join(", ") }
            }
            Self::Choice(choices) => format!("one of {}", choices.len()),
            Self::Integer(least, most) => {
                with_limits("a whole number", describe_limits(*least, *most))
            }
            Self::Number(least, most) => with_limits("a number", describe_limits(*least, *most)),
            Self::Boolean => "yes or no".to_owned(),
            Self::Several { choices, count } => {
                let count = describe_limits(count.0, count.1).unwrap_or_else(|| "any".to_owned());
                format!("{count} of {}", choices.len())
            }
            Self::Unknown(kind) if kind.is_empty() => "of unknown type".to_owned(),
            Self::Unknown(kind) => format!("of unknown type \"{kind}\""),
        }
    }

    /// Returns the value to send, or a message that says what is wrong.
    fn validate(&self, given: &FieldValue) -> Result<Value, String> {
        match (self, given) {
            (Self::Text { length, pattern, format }, FieldValue::Text(text)) => {
                let count = text.chars().count() as u64;
                check_limits(count, *length, " characters")?;
                if let Some(format) = format.filter(|format| !format.matches(text)) {
                    return Err(format!("is not {}", format.description()));
                }
                match pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
                    Some(pattern) => Err(format!("does not match {}", pattern.source())),
                    None => Ok(Value::Text(text.clone())),
                }
            }
            (Self::Choice(_), FieldValue::Text(value)) if self.offers(value) => {
                Ok(Value::Text(value.clone()))
            }
            (Self::Integer(least, most), FieldValue::Text(text)) => {
                let number = text.trim().parse::<i64>();
                let number = number.map_err(|_| "must be a whole number".to_owned())?;
                check_limits(number, (*least, *most), "")?;
                Ok(Value::Integer(number))
            }
            (Self::Number(least, most), FieldValue::Text(text)) => {
                let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
                let number = number.ok_or("must be a number")?;
                check_limits(number, (*least, *most), "")?;
                Ok(Value::Number(number))
            }
            (Self::Boolean, FieldValue::Flag(flag)) => Ok(Value::Boolean(*flag)),
            (Self::Several { choices, count }, FieldValue::Several(values)) => {
                if !values.iter().all(|value| self.offers(value)) {
                    return Err(NO_CHOICE.to_owned());
                }
                // In the order of the choices, without duplicates.
                let chosen = choices.iter().filter(|choice| values.contains(&choice.value));
                let chosen: Vec<String> = chosen.map(|choice| choice.value.clone()).collect();
                check_limits(chosen.len() as u64, *count, " chosen")?;
                Ok(Value::Texts(chosen))
            }
            _ => Err(NO_CHOICE.to_owned()),
        }
    }
}

const NO_CHOICE: &str = "is not one of the choices";

impl Field {
    /// Returns the value to send, `None` if nothing was entered, or a message that says what is
    /// wrong.
    pub(super) fn validate(&self, given: Option<&FieldValue>) -> Result<Option<Value>, String> {
        let given = given.filter(|given| match given {
            FieldValue::Text(text) => !text.is_empty(),
            // Choosing nothing is a value only where a value is required.
            FieldValue::Several(values) => self.required || !values.is_empty(),
            FieldValue::Flag(_) => true,
        });
        match (given, &self.kind) {
            (_, Kind::Unknown(_)) if self.required => Err("cannot be filled in here".to_owned()),
            (_, Kind::Unknown(_)) => Ok(None),
            (None, Kind::Several { count: (None | Some(0), _), .. }) if self.required => {
                Ok(Some(Value::Texts(Vec::new())))
            }
            (None, _) if self.required => Err("is required".to_owned()),
            (None, _) => Ok(None),
            (Some(given), kind) => kind.validate(given).map(Some),
        }
    }
}

/// Checks limits. The error is a message with the number and the limit it violates.
fn check_limits<T: PartialOrd + Display + Copy>(
    number: T,
    (least, most): (Option<T>, Option<T>),
    unit: &str,
) -> Result<(), String> {
    match (least, most) {
        (Some(least), _) if number < least => Err(format!("at least {least}{unit}, not {number}")),
        (_, Some(most)) if number > most => Err(format!("at most {most}{unit}, not {number}")),
        _ => Ok(()),
    }
}

fn describe_limits<T: PartialEq + Display>(least: Option<T>, most: Option<T>) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) if least == most => Some(format!("{least}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

fn with_limits(kind: &str, limits: Option<String>) -> String {
    limits.map_or_else(|| kind.to_owned(), |limits| format!("{kind}, {limits}"))
}
