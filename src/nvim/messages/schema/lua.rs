//! Generates annotations for Lua type checkers. They are never executed.

use super::model::{Field, Group, Kind, Type};
use std::fmt::Write;

/// Generates the annotations of a group. A type that is identical in `other` becomes an alias of it.
pub(super) fn file(what: &str, group: &Group, other: Option<&Group>) -> String {
    let mut out = format!(
        "--- {what} Written from the types in `src/nvim/messages` by `make messages`.\n---@meta _\n"
    );
    for (name, kind) in &group.types {
        let same = other.filter(|other| is_same(group, other, name));
        match kind {
            Kind::Table { doc, is_arguments: false, .. } | Kind::Words { doc, .. }
                if same.is_some() =>
            {
                let prefix = same.map_or("", |other| other.prefix);
                let name = format!("{}.{name} {prefix}.{name}", group.prefix);
                let _ = write!(out, "\n--- {doc}\n---@alias {name}\n");
            }
            Kind::Table { doc, fields, is_arguments: false } => {
                let _ = write!(out, "\n--- {doc}\n---@class (exact) {}.{name}\n", group.prefix);
                for field in fields {
                    out.push_str(&line(group, field));
                }
            }
            Kind::Words { doc, words } if words.len() > 1 => {
                let words = quoted(words.iter().map(|(word, _)| word.as_str()));
                let _ = write!(out, "\n--- {doc}\n---@alias {}.{name} {words}\n", group.prefix);
            }
            _ => {}
        }
    }
    if group.messages.iter().all(|message| message.answer.is_none()) {
        let _ = write!(
            out,
            "\n--- Each message with its fields.\n---@class (exact) {}.Payloads\n",
            group.prefix
        );
        for message in &group.messages {
            let _ = writeln!(
                out,
                "---@field {} {}.{} {}",
                message.name, group.prefix, message.payload, message.doc
            );
        }
    }
    out
}

/// Generates a file that returns names.
pub(super) fn names(names: &[String]) -> String {
    let mut out = "--- The names of the events that can be listened to. Written from the types in `src/nvim/messages` by \
                   `make messages`.\nreturn {\n"
        .to_owned();
    for name in names {
        let _ = writeln!(out, "  \"{name}\",");
    }
    out.push_str("}\n");
    out
}

fn line(group: &Group, field: &Field) -> String {
    let mark = if field.optional { "?" } else { "" };
    format!("---@field {}{mark} {} {}\n", field.name, ty(group, &field.ty), field.doc)
}

pub(super) fn ty(group: &Group, it: &Type) -> String {
    let joined = |all: &[Type], between: &str| {
        all.iter().map(|one| ty(group, one)).collect::<Vec<_>>().join(between)
    };
    match it {
        Type::Plain(name) => (*name).to_owned(),
        Type::Words(words) => quoted(words.iter().map(String::as_str)),
        Type::List(inner) => match ty(group, inner) {
            inner if inner.contains('|') => format!("({inner})[]"),
            inner => format!("{inner}[]"),
        },
        Type::Map(inner) => format!("table<string, {}>", ty(group, inner)),
        Type::Tuple(all) => format!("[{}]", joined(all, ", ")),
        Type::Either(all) => {
            let mut all: Vec<String> = all.iter().map(|one| ty(group, one)).collect();
            let mut seen = Vec::new();
            all.retain(|one| {
                !seen.contains(one) && {
                    seen.push(one.clone());
                    true
                }
            });
            all.join("|")
        }
        Type::Named(name) => match group.get(name) {
            Some(Kind::Table { .. }) => format!("{}.{name}", group.prefix),
            Some(Kind::Words { words, .. }) if words.len() > 1 => {
                format!("{}.{name}", group.prefix)
            }
            Some(Kind::Words { words, .. }) => quoted(words.iter().map(|(word, _)| word.as_str())),
            Some(Kind::Other { ty: inner, .. }) => ty(group, inner),
            Some(Kind::Text { .. }) => "string".to_owned(),
            None => panic!("nothing is called {name}"),
        },
    }
}

fn quoted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join("|")
}

/// Whether the type with this name has the same fields or words in both groups.
fn is_same(group: &Group, other: &Group, name: &str) -> bool {
    let shape = |group: &Group| match group.get(name) {
        Some(Kind::Table { fields, .. }) if !fields.is_empty() => {
            let field = |it: &Field| (it.name.clone(), it.optional, ty(group, &it.ty));
            Some(fields.iter().map(field).collect::<Vec<_>>())
        }
        Some(Kind::Words { words, .. }) if words.len() > 1 => {
            Some(words.iter().map(|(word, _)| (word.clone(), false, String::new())).collect())
        }
        _ => None,
    };
    shape(group).is_some_and(|one| shape(other).is_some_and(|two| one == two))
}
