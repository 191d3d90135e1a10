//! The edge to Neovim.
