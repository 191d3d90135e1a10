//! The protocol as its schemas have it: the table of what becomes of each name, messages made from the schemas, the
//! recordings of real agents, how each variant is drawn, and the list of what a client has to do.

mod basics;
mod conformance;
mod drawn;
mod forge;
mod generated;
mod late;
mod markup;
mod orders;
mod replay;
mod replies;
mod schema;
mod table;
mod table_v2;
mod version;
mod world;
