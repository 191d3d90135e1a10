//! Resolves how an agent is started from the options of `setup()`, the user's settings file, the presets and the
//! environment. It does not depend on Neovim.

mod confine;
pub mod options;
pub mod presets;
mod remote;
pub mod report;
pub mod resolve;
pub mod settings;
