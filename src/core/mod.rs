//! The pure core: everything that happens is an [`event::Event`], everything we do is an [`effect::Effect`],
//! only [`state::State`] decides. No clock, no disk, no lock in here.

pub mod command;
pub mod effect;
pub mod elicitation;
pub mod event;
pub mod policy;
pub mod reach;
pub mod status;

mod broken;
pub mod chat;
pub mod content;
pub mod frame;
pub mod link;
pub mod state;

mod activity;
mod changes;
mod documents;
pub mod elicit;
mod info;
mod keep;
mod life;
mod listing;
mod login;
mod meta;
mod note;
mod options;
mod permit;
mod sessions;
mod terminals;
mod turn;
mod words;

#[cfg(test)]
mod tests;
