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
        Self { text: text.into(), advice: None }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.advice.iter().try_for_each(|advice| write!(f, " {advice}"))
    }
}
