//! What the user is told.

use std::fmt;

/// What the user is told, in one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notice {
    /// What has happened, whoever is told.
    pub text: String,
    /// What there is to do about it in Neovim. Whoever has no Neovim is not told.
    pub advice: Option<String>,
}

impl Notice {
    /// Adds what there is to do in Neovim.
    #[must_use]
    pub fn advise(mut self, advice: &str) -> Self {
        let before = self.advice.map(|before| format!("{before} ")).unwrap_or_default();
        self.advice = Some(before + advice);
        self
    }
}

impl<T: Into<String>> From<T> for Notice {
    fn from(text: T) -> Self {
        Self { text: without_error_numbers(text.into()), advice: None }
    }
}

/// Removes what [`std::io::Error`] appends to the words of the operating system: ` (os error 2)`.
pub fn without_error_numbers(text: String) -> String {
    const BEFORE: &str = " (os error ";
    let mut parts = text.split(BEFORE);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        match rest.strip_prefix(')') {
            Some(rest) if rest.len() + 1 < part.len() => plain.push_str(rest),
            _ => plain.extend([BEFORE, part]),
        }
    }
    plain
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.advice.iter().try_for_each(|advice| write!(f, " {advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_errors_are_left_out() {
        let error = std::io::Error::from_raw_os_error(2).to_string();
        for (text, wanted) in [
            (format!("a: {error}."), "a: No such file or directory."),
            (format!("{error}, {error}"), "No such file or directory, No such file or directory"),
            ("x (os error )".into(), "x (os error )"),
            ("x (os error 2".into(), "x (os error 2"),
            ("é (os error x2)é".into(), "é (os error x2)é"),
            (String::new(), ""),
        ] {
            assert_eq!(Notice::from(text).text, wanted);
        }
    }
}
