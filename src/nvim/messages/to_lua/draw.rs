//! The `draw` message. Most of the data sent to Lua is in these, so they are encoded by hand without copying any text.
//! The tests compare the encoding with the types below.

use super::Chat;
use crate::core::messages::page::View;
use crate::nvim::text::{BufferText, Handle, Label, Word};
use crate::view::line::Line;
use crate::view::patch::{Op, Patch};
use rmpv::Value;

/// A list of values.
fn list<T: Into<Value>>(items: impl IntoIterator<Item = T>) -> Value {
    Value::Array(items.into_iter().map(Into::into).collect())
}

fn word(word: &'static str) -> Value {
    Word::new(word).into()
}

/// Encodes the message.
pub(super) fn message(chat: Chat, view: View, reset: bool, patch: Patch) -> Value {
    let view = match view {
        View::Chat => "chat",
        View::Plan => "plan",
        View::Tools => "tools",
    };
    let first = reset.then(|| Value::Array(vec![word("r")]));
    let ops = list(first.into_iter().chain(patch.ops.into_iter().map(op)));
    let payload = Value::Map(vec![
        ("chat".into(), chat.into()),
        ("view".into(), word(view)),
        ("ops".into(), ops),
    ]);
    Value::Array(vec![word("draw"), payload])
}

fn op(op: Op) -> Value {
    let handles = |formats: Vec<String>| list(formats.into_iter().map(Handle::new));
    match op {
        Op::Lines { first, last, lines } => {
            let mut texts = Vec::with_capacity(lines.len());
            let mut formats = Vec::with_capacity(lines.len());
            let mut prefixes = Vec::new();
            for (row, Line { text, format, prefix }) in lines.into_iter().enumerate() {
                texts.push(BufferText::new(text).into());
                formats.push(Handle::new(format).into());
                if let Some((prefix, highlight)) = prefix {
                    let group = Handle::new(highlight.letter().to_string());
                    prefixes.extend([row.into(), Label::new(prefix).into(), group.into()]);
                }
            }
            let [texts, formats, prefixes] = [texts, formats, prefixes].map(Value::Array);
            Value::Array(vec![word("l"), first.into(), last.into(), texts, formats, prefixes])
        }
        Op::Text { row, col, text, formats } => {
            let pieces = list(text.split('\n').map(BufferText::new));
            Value::Array(vec![word("t"), row.into(), col.into(), pieces, handles(formats)])
        }
        Op::Formats { row, formats } => Value::Array(vec![word("s"), row.into(), handles(formats)]),
        Op::Fold { first, last } => Value::Array(vec![word("f"), first.into(), last.into()]),
    }
}

#[cfg(test)]
pub(in crate::nvim) use typed::Draw;

#[cfg(test)]
mod typed {
    //! The types that the encoding has to match.

    use super::super::Chat;
    use crate::core::messages::page::View;
    use crate::nvim::text::{BufferText, Handle, Label};
    use crate::view::patch::{self, Patch};
    use schemars::JsonSchema;
    use serde::Serialize;

    /// Changes to a view.
    #[derive(Debug, Serialize, JsonSchema)]
    pub(in crate::nvim) struct Draw {
        /// The chat.
        chat: Chat,
        /// The view.
        view: Buffer,
        /// The changes, in order. Rows count from 0 and refer to the state after the preceding changes.
        ops: Vec<Op>,
    }

    /// The views of a chat.
    #[derive(Debug, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub(in crate::nvim) enum Buffer {
        /// The transcript.
        Chat,
        /// The plan.
        Plan,
        /// The tool calls.
        Tools,
    }

    /// One change. `r` empties the buffer. `l` replaces the rows from the first up to but not including the last by
    /// lines with their formats; it also has triples of a row among these lines, a prefix to show before it, and the
    /// prefix's highlight group. `t` appends text to a row that has this many bytes, one piece per row, with the
    /// formats of these rows. `s` changes the formats of rows. `f` folds the rows from the first to the last.
    #[derive(Debug, Serialize, JsonSchema)]
    #[serde(untagged)]
    pub(in crate::nvim) enum Op {
        Reset((R,)),
        Lines(L, usize, usize, Vec<BufferText>, Vec<Handle>, Vec<Prefix>),
        Text(T, usize, usize, Vec<BufferText>, Vec<Handle>),
        Looks(S, usize, Vec<Handle>),
        Fold(F, usize, usize),
    }

    macro_rules! letters {
        ($($letter:ident = $text:literal),*) => {$(
            #[derive(Debug, Serialize, JsonSchema)]
            pub(in crate::nvim) enum $letter {
                #[serde(rename = $text)]
                Letter,
            }
        )*};
    }
    letters!(R = "r", L = "l", T = "t", S = "s", F = "f");

    /// One element of a triple that describes the prefix of a row.
    #[derive(Debug, Serialize, JsonSchema)]
    #[serde(untagged)]
    pub(in crate::nvim) enum Prefix {
        Row(usize),
        Text(Label),
        Group(Handle),
    }

    impl Draw {
        pub(in crate::nvim) fn new(chat: Chat, view: View, reset: bool, patch: Patch) -> Self {
            let view = match view {
                View::Chat => Buffer::Chat,
                View::Plan => Buffer::Plan,
                View::Tools => Buffer::Tools,
            };
            let first = reset.then_some(Op::Reset((R::Letter,)));
            let ops = first.into_iter().chain(patch.ops.into_iter().map(Op::from)).collect();
            Self { chat, view, ops }
        }
    }

    impl From<patch::Op> for Op {
        fn from(op: patch::Op) -> Self {
            let handles = |formats: Vec<String>| formats.into_iter().map(Handle::new).collect();
            match op {
                patch::Op::Lines { first, last, lines } => {
                    let prefixes = lines.iter().enumerate().filter_map(|(row, line)| {
                        let (text, highlight) = line.prefix.as_ref()?;
                        let group = Handle::new(highlight.letter().to_string());
                        let text = Label::new(text);
                        Some([Prefix::Row(row), Prefix::Text(text), Prefix::Group(group)])
                    });
                    let prefixes = prefixes.flatten().collect();
                    let texts = lines.iter().map(|line| BufferText::new(line.text.as_str()));
                    let texts = texts.collect();
                    let formats =
                        lines.iter().map(|line| Handle::new(line.format.as_str())).collect();
                    Self::Lines(L::Letter, first, last, texts, formats, prefixes)
                }
                patch::Op::Text { row, col, text, formats } => {
                    let pieces = text.split('\n').map(BufferText::new).collect();
                    Self::Text(T::Letter, row, col, pieces, handles(formats))
                }
                patch::Op::Formats { row, formats } => {
                    Self::Looks(S::Letter, row, handles(formats))
                }
                patch::Op::Fold { first, last } => Self::Fold(F::Letter, first, last),
            }
        }
    }
}
