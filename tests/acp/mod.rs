//! The protocol as its schemas have it: the table of what becomes of each name, messages made from the schemas, the
//! recordings of real agents, how each variant is drawn, and the list of what a client has to do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panic")]

mod basics;
mod conformance;
mod drawn;
mod editor;
mod forge;
mod generated;
mod replay;
mod replies;
mod schema;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod world;
