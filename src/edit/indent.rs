//! Fits code to the indentation of the lines that it replaces: models often leave out the indentation that all of the lines
//! have, or only that of the first one.

use std::collections::HashSet;

/// Returns lines as they replace `original`. Code that is indented like it, or deeper, stays as it is. Otherwise all lines are
/// indented by what `original` has in common, or only the first one, or none: whichever keeps the most of the original lines.
pub fn fit_indent(lines: &[String], original: &[String]) -> Vec<String> {
    let wanted = common_indent(original);
    if wanted.is_empty() || common_indent(lines).starts_with(wanted) {
        return lines.to_vec();
    }
    let first = lines.iter().position(|line| !line.trim().is_empty());
    let indented = |should_be: &dyn Fn(usize) -> bool| -> Vec<String> {
        let line = |(row, line): (usize, &String)| {
            let is_blank = line.trim().is_empty();
            if should_be(row) && !is_blank { format!("{wanted}{line}") } else { line.clone() }
        };
        lines.iter().enumerate().map(line).collect()
    };
    let known: HashSet<&str> = original.iter().map(String::as_str).collect();
    let kept = |lines: &[String]| {
        lines.iter().filter(|line| !line.trim().is_empty() && known.contains(line.as_str())).count()
    };
    let candidates = [lines.to_vec(), indented(&|row| Some(row) == first), indented(&|_| true)];
    // Of candidates that are equally good, the last one.
    candidates.into_iter().max_by_key(|lines| kept(lines)).unwrap_or_default()
}

/// The blanks that all lines begin with which are not blank.
fn common_indent(lines: &[String]) -> &str {
    let indents = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| {
        let code = line.trim_start_matches([' ', '\t']);
        &line[..line.len() - code.len()]
    });
    let common = |one: &'_ str, other: &'_ str| {
        one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
    };
    indents.reduce(|one, other| &one[..common(one, other)]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &str) -> Vec<String> {
        text.split('\n').map(str::to_owned).collect()
    }

    fn fitted(code: &str, original: &str) -> String {
        fit_indent(&lines(code), &lines(original)).join("\n")
    }

    #[test]
    fn code_with_the_right_indentation_stays() {
        let original = "    fn a() {\n        b\n    }";
        let code = "    async fn a() {\n        b\n    }";
        assert_eq!(fitted(code, original), code);
        let deeper = "        if b {\n            a\n        }";
        assert_eq!(fitted(deeper, original), deeper);
    }

    #[test]
    fn code_without_indentation_is_indented_as_a_whole() {
        assert_eq!(
            fitted("async fn a() {\n    b\n\n}", "    fn a() {\n        b\n    }"),
            "    async fn a() {\n        b\n\n    }"
        );
        assert_eq!(fitted("if y:\n    b\n    c", "\tif x:\n\t    b"), "\tif y:\n\t    b\n\t    c");
    }

    #[test]
    fn a_first_line_without_its_indentation_gets_it() {
        let original = "    fn a() {\n        b\n    }";
        let wanted = "    async fn a() {\n        b\n    }";
        assert_eq!(fitted("async fn a() {\n        b\n    }", original), wanted);
    }

    #[test]
    fn lines_that_are_kept_as_they_are_decide() {
        // The first line has been replaced by one that belongs at the margin.
        let original = "  a\n  b\n  c";
        assert_eq!(fitted("# x\n  a\n  b\n  c", original), "  # x\n  a\n  b\n  c");
        assert_eq!(fitted("x", "    y"), "    x");
        assert_eq!(fitted("", "    y"), "");
    }

    fn code() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[ \t]{0,4}[a-c]{0,2}", 0..6)
    }

    proptest! {
        /// Only blanks at the beginning of lines change, and of none that had the right ones.
        #[test]
        fn nothing_but_indentation_is_added(code in code(), original in code()) {
            let fitted = fit_indent(&code, &original);
            prop_assert_eq!(fitted.len(), code.len());
            for (line, before) in fitted.iter().zip(&code) {
                prop_assert!(line.ends_with(before.as_str()));
                prop_assert!(line[..line.len() - before.len()].trim().is_empty());
            }
            prop_assert_eq!(fit_indent(&original, &original), original);
        }

        /// Code that has lost the indentation of all its lines gets exactly that back.
        #[test]
        fn lost_indentation_is_restored(
            body in prop::collection::vec("[ ]{0,3}[a-c]{1,2}", 1..6),
            indent in "[ ]{1,4}|\t",
        ) {
            let mut body = body;
            body.insert(0, "top".to_owned());
            let original: Vec<String> = body.iter().map(|line| format!("{indent}{line}")).collect();
            prop_assert_eq!(fit_indent(&body, &original), original);
        }
    }
}
