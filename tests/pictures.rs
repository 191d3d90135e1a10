//! The pictures of README.md and the help: the tour in real Neovim, as `make screenshots` writes it to `doc/images/`.
//! They must show the plugin as it comes, and nothing of the machine.

use std::process::Command;

use crate::support::{Nvim, Options, repository};
use serde_json::json;

const SIZE: (u16, u16) = (110, 32);
const THEMES: [&str; 2] = ["dark", "light"];
const NOTE: &str = "# This line is not saved.";

/// The tour on the sample project, the user in the file.
struct Tour {
    nvim: Nvim,
    theme: &'static str,
}

impl Tour {
    fn start(theme: &'static str) -> Self {
        let init = format!("vim.cmd.colorscheme('default') vim.o.background = '{theme}'");
        let env = vec![("RAT_TOUR_PACE".to_owned(), "0".to_owned())];
        let (columns, lines) = SIZE;
        let mut nvim = Nvim::start(Options { columns, lines, env, init, ..Options::default() });
        for name in ["README.md", "duration.py", "report.py", "test_duration.py"] {
            let sample = repository().join("tests/sample").join(name);
            std::fs::copy(sample, nvim.cwd().join(name)).unwrap();
        }
        nvim.command("edit duration.py");
        nvim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { ... })", json!([NOTE]));
        nvim.command("call search('if seconds') | normal! zz");
        nvim.command("RatStart tour");
        nvim.send("Please show me around.");
        Self { nvim, theme }
    }

    /// Until the agent asks whether it may edit a file.
    fn asked(theme: &'static str) -> Self {
        let mut tour = Self::start(theme);
        tour.nvim.poll_events("RatPermission", 1);
        tour.nvim.poll_screen(":RatAllow");
        tour
    }

    /// The user leaves the question open and goes into the transcript, to the first row that holds this text.
    fn look_at(&mut self, text: &str) {
        self.nvim.dismiss();
        self.nvim.command("stopinsert | wincmd b | wincmd k");
        self.nvim.lua(
            "vim.fn.cursor(1, 1) vim.fn.search(..., 'cW') vim.cmd.normal('0zt')",
            json!([text]),
        );
    }

    fn expect_picture(&mut self, name: &str, title: &str) {
        self.nvim.expect_picture(&format!("{name}-{}", self.theme), title);
    }
}

/// Holds (Windows and views): The pictures in `doc/images` show the tour of today; on Neovim other than 0.11 their words are compared.
#[test]
fn a_question_of_the_tour() {
    for theme in THEMES {
        let mut tour = Tour::asked(theme);
        tour.nvim.poll_screen("<CR> choose");
        tour.expect_picture("permission", "The agent asks whether it may edit a file");
    }
}

/// Holds (Windows and views): The pictures in `doc/images` show the tour of today; on Neovim other than 0.11 their words are compared.
#[test]
fn what_the_tour_has_said() {
    for theme in THEMES {
        let mut tour = Tour::asked(theme);
        tour.look_at("Search for");
        tour.expect_picture("chat", "What the agent says and does");
    }
}

/// Holds (Windows and views): The pictures in `doc/images` show the tour of today; on Neovim other than 0.11 their words are compared.
#[test]
fn the_diff_of_an_edit() {
    for theme in THEMES {
        let mut tour = Tour::asked(theme);
        tour.look_at("Edit duration.py");
        tour.nvim.resize(SIZE.0, 20);
        tour.nvim.input("gd");
        tour.expect_picture("diff", "The change that the agent asks for, in native diff mode");
    }
}

/// Holds (Windows and views): The pictures in `doc/images` show the tour of today; on Neovim other than 0.11 their words are compared.
#[test]
fn the_plan_of_the_tour() {
    for theme in THEMES {
        let mut tour = Tour::asked(theme);
        tour.look_at("One more character");
        tour.nvim.command("RatPlan");
        tour.nvim.command("RatTools");
        tour.expect_picture("plan", "The agent's plan and its tool calls");
    }
}

#[test]
fn pictures_are_well_formed_and_small() {
    let folder = std::fs::read_dir(repository().join("doc/images")).unwrap();
    let paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    assert!(!paths.is_empty());
    for path in &paths {
        assert!(path.metadata().unwrap().len() < 20_000, "{} is large", path.display());
    }
    let parse = "import sys, xml.dom.minidom as xml\nfor path in sys.argv[1:]: xml.parse(path)";
    let output = Command::new("python3").args(["-c", parse]).args(&paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
