//! Finds fenced code blocks in an agent's Markdown (CommonMark 4.5).

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A longer answer (in bytes) is not searched.
const MAX_TEXT: usize = 4 << 20;

/// Returns the lines of the last fenced code block of a text, without what is before each of them because the block is in a list
/// or a quote. `None` if there is none, or if a block is not complete: what it would have
/// contained, or which of its fences was meant to close it, is not known.
pub fn last_code_block(text: &str) -> Option<Vec<String>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let (mut last, mut open) = (None, None::<String>);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => open = Some(String::new()),
            Event::Text(text) => {
                if let Some(code) = &mut open {
                    code.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                let Some(code) = open.take() else { continue };
                if !is_closed(&text[range]) {
                    return None;
                }
                last = Some(code.lines().map(str::to_owned).collect());
            }
            _ => {}
        }
    }
    last
}

/// Whether the source of a fenced code block ends with its closing fence. It begins with the opening one.
fn is_closed(source: &str) -> bool {
    let Some(mark) = source.chars().next() else { return false };
    let fence = source.chars().take_while(|char| *char == mark).count();
    let mut lines = source.trim_end().lines();
    let (opening, last) = (lines.next(), lines.next_back());
    let last = last.map(|line| line.trim_start_matches([' ', '\t', '>']).trim_end());
    opening.is_some()
        && last.is_some_and(|line| line.len() >= fence && line.chars().all(|char| char == mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str) -> Option<String> {
        last_code_block(text).map(|lines| lines.join("\n"))
    }

    #[test]
    fn the_last_block_is_found_wherever_it_is() {
        for (text, wanted) in [
            ("Sure:\n\n```rust\nlet a = 1;\n```\nDone.", "let a = 1;"),
            ("```\none\n```\n\n~~~py\ntwo\n~~~", "two"),
            ("1. Here:\n\n   ```\n   a\n     b\n   ```\n", "a\n  b"),
            ("> ```\n> a\n> ```\n", "a"),
            ("~~~\n```\na\n```\n~~~", "```\na\n```"),
            ("````md\n```\na\n```\n````\n", "```\na\n```"),
            ("```\n```", ""),
            ("```\n\n\n```", "\n"),
            ("```\r\na\r\nb\r\n```\r\n", "a\nb"),
        ] {
            assert_eq!(found(text).as_deref(), Some(wanted), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_complete_is_not_found() {
        for text in [
            "",
            "no code",
            "`code`",
            "    indented",
            "```",
            "```\na",
            "```\na\n``",
            "````\na\n```",
            "```\na\n~~~",
            "> ```\n> a",
            // Which of its fences closes the block is not known.
            "```md\n# A\n```rust\nfn\n```\n# B\n```\n",
        ] {
            assert_eq!(found(text), None, "{text:?}");
        }
    }

    proptest! {
        /// Whatever is between two fences that are long enough comes out as it is.
        #[test]
        fn a_block_is_found_byte_for_byte(
            lines in prop::collection::vec("[a-z`~> \t#*-]{0,8}", 0..8),
            before in "([a-z .]{0,10}\n){0,3}",
            mark in "[`~]",
        ) {
            let code = lines.join("\n");
            let fence = mark.repeat(12);
            let newline = if lines.is_empty() { "" } else { "\n" };
            let text = format!("{before}\n{fence}rust\n{code}{newline}{fence}\n\nafter");
            prop_assert_eq!(last_code_block(&text).unwrap(), lines);
        }

        /// Nothing makes it panic.
        #[test]
        fn any_text_is_searched(text in "[`~a>\n \t\\-1.é]{0,60}") {
            last_code_block(&text);
        }
    }
}
