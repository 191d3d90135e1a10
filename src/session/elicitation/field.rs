//! One field of a form: what may stand in it, in words and as a check (ACP elicitation, JSON Schema's constraints).

use super::format::Format;
use super::pattern::Pattern;
use super::{Given, Value};
use crate::session::update::Choice;
use std::fmt::Display;

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name on the wire.
    pub key: String,
    /// What the user reads.
    pub title: String,
    /// More about it.
    pub description: Option<String>,
    /// Whether something has to be entered.
    pub required: bool,
    /// What may be entered.
    pub kind: Kind,
    /// What stands there at first.
    pub default: Option<Given>,
}

/// What may be entered. Limits are inclusive.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A text.
    Text {
        /// Least and most characters.
        length: (Option<u64>, Option<u64>),
        /// What it has to match.
        pattern: Option<Pattern>,
        /// What it has to be.
        format: Option<Format>,
    },
    /// One of several.
    Choice(Vec<Choice>),
    /// A whole number.
    Integer(Option<i64>, Option<i64>),
    /// A number.
    Number(Option<f64>, Option<f64>),
    /// Yes or no.
    Boolean,
    /// Several of several.
    Several {
        /// All of them.
        choices: Vec<Choice>,
        /// How few and how many of them.
        count: (Option<u64>, Option<u64>),
    },
    /// What we do not know; its type.
    Unknown(String),
}

impl Kind {
    /// The choices there are.
    pub fn choices(&self) -> &[Choice] {
        match self {
            Self::Choice(choices) | Self::Several { choices, .. } => choices,
            _ => &[],
        }
    }

    fn offers(&self, value: &str) -> bool {
        self.choices().iter().any(|choice| choice.value == value)
    }

    /// What may be entered, in words.
    pub fn allows(&self) -> String {
        match self {
            Self::Text { length, pattern, format } => {
                let length = within(length.0, length.1).map(|range| format!("{range} characters"));
                let format = format.map(|format| format.words().to_owned());
                let pattern = pattern.as_ref().map(|pattern| format!("like {}", pattern.source()));
                let parts: Vec<String> = format.into_iter().chain(length).chain(pattern).collect();
                if parts.is_empty() { "text".to_owned() } else { parts.join(", ") }
            }
            Self::Choice(choices) => format!("one of {}", choices.len()),
            Self::Integer(least, most) => joined("a whole number", within(*least, *most)),
            Self::Number(least, most) => joined("a number", within(*least, *most)),
            Self::Boolean => "yes or no".to_owned(),
            Self::Several { choices, count } => {
                let count = within(count.0, count.1).unwrap_or_else(|| "any".to_owned());
                format!("{count} of {}", choices.len())
            }
            Self::Unknown(kind) if kind.is_empty() => "of an unknown kind".to_owned(),
            Self::Unknown(kind) => format!("of the unknown kind \"{kind}\""),
        }
    }

    /// What is sent for this; why it is not.
    fn read(&self, given: &Given) -> Result<Value, String> {
        match (self, given) {
            (Self::Text { length, pattern, format }, Given::Text(text)) => {
                let count = text.chars().count() as u64;
                check(count, *length, " characters")?;
                if let Some(format) = format.filter(|format| !format.fits(text)) {
                    return Err(format!("is not {}", format.words()));
                }
                match pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
                    Some(pattern) => Err(format!("is not like {}", pattern.source())),
                    None => Ok(Value::Text(text.clone())),
                }
            }
            (Self::Choice(_), Given::Text(value)) if self.offers(value) => {
                Ok(Value::Text(value.clone()))
            }
            (Self::Integer(least, most), Given::Text(text)) => {
                let number = text.trim().parse::<i64>();
                let number = number.map_err(|_| "has to be a whole number".to_owned())?;
                check(number, (*least, *most), "")?;
                Ok(Value::Integer(number))
            }
            (Self::Number(least, most), Given::Text(text)) => {
                let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
                let number = number.ok_or("has to be a number")?;
                check(number, (*least, *most), "")?;
                Ok(Value::Number(number))
            }
            (Self::Boolean, Given::Flag(flag)) => Ok(Value::Boolean(*flag)),
            (Self::Several { choices, count }, Given::Several(values)) => {
                if !values.iter().all(|value| self.offers(value)) {
                    return Err(NO_CHOICE.to_owned());
                }
                // In the order they are offered, each once.
                let chosen = choices.iter().filter(|choice| values.contains(&choice.value));
                let chosen: Vec<String> = chosen.map(|choice| choice.value.clone()).collect();
                check(chosen.len() as u64, *count, " chosen")?;
                Ok(Value::Texts(chosen))
            }
            _ => Err(NO_CHOICE.to_owned()),
        }
    }
}

const NO_CHOICE: &str = "is not one of the choices";

impl Field {
    /// What is sent for what was entered; nothing where nothing was. Why it cannot be sent.
    pub(super) fn read(&self, given: Option<&Given>) -> Result<Option<Value>, String> {
        let given = given.filter(|given| match given {
            Given::Text(text) => !text.is_empty(),
            // To choose none is an answer where there has to be one.
            Given::Several(values) => self.required || !values.is_empty(),
            Given::Flag(_) => true,
        });
        match (given, &self.kind) {
            (_, Kind::Unknown(_)) if self.required => Err("cannot be filled in here".to_owned()),
            (_, Kind::Unknown(_)) => Ok(None),
            (None, Kind::Several { count: (None | Some(0), _), .. }) if self.required => {
                Ok(Some(Value::Texts(Vec::new())))
            }
            (None, _) if self.required => Err("is needed".to_owned()),
            (None, _) => Ok(None),
            (Some(given), kind) => kind.read(given).map(Some),
        }
    }
}

/// Whether it lies within the limits; in words where it does not.
fn check<T: PartialOrd + Display + Copy>(
    number: T,
    (least, most): (Option<T>, Option<T>),
    what: &str,
) -> Result<(), String> {
    match (least, most) {
        (Some(least), _) if number < least => Err(format!("at least {least}{what}, not {number}")),
        (_, Some(most)) if number > most => Err(format!("at most {most}{what}, not {number}")),
        _ => Ok(()),
    }
}

fn within<T: PartialEq + Display>(least: Option<T>, most: Option<T>) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) if least == most => Some(format!("{least}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

fn joined(what: &str, range: Option<String>) -> String {
    range.map_or_else(|| what.to_owned(), |range| format!("{what}, {range}"))
}
