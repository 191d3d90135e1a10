//! The harness of all tests that run real programs: Neovim with a user interface attached, agents played by the
//! test, processes and golden files. It knows nothing of the crate's inside, and of the plugin's only what `plugin.rs` names.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "each test binary uses its own part of it"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a harness fails by panic")]

mod agent;
mod chat;
mod confine;
mod dice;
mod frames;
mod gateway;
mod golden;
mod held;
mod inputs;
mod look;
mod mcp;
mod nvim;
mod picture;
mod plugin;
mod processes;
mod rpc;
mod screen;
mod temp;
mod tty;
mod values;
mod work;

pub use agent::{Agent, Pending, Request, text, yes_or_no};
pub use chat::{Chat, ChatBuilder, PROMPT, TRANSCRIPT};
pub use confine::can_confine;
pub(crate) use dice::Dice;
pub use gateway::{Gateway, Head, Way};
pub use held::Held;
pub(crate) use inputs::Inputs;
pub use mcp::{Mcp, Told};
pub use nvim::{Nvim, Options};
pub use picture::{svg, words};
pub use processes::Processes;
pub use screen::Screen;
pub use temp::{TempFolder, files_below};
pub use values::to_msgpack;
pub use work::{Amount, WORK, Work};

use temp::write_file;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Lua that makes `clock()`: nanoseconds that stand still while Neovim waits for a processor that others use, where the
/// system tells (`man 5 proc`, schedstat).
pub const CLOCK: &str = r#"
    local function clock()
      local file, waited = io.open("/proc/self/schedstat"), nil
      if file then
        waited = select(2, file:read("*n", "*n"))
        file:close()
      end
      return vim.uv.hrtime() - (waited or 0)
    end
"#;

/// How long anything may take before a test fails: far more than any of it needs, also on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// How soon a condition that announces nothing is looked at again: the longer it takes, the more seldom.
const FIRST_GLANCE: Duration = Duration::from_millis(2);
const LAST_GLANCE: Duration = Duration::from_millis(20);

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The binary under test.
pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_rat-nvim"))
}

/// Asks `look` until it gives a value or the deadline has passed. Gives `None` in the second case.
pub fn poll_for<T>(deadline: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + deadline;
    let mut pause = FIRST_GLANCE;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::park_timeout(pause);
        pause = (pause * 3 / 2).min(LAST_GLANCE);
    }
}
