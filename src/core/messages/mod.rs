//! The types that the edges and the core exchange. There is no logic here.

pub mod agent;
pub mod call;
pub mod checkpoint;
pub mod content;
pub mod conversation;
pub mod editor;
pub mod effect;
pub mod elicitation;
pub mod event;
pub mod failure;
pub mod file_scope;
pub mod files;
pub mod ids;
pub mod judgement;
pub mod notice;
pub mod page;
pub mod policy;
pub mod review;
pub mod review_page;
pub mod rules;
pub mod status;
pub mod terminal;
pub mod trace;
pub mod user;
pub mod worktree;
