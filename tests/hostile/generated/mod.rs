//! Hostile inputs made by chance, a thousand of each class. `tests/acp` plays markup and orders in memory, `alone` sizes.

mod floods;
mod grammar;
mod paths;
mod texts;
