//! Documents in a real Neovim (`$NVIM_BIN`, else `nvim`): what agents read and write, and what users then find.

mod adopt;
mod follow;
mod names;
mod nvim;
mod read;
mod speed;
mod unsaved;
mod write;
