//! Generates `doc/messages.md`, with a table for each message.

use super::model::{Group, Kind, Type};
use std::collections::BTreeSet;
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Messages

What Lua and the binary say to each other over msgpack-RPC. `make messages` writes this page, and the annotations in
`lua/rat/rpc/messages`, from the types in `src/nvim/messages`.

A field with a question mark may be missing; `vim.NIL` is the same as that. Numbers without a unit are counts. An invalid
payload is refused as a whole, and logged with the path of the field: `start: agent.timeouts.initialize: expected an integer,
got text`.
";

pub(super) fn page(to_lua: &Group, from_lua: &Group, calls: &Group, events: &Group) -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str(
        "\n## To Lua\n\nSent in frames: `require(\"rat.rpc.inbox\").apply` is called with a list of pairs of a name and a \
         payload, and returns a `FrameAnswer` (see Calls).\n",
    );
    messages(&mut page, to_lua);
    page.push_str(
        "\n## From Lua\n\nSent by `require(\"rat.rpc\").notify` with a name and a payload.\n",
    );
    messages(&mut page, from_lua);
    page.push_str(
        "\n## Calls\n\nFunctions that the binary calls, with their arguments in order.\n",
    );
    for call in &calls.messages {
        let fields = calls.fields(&call.payload);
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let _ = write!(page, "\n### {}({})\n\n{}", call.name, names.join(", "), call.doc);
        if let Some((answer, optional)) = &call.answer {
            let mark = if *optional { ", or nothing" } else { "" };
            match ty(calls, answer) {
                words if words == "nil" => page.push('\n'),
                words => {
                    let _ = writeln!(page, " Answers {words}{mark}.");
                }
            }
        }
        table(&mut page, calls, &call.payload);
    }
    types(&mut page, calls, &BTreeSet::new());
    page.push_str(
        "\n## Events\n\nWhat listeners of `require(\"rat\").on` are told, in messages `update` with the name and the table.\n",
    );
    messages(&mut page, events);
    page
}

fn messages(page: &mut String, group: &Group) {
    let mut shown = BTreeSet::new();
    for message in &group.messages {
        let _ = write!(page, "\n### {}\n\n{}\n", message.name, message.doc);
        table(page, group, &message.payload);
        shown.insert(message.payload.as_str());
    }
    types(page, group, &shown);
}

/// Adds the types that the messages consist of.
fn types(page: &mut String, group: &Group, shown: &BTreeSet<&str>) {
    for (name, kind) in &group.types {
        match kind {
            Kind::Table { doc, is_arguments: false, .. } if !shown.contains(name.as_str()) => {
                let _ = write!(page, "\n#### {name}\n\n{doc}\n");
                table(page, group, name);
            }
            Kind::Words { doc, words } if words.iter().any(|(_, doc)| !doc.is_empty()) => {
                let _ = write!(page, "\n#### {name}\n\n{doc}\n\n| word | meaning |\n|---|---|\n");
                for (word, doc) in words {
                    let _ = writeln!(page, "| `{word}` | {doc} |");
                }
            }
            Kind::Other { doc, ty: it } if !doc.is_empty() => {
                let _ = write!(page, "\n#### {name}\n\n{doc}\n\n{}\n", ty(group, it));
            }
            Kind::Text { doc } if !doc.is_empty() => {
                let _ = write!(page, "\n#### {name}\n\n{doc}\n");
            }
            _ => {}
        }
    }
}

fn table(page: &mut String, group: &Group, name: &str) {
    let fields = group.fields(name);
    if fields.is_empty() {
        return;
    }
    page.push_str("\n| field | type | what |\n|---|---|---|\n");
    for field in fields {
        let mark = if field.optional { "?" } else { "" };
        let words = ty(group, &field.ty);
        let _ = writeln!(page, "| `{}`{mark} | {words} | {} |", field.name, field.doc);
    }
}

fn ty(group: &Group, it: &Type) -> String {
    let joined = |all: &[Type], between: &str| {
        all.iter().map(|one| ty(group, one)).collect::<Vec<_>>().join(between)
    };
    match it {
        Type::Plain("string") => "text".to_owned(),
        Type::Plain(name) => (*name).to_owned(),
        Type::Words(words) => {
            words.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
        }
        Type::List(inner) => format!("list of {}", ty(group, inner)),
        Type::Map(inner) => format!("{} by name", ty(group, inner)),
        Type::Tuple(all) => format!("({})", joined(all, ", ")),
        Type::Either(all) => joined(all, " or "),
        Type::Named(name) => match group.get(name) {
            Some(Kind::Words { words, .. }) if words.iter().all(|(_, doc)| doc.is_empty()) => {
                words.iter().map(|(it, _)| format!("`{it}`")).collect::<Vec<_>>().join(", ")
            }
            Some(Kind::Other { doc, ty: inner }) if doc.is_empty() => ty(group, inner),
            _ => name.clone(),
        },
    }
}
