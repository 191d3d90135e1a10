//! `build.lua`, the plugin managers' build step, where there is no release to take: what it builds with, what it
//! refuses, and what it says. `release.rs` has the rest.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{TempFolder, repository};

#[test]
fn without_cargo_it_says_what_to_install() {
    let place = Place::new();
    place.refused("cargo is not on PATH: install Rust 1.88");
}

#[test]
fn an_old_compiler_is_named() {
    let place = Place::new();
    place.script("cargo", "exit 1");
    place.script("rustc", "echo 'rustc 1.70.0 (abc)'");
    place.refused("Rust 1.70.0 is too old: install Rust 1.88");
}

#[test]
fn cargo_builds_where_there_is_no_release() {
    let place = Place::new();
    place.with_cargo();
    assert!(place.built().contains("no release is used: this is no clone of a release"));

    place.script("cargo", "echo 'error: no space left' >&2; exit 101");
    place.refused("error: no space left");
}

/// Holds (Installation): The tags of the help are generated on installation.
#[test]
fn the_tags_of_the_help_are_made() {
    let place = Place::new();
    place.with_cargo();
    let help = place.plugin().join("doc/rat.txt");
    std::fs::create_dir(help.parent().unwrap()).unwrap();
    std::fs::write(&help, "*rat-made-up*  A made-up help.\n").unwrap();
    place.built();
    let tags = std::fs::read_to_string(help.with_file_name("tags")).unwrap();
    assert!(tags.contains("rat-made-up\trat.txt"), "{tags}");
}

/// A copy of what the build step needs of the plugin, and the programs it may find.
pub(crate) struct Place {
    folder: TempFolder,
    env: Vec<(String, String)>,
    script: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempFolder::new();
        folder.folder("bin");
        let script = folder.path().join("the plugin%/build.lua");
        let place = Self { folder, env: Vec::new(), script };
        for name in ["build.lua", "Cargo.toml"] {
            let text = std::fs::read(repository().join(name)).unwrap();
            place.folder.file(&format!("the plugin%/{name}"), text);
        }
        place
    }

    /// The folder that all of it is in.
    pub(crate) fn folder(&self) -> &TempFolder {
        &self.folder
    }

    /// The folder of the plugin: a name that would be taken apart by who does not quote it.
    pub(crate) fn plugin(&self) -> PathBuf {
        self.folder.path().join("the plugin%")
    }

    /// What the build step is to leave behind.
    pub(crate) fn binary(&self) -> PathBuf {
        self.plugin().join("target/release/rat-nvim")
    }

    /// From now on a plugin manager runs it, in a coroutine, and does something else whenever that yields.
    pub(crate) fn by_manager(&mut self) {
        let text = format!(
            "local work = coroutine.create(assert(loadfile([[{}]])))\n\
             while coroutine.status(work) ~= 'dead' do\n\
               local ok, said = coroutine.resume(work)\n\
               if not ok then io.stderr:write(said, '\\n') os.exit(1) end\n\
               if said then io.stderr:write(said, '\\n') end\n\
               vim.wait(1)\n\
             end\n",
            self.script.display()
        );
        self.script = self.folder.file("manager.lua", text);
    }

    /// Takes a variable away again.
    pub(crate) fn unset(&mut self, variable: &str) {
        self.env.retain(|(name, _)| name != variable);
    }

    /// Forgets that cargo was asked for something.
    pub(crate) fn forget_cargo(&self) {
        let _ = std::fs::remove_file(self.asked_of_cargo());
    }

    /// Sets a variable for the build step.
    pub(crate) fn set(&mut self, variable: &str, value: impl AsRef<Path>) {
        let value = value.as_ref().to_str().unwrap().to_owned();
        self.env.push((variable.to_owned(), value));
    }

    /// A program that does what these lines of a shell do.
    pub(crate) fn script(&self, name: &str, lines: &str) {
        let path = self.folder.file(&format!("bin/{name}"), format!("#!/bin/sh\n{lines}\n"));
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// A program of the machine.
    pub(crate) fn real(&self, name: &str) {
        let path = std::env::var("PATH").unwrap();
        self.script(name, &format!("PATH='{path}' exec {name} \"$@\""));
    }

    /// A compiler that is new enough, and a cargo that says what it was asked for.
    pub(crate) fn with_cargo(&self) {
        self.script("rustc", "echo 'rustc 1.88.0 (abc)'");
        let asked = self.asked_of_cargo();
        self.script("cargo", &format!(r#"echo "in $PWD: $*" >'{}'"#, asked.display()));
    }

    /// Runs the build step, which succeeds with cargo; gives what it said.
    pub(crate) fn built(&self) -> String {
        let said = self.succeeds();
        let plugin = self.plugin();
        let wanted =
            format!("in {0}: build --release --locked --target-dir {0}/target\n", plugin.display());
        assert_eq!(std::fs::read_to_string(self.asked_of_cargo()).unwrap(), wanted, "{said}");
        assert!(said.contains("rat.nvim: built "), "{said}");
        said
    }

    /// Runs the build step, which succeeds without cargo; gives what it said.
    pub(crate) fn installed(&self) -> String {
        let said = self.succeeds();
        assert!(said.contains("rat.nvim: installed "), "{said}");
        assert!(!self.asked_of_cargo().exists(), "{said}");
        said
    }

    /// Runs the build step, which fails and says why in one line; nothing is left of what it has tried.
    pub(crate) fn refused(&self, why: &str) {
        let before = std::fs::read(self.binary()).ok();
        let output = self.run();
        let said = stderr(&output);
        assert!(!output.status.success(), "{said}");
        let told = said.lines().filter(|line| line.contains(why)).count();
        assert!(told == 1 && !said.contains("traceback"), "{said}");
        assert_eq!(std::fs::read(self.binary()).ok(), before, "{said}");
        self.nothing_is_left();
    }

    fn asked_of_cargo(&self) -> PathBuf {
        self.folder.path().join("asked of cargo")
    }

    fn succeeds(&self) -> String {
        let output = self.run();
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        self.nothing_is_left();
        said
    }

    /// There is no file in the plugin but those it came with, the binary and the tags.
    fn nothing_is_left(&self) {
        let known =
            ["build.lua", "Cargo.toml", "target/release/rat-nvim", "doc/rat.txt", "doc/tags"];
        for path in files(&self.plugin()) {
            let name = path.strip_prefix(self.plugin()).unwrap();
            let is_known = known.iter().any(|known| name == Path::new(known));
            assert!(is_known || name.starts_with(".git"), "{} is left", name.display());
        }
    }

    /// Runs it with nothing on PATH but the programs of this place.
    fn run(&self) -> Output {
        let nvim = std::env::var("NVIM_BIN").unwrap_or_else(|_| "nvim".to_owned());
        let mut command = Command::new(nvim);
        command.args(["--clean", "-l"]).arg(&self.script);
        command.env("PATH", self.folder.folder("bin")).env("HOME", self.folder.folder("home"));
        command.env_remove("RAT_RELEASE").envs(self.env.iter().cloned()).output().unwrap()
    }
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(
            |entry| if entry.path().is_dir() { files(&entry.path()) } else { vec![entry.path()] },
        )
        .collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
