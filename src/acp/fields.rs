//! Decodes JSON objects field by field, in any dialect. A field that is missing, `null` or of another type counts as absent.

use crate::jsonrpc::incoming::repair_surrogates;
use crate::session::update::Patch;
use serde_json::{Map, Value};

/// Parses JSON text, in which unpaired surrogates are replaced.
pub(super) fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&repair_surrogates(text)?).ok())
}

/// A JSON object. The getters remove their field, so that long strings are moved instead of copied.
#[derive(Debug, Default)]
pub struct Fields(Map<String, Value>);

impl Fields {
    /// Returns `None` if `value` is not an object.
    pub(super) fn of(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self(map)),
            _ => None,
        }
    }

    /// Returns all fields, in order.
    pub(super) fn entries(self) -> impl Iterator<Item = (String, Value)> {
        self.0.into_iter()
    }

    /// Looks at a field of any type except for `null`.
    pub(super) fn peek(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// Takes a field of any type, including `null`.
    pub(super) fn any_or_null(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// Takes a field of any type except for `null`.
    pub(super) fn any(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.0.remove(key)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn object(&mut self, key: &str) -> Option<Self> {
        self.0.remove(key).and_then(Self::of)
    }

    pub(super) fn list(&mut self, key: &str) -> Option<Vec<Value>> {
        match self.0.remove(key)? {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Takes a list of objects. Other items are skipped.
    pub(super) fn objects(&mut self, key: &str) -> Option<impl Iterator<Item = Self> + use<>> {
        Some(self.list(key)?.into_iter().filter_map(Self::of))
    }

    pub(super) fn whole(&mut self, key: &str) -> Option<u64> {
        self.0.remove(key).as_ref().and_then(whole)
    }

    pub(super) fn float(&mut self, key: &str) -> Option<f64> {
        self.0.remove(key)?.as_f64()
    }

    pub(super) fn flag(&mut self, key: &str) -> bool {
        matches!(self.0.remove(key), Some(Value::Bool(true)))
    }

    /// Takes a capability that is an object in the protocol: `{}` means supported; `null`, `false` and absent mean unsupported.
    pub(super) fn marker(&mut self, key: &str) -> bool {
        matches!(self.0.remove(key), Some(Value::Object(_) | Value::Bool(true)))
    }

    /// Takes a string for which absent and `null` differ. Other types count as absent.
    pub(super) fn patch(&mut self, key: &str) -> Patch<String> {
        match self.0.remove(key) {
            Some(Value::Null) => Patch::Clear,
            Some(Value::String(text)) => Patch::Set(text),
            _ => Patch::Unchanged,
        }
    }

    /// Takes pairs of names and values, given as a list of `{name, value}` or as an object.
    pub(super) fn pairs(&mut self, key: &str) -> Vec<(String, String)> {
        match self.0.remove(key) {
            Some(Value::Object(map)) => map
                .into_iter()
                .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
                .collect(),
            Some(Value::Array(items)) => items
                .into_iter()
                .filter_map(Self::of)
                .filter_map(|mut pair| Some((pair.text("name")?, pair.text("value")?)))
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// Returns a non-negative integer, which may be written as `3.0`.
pub(super) fn whole(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let number = value.as_f64()?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a small whole number"
    )]
    let whole = (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64);
    whole
}

/// Decodes items until there are `most`, and counts the others.
pub fn first<T>(items: impl IntoIterator<Item = T>, most: usize) -> (Vec<T>, usize) {
    let mut items = items.into_iter();
    let kept = items.by_ref().take(most).collect();
    (kept, items.count())
}

/// Cuts a text that has more bytes, and says so at its end.
pub fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}… ({} more bytes)", &text[..end], text.len() - end)
}

/// Returns the strings of a list. Other items are skipped.
pub(super) fn texts(items: Vec<Value>) -> Vec<String> {
    items
        .into_iter()
        .filter_map(|item| match item {
            Value::String(text) => Some(text),
            _ => None,
        })
        .collect()
}
