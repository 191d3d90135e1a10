//! Documents in a real Neovim (`$NVIM_BIN`, else `nvim`): what agents read and write, and what users then find.

// Helpers of tests are tests; the lint knows only functions marked so.

mod adopt;
mod autocommands;
mod conflict;
mod dirty;
mod encodings;
mod endings;
mod follow;
mod gone;
mod large;
mod late;
mod line_numbers;
mod modes;
mod names;
mod nvim;
mod others;
mod queue;
mod read;
mod special_files;
mod speed;
mod unopened;
mod unsaved;
mod work;
mod write;
