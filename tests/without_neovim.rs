//! The tests that need no Neovim: of the protocol, of processes, and of the project's own files.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panic")]

mod support;

mod acp;
mod acp_convert;
mod acp_process;
mod acp_remote;
mod annotations;
mod architecture;
mod build;
mod confine;
mod confine_others;
mod exec;
mod exec_shells;
mod exec_terminal;
mod exec_told;
mod index;
mod release;
mod settings_files;
mod tour;
mod trust;
mod trust_shells;
