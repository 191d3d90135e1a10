//! The keys that our words name, as the user has them in the buffers of a chat (the option `keys`).

use super::signs::DOT;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What the user has in place of a key; empty for nothing. Keys that are not in it are our own.
pub type Keys = BTreeMap<String, String>;

/// Those of the editor, which maps them when it makes the first buffer: later ones would be wrong.
static KEYS: OnceLock<Keys> = OnceLock::new();

/// Sets what the user has in place of keys, unless that was done before.
pub fn use_keys(keys: Keys) {
    // Fails if they are set.
    let _ = KEYS.set(keys);
}

/// Returns what the user presses in place of a key; `None` for nothing.
pub fn now(key: &str) -> Option<&str> {
    in_place_of(KEYS.get(), key)
}

fn in_place_of<'a>(keys: Option<&'a Keys>, key: &'a str) -> Option<&'a str> {
    let now = keys.and_then(|keys| keys.get(key)).map_or(key, String::as_str);
    Some(now).filter(|now| !now.is_empty())
}

/// Names a key with what it does, or without one the command for it.
pub fn hint(key: &str, what: &str, command: &str) -> String {
    now(key).map_or_else(|| command.to_owned(), |key| format!("{key} {what}"))
}

/// Adds to a text what a key does there, if there is one.
pub fn after(text: &str, key: &str, what: &str) -> String {
    match now(key) {
        Some(key) if what.is_empty() => format!("{text} {DOT} {key}"),
        Some(key) => format!("{text} {DOT} {key} {what}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_as_the_user_has_it() {
        let keys = Keys::from([("ga".into(), "<leader>y".into()), ("gr".into(), String::new())]);
        assert_eq!(in_place_of(Some(&keys), "ga"), Some("<leader>y"));
        assert_eq!(in_place_of(Some(&keys), "gr"), None);
        assert_eq!(in_place_of(Some(&keys), "gd"), Some("gd"));
        assert_eq!(in_place_of(None, "ga"), Some("ga"));
    }
}
