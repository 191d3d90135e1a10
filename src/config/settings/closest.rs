//! Finds the known name that a misspelt one was meant to be. It knows nothing of settings.

/// Returns the candidate with the fewest edits from `name`; `None` if all have more than `limit`.
pub(super) fn closest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    limit: usize,
) -> Option<&'a str> {
    let distances = candidates.into_iter().map(|candidate| (distance(name, candidate), candidate));
    distances.filter(|(edits, _)| *edits <= limit).min_by_key(|(edits, _)| *edits).map(|it| it.1)
}

/// Counts the characters to insert, delete, replace or exchange with the next one, whatever their case.
fn distance(one: &str, other: &str) -> usize {
    let letters = |text: &str| -> Vec<char> { text.to_lowercase().chars().collect() };
    let (one, other) = (letters(one), letters(other));
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least =
                (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_close_to_what_it_was_meant_to_be_and_to_nothing_else() {
        let known = ["command", "confine", "env", "url"];
        for (name, expected) in [
            ("confne", Some("confine")),
            ("Confine", Some("confine")),
            ("comand", Some("command")),
            ("cofnine", Some("confine")),
            ("evn", Some("env")),
            ("theme", None),
            ("configuration", None),
            ("", None),
        ] {
            assert_eq!(closest(name, known, 2), expected, "{name}");
        }
        assert_eq!([distance("abc", "abc"), distance("", "ab"), distance("ab", "")], [0, 2, 2]);
        assert_eq!(distance("abcd", "acbd"), 1, "an exchange");
    }
}
