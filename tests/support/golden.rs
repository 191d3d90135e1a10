//! Screens against golden files in `tests/golden/`. `UPDATE_GOLDEN=1` writes them; a look at the difference is left
//! to version control.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::picture::{svg, words};
use super::{DEADLINE, Nvim, Screen, poll_for, repository};

/// The version of Neovim that the pictures show.
const PICTURED: &str = "0.11";

impl Nvim {
    /// Waits until the screen is the one in `tests/golden/NAME.COLSxROWS.txt`, or, where that file exists, in
    /// `NAME.COLSxROWS.nvim-0.N.txt` for this version of Neovim.
    pub fn expect_screen(&mut self, name: &str) {
        self.expect_screen_with(name, &[]);
    }

    /// Like [`Nvim::expect_screen`]; each text of the first kind is shown as the second, cut or filled with dots
    /// to the same width, so that paths and numbers that change from run to run leave the columns in place.
    pub fn expect_screen_with(&mut self, name: &str, replace: &[(&str, &str)]) {
        let path = self.golden_path(name);
        self.expect_file(&path, "it again with UPDATE_GOLDEN=1", |screen| masked(screen, replace));
    }

    /// Waits until the screen is the picture in `doc/images/NAME.svg`, called `title`. Pictures are made with one version
    /// of Neovim, [`PICTURED`]; on others, which have other colours, the words in it are compared.
    pub fn expect_picture(&mut self, name: &str, title: &str) {
        let path = repository().join(format!("doc/images/{name}.svg"));
        let version = self.version();
        if version == PICTURED {
            return self.expect_file(&path, "make screenshots", |screen| svg(screen, title));
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            self.fail(&format!("pictures are made with Neovim {PICTURED}, this is {version}"));
        }
        let wanted = words(&std::fs::read_to_string(&path).expect("a picture: make screenshots"));
        let seen = |nvim: &Self| words(&svg(&nvim.screen(), title));
        if poll_for(DEADLINE, || (seen(self) == wanted).then_some(())).is_none() {
            let seen = seen(self);
            let diff = similar::TextDiff::from_lines(&wanted, &seen).unified_diff().to_string();
            self.fail(&format!("the screen does not say what {} says:\n{diff}", path.display()));
        }
    }

    /// Waits until the screen, drawn by `draw`, is the text of that file.
    fn expect_file(&mut self, path: &Path, remedy: &str, draw: impl Fn(&Screen) -> String) {
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let screen = self.settled_screen();
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("make the folder");
            return std::fs::write(path, draw(&screen)).expect("write a golden file");
        }
        let Ok(wanted) = std::fs::read_to_string(path) else {
            self.fail(&format!("{} is missing: run {remedy}", path.display()))
        };
        if poll_for(DEADLINE, || (draw(&self.screen()) == wanted).then_some(())).is_none() {
            let seen = draw(&self.screen());
            let diff = similar::TextDiff::from_lines(&wanted, &seen).unified_diff().to_string();
            self.fail(&format!("the screen is not {} ({remedy}):\n{diff}", path.display()));
        }
    }

    fn golden_path(&mut self, name: &str) -> PathBuf {
        let version = self.version();
        let (columns, lines) = self.size();
        let stem = repository().join("tests/golden").join(format!("{name}.{columns}x{lines}"));
        let own = format!("{}.nvim-{}.txt", stem.display(), version);
        let own = PathBuf::from(own);
        if own.exists() { own } else { PathBuf::from(format!("{}.txt", stem.display())) }
    }

    /// Neovim's version, as in `0.11`.
    fn version(&mut self) -> String {
        let code = "local v = vim.version() return v.major .. '.' .. v.minor";
        self.lua(code, json!([])).as_str().unwrap_or_default().to_owned()
    }

    /// The screen once it has stayed the same for a while: only for writing golden files, by hand.
    fn settled_screen(&mut self) -> Screen {
        let changes = |nvim: &Self, before: &Screen| {
            poll_for(Duration::from_millis(700), || {
                (nvim.screen().golden() != before.golden()).then_some(())
            })
        };
        let mut screen = self.screen();
        while changes(self, &screen).is_some() {
            screen = self.screen();
        }
        screen
    }
}

fn masked(screen: &Screen, replace: &[(&str, &str)]) -> String {
    let mut text = screen.golden();
    for (unstable, name) in replace {
        let width = unstable.chars().count();
        let name: String = name.chars().chain(std::iter::repeat('.')).take(width).collect();
        text = text.replace(unstable, &name);
    }
    text
}
