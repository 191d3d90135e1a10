//! The pure core: everything that happens is an [`messages::event::Event`], everything we do is an
//! [`messages::effect::Effect`], and only [`state::State`] decides. It uses no clock, no disk and no lock.

pub mod messages;

mod calls;
mod chat;
mod connection;
mod drawn;
mod event_subject;
mod listening;
mod printed;
mod questions;
mod requests;
mod review_updates;
mod sent_review;
mod session_list;
mod size;
mod terminals;
mod tools;

pub mod state;

pub mod dispatch;
mod failures;
pub mod frame;
mod handlers;
mod panics;
mod user_messages;

#[cfg(test)]
mod tests;
