//! What agents may do without the user being asked: rules, and the command lines that they are about. It decides and
//! explains; it runs nothing, reads no disk and knows no protocol.
//!
//! A command line is taken apart into every program it would run ([`command`]), with a parser ([`shell`]) of the few forms that
//! all shells read alike. A line of another form is never allowed by a rule.

mod builtins;
pub mod command;
pub mod kept;
pub mod rule;
pub mod rules;
pub mod shell;
pub mod suggest;
mod wrappers;
