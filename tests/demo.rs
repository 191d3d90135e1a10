//! The tour through the real plugin in real Neovim, from the prompt to the undo: what `make demo` shows where there is
//! no terminal. `RAT_DEMO_REPORT` names a file for the final screen and the change.

use crate::support::{Nvim, Options, repository};
use serde_json::json;
use similar::TextDiff;

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
    nvim.command("call search('if seconds') | normal! zz");

    nvim.command("RatStart tour");
    nvim.send("Please show me around.");
    nvim.poll_events("RatPermission", 1);
    nvim.poll_screen(":RatAllow");
    let asking = nvim.screen().text();
    nvim.command("RatAllow");
    let end = nvim.poll_events("RatTurnEnd", 1);
    assert_eq!(end["stop_reason"], json!("end_turn"));
    nvim.poll_screen("sends 5,000 pieces");

    let after = std::fs::read_to_string(&path).unwrap();
    report(&[asking, nvim.screen().text()], &before, &after);
    assert_eq!(after, before.replace("seconds > size", "seconds >= size"));
    let lines =
        |text: &str| [NOTE].into_iter().chain(text.lines()).map(str::to_owned).collect::<Vec<_>>();
    let name = path.to_string_lossy();
    assert_eq!(nvim.buffer_lines(&name), lines(&after));
    assert_eq!(nvim.lua_in(&name, "return vim.bo.modified", json!([])), json!(true));
    nvim.lua_in(&name, "vim.cmd.undo()", json!([]));
    assert_eq!(nvim.buffer_lines(&name), lines(&before));
}

/// What `make demo` prints.
fn report(screens: &[String], before: &str, after: &str) {
    let Some(path) = std::env::var_os("RAT_DEMO_REPORT") else { return };
    let rule = "─".repeat(80);
    let screens: String = screens.iter().flat_map(|screen| [&rule, "\n", screen, "\n"]).collect();
    let diff = TextDiff::from_lines(before, after);
    let diff = diff.unified_diff().header("duration.py before", "duration.py").to_string();
    std::fs::write(path, format!("{screens}{rule}\nThe change on disk:\n\n{diff}")).unwrap();
}
