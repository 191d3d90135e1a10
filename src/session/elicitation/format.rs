//! The string formats of ACP's forms (JSON Schema `format`). Checks only the syntax, not whether
//! the URL exists.

use url::Url;

/// A string format (JSON Schema `format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An e-mail address.
    Email,
    /// An absolute URI.
    Uri,
    /// A date: `2026-11-21`.
    Date,
    /// A date and time (RFC 3339): `2026-11-21T10:00:00Z`.
    DateTime,
}

impl Format {
    /// Returns the format of this name; `None` for others, which are not checked.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            "date" => Some(Self::Date),
            "date-time" => Some(Self::DateTime),
            _ => None,
        }
    }

    /// Describes the format for the user, with an article and an example.
    pub fn description(self) -> &'static str {
        match self {
            Self::Email => "an e-mail address",
            Self::Uri => "a URL like https://example.com",
            Self::Date => "a date like 2026-11-21",
            Self::DateTime => "a time like 2026-11-21T10:00:00Z",
        }
    }

    /// Whether a text has this format.
    pub fn matches(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            Self::Uri => !text.contains(char::is_whitespace) && Url::parse(text).is_ok(),
            Self::Date => is_date(text),
            Self::DateTime => text
                .split_once(['T', 't', ' '])
                .is_some_and(|(date, time)| is_date(date) && is_time(time)),
        }
    }
}

fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.rsplit_once('@') else { return false };
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    let is_atom = |atom: &str| {
        !atom.is_empty()
            && atom.chars().all(|c| c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(c))
    };
    name.split('.').all(is_atom) && domain.split('.').all(is_label)
}

/// `2026-11-21`, and a valid day of its month.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2))
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `10:00:00.5+01:00`.
fn is_time(text: &str) -> bool {
    let Some((time, zone)) = text.find(['Z', 'z', '+', '-']).map(|at| text.split_at(at)) else {
        return false;
    };
    let is_zone = match zone.split_at(1) {
        ("Z" | "z", "") => true,
        ("+" | "-", offset) => is_clock(offset, &[23, 59]),
        _ => false,
    };
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    // 60 is a leap second.
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_zone && is_fraction && is_clock(whole, &[23, 59, 60])
}

/// Two-digit numbers separated by colons, each at most the number in `most`.
fn is_clock(text: &str, most: &[u32]) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let is_valid =
        |(part, most): (&&str, &u32)| number(part, 2).is_some_and(|number| number <= *most);
    parts.len() == most.len() && parts.iter().zip(most).all(is_valid)
}

/// Parses a number of exactly `digits` digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
