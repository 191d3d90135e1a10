//! The value of a field: as the user entered it, and as it is sent.

/// What the user entered in a field, before validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// A string, a number as a string, or the value of a choice.
    Text(String),
    /// A boolean.
    Flag(bool),
    /// The values of several choices.
    Several(Vec<String>),
}

/// The validated value of a field (ACP `ElicitationContentValue`).
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string, or the value of a choice.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
    /// The values of several choices.
    Texts(Vec<String>),
}
