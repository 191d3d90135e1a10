//! JSON for people, indented.

use serde_json::Value;
use std::io::{self, Write};

/// How many times as long as without white space a text may be, beyond the first `SMALL` bytes. What is nested deeply would be more
/// than a hundred times as long.
const MOST_TIMES: usize = 4;
const SMALL: usize = 16 << 10;

/// Takes so many bytes.
struct Limited {
    text: Vec<u8>,
    most: usize,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the text of a value, indented unless that makes it many times as long.
pub fn indented(value: &Value) -> String {
    if let Some(small) = indented_within(value, SMALL) {
        return small;
    }
    let text = serde_json::to_string(value).unwrap_or_default();
    indented_within(value, MOST_TIMES * text.len()).unwrap_or(text)
}

fn indented_within(value: &Value, most: usize) -> Option<String> {
    let mut limited = Limited { text: Vec::new(), most };
    serde_json::to_writer_pretty(&mut limited, value).ok()?;
    String::from_utf8(limited.text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_nested_deeply_is_not_indented() {
        assert_eq!(indented(&json!({"a": [1]})), "{\n  \"a\": [\n    1\n  ]\n}");
        let mut value = json!(vec![1; 100_000]);
        for _ in 0..100 {
            value = json!([value]);
        }
        assert_eq!(indented(&value).len(), 200_001 + 200);
    }
}
