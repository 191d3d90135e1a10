//! Agents that mean harm, in real Neovim: nothing they say commands the terminal, and no name they choose opens, starts
//! or changes anything but what the user sees.

mod asked;
mod generated;
mod lookalike;
mod names;
mod offered;
mod poison;
mod restored;
mod secrets;
mod shown;
mod terminal;
