//! The tour through the real plugin in real Neovim, from the prompt to the undo: what `make demo` shows where there is
//! no terminal. `RAT_DEMO_REPORT` names a file for the final screen and the change.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod support;

use serde_json::json;
use similar::TextDiff;
use support::{Nvim, Options, repository};

const NOTE: &str = "# This line is not saved.";

#[test]
fn the_tour_arrives_in_the_buffer_and_on_disk() {
    let pace = ("RAT_TOUR_PACE".to_owned(), "0.1".to_owned());
    let mut nvim = Nvim::start(Options { env: vec![pace], ..Options::default() });
    for name in ["README.md", "duration.py", "report.py", "test_duration.py"] {
        std::fs::copy(repository().join("tests/sample").join(name), nvim.cwd().join(name)).unwrap();
    }
    let path = nvim.cwd().join("duration.py");
    let before = std::fs::read_to_string(&path).unwrap();
    nvim.command("edit duration.py");
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { ... })", json!([NOTE]));
    nvim.record(&["RatTurnEnd"]);

    nvim.command("RatStart tour");
    nvim.send("Please show me around.");
    nvim.poll("a permission request", |nvim| nvim.status()["permissions"] == json!(1));
    nvim.poll_screen("Edit duration.py");
    nvim.command("RatAllow");
    let end = nvim.poll_events("RatTurnEnd", 1);
    assert_eq!(end["stop_reason"], json!("end_turn"));
    nvim.poll_screen("/stress");

    let after = std::fs::read_to_string(&path).unwrap();
    report(&nvim, &before, &after);
    assert_eq!(after, before.replace("seconds > size", "seconds >= size"));
    let lines =
        |text: &str| [NOTE].into_iter().chain(text.lines()).map(str::to_owned).collect::<Vec<_>>();
    let name = path.to_string_lossy();
    assert_eq!(nvim.buffer_lines(&name), lines(&after));
    nvim.lua_in(&name, "vim.cmd.undo()", json!([]));
    assert_eq!(nvim.buffer_lines(&name), lines(&before));
}

/// What `make demo` prints.
fn report(nvim: &Nvim, before: &str, after: &str) {
    let Some(path) = std::env::var_os("RAT_DEMO_REPORT") else { return };
    let rule = "─".repeat(80);
    let diff = TextDiff::from_lines(before, after)
        .unified_diff()
        .header("before", "duration.py")
        .to_string();
    let text = format!("{rule}\n{}\n{rule}\nThe change on disk:\n\n{diff}", nvim.screen().text());
    std::fs::write(path, text).unwrap();
}
