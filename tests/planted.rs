//! What an agent has planted in the user's repository, and whether any of it runs where we use git.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::{Chat, Nvim};
use crate::undo::{answer, git, in_project_builder, poll_kept};
use serde_json::{Value as Json, json};

/// The hooks that git may run for what we do.
const HOOKS: &[&str] = &[
    "post-checkout",
    "post-index-change",
    "pre-commit",
    "reference-transaction",
    "fsmonitor-watchman",
];

fn commit(root: &Path) {
    git(root, &["init", "-q", "."]);
    git(root, &["add", "--all"]);
    git(root, &["commit", "-q", "--allow-empty", "-m", "the first commit"]);
}

fn worktrees(nvim: &mut Nvim) -> Vec<PathBuf> {
    let code = "return vim.iter(require('rat.config.worktrees').list(vim.fn.getcwd()))
        :map(function(worktree) return worktree.cwd end):totable()";
    let found = nvim.lua(code, json!([]));
    found.as_array().into_iter().flatten().filter_map(|it| it.as_str().map(Into::into)).collect()
}

/// A program that leaves a file in the folder of the proofs, named after what has started it.
fn program(proofs: &Path, name: &str) -> PathBuf {
    let path = proofs.with_file_name("programs").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\ntouch {}/{name}\ncat\n", proofs.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).unwrap_or_default();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, before + text).unwrap();
}

/// The keys of git's configuration that name a program, each with one that tells.
fn keys(proofs: &Path, from: &str) -> String {
    let value = |name: &str| program(proofs, &format!("{from}-{name}")).display().to_string();
    let mut text = String::new();
    for (section, key) in [
        ("core", "fsmonitor"),
        ("core", "pager"),
        ("core", "editor"),
        ("core", "sshCommand"),
        ("core", "alternateRefsCommand"),
        ("pager", "diff"),
        ("gpg", "program"),
        ("diff", "external"),
        ("diff \"evil\"", "command"),
        ("diff \"evil\"", "textconv"),
        ("merge \"evil\"", "driver"),
        (&format!("filter \"{from}\""), "clean"),
        (&format!("filter \"{from}\""), "smudge"),
        (&format!("filter \"{from}-process\""), "process"),
    ] {
        let name = format!("{}-{key}", section.replace([' ', '"'], ""));
        let _ = writeln!(text, "[{section}]\n\t{key} = {}", value(&name));
    }
    for name in ["diff", "status", "log", "rev-parse", "config", "worktree", "read-tree"] {
        let program = value(&format!("alias-{name}"));
        let _ = writeln!(text, "[alias]\n\t{name} = !{program}");
    }
    let hooks = proofs.with_file_name("hooks").join(from);
    for hook in HOOKS {
        let path = hooks.join(hook);
        fs::create_dir_all(&hooks).unwrap();
        fs::copy(program(proofs, &format!("{from}-hook-{hook}")), path).unwrap();
    }
    text.push_str("[log]\n\tshowSignature = true\n[submodule]\n\trecurse = true\n");
    text.push_str("[diff]\n\tsubmodule = diff\n[status]\n\tsubmoduleSummary = true\n");
    let _ = writeln!(text, "[core]\n\thooksPath = {}", hooks.display());
    text
}

/// Plants all of this in a repository: in its own configuration, by files that this includes, and in a submodule.
fn plant(project: &Path, proofs: &Path) {
    fs::create_dir_all(proofs).unwrap();
    let dot_git = project.join(".git");
    let included = proofs.with_file_name("included");
    fs::write(&included, keys(proofs, "included")).unwrap();
    let conditional = proofs.with_file_name("conditional");
    fs::write(&conditional, keys(proofs, "conditional")).unwrap();
    let own = keys(proofs, "own");
    let include = format!(
        "[extensions]\n\tworktreeConfig = true\n[include]\n\tpath = {}\n[includeIf \"gitdir:/\"]\n\tpath = {}\n",
        included.display(),
        conditional.display(),
    );
    append(&dot_git.join("config"), &(own + &include));
    append(&dot_git.join("config.worktree"), &keys(proofs, "worktree"));
    for hook in HOOKS {
        let path = dot_git.join("hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(program(proofs, &format!("plain-hook-{hook}")), path).unwrap();
    }
    let attributes = "* filter=own diff=evil merge=evil\nsrc/1.txt filter=included\n\
        src/2.txt filter=conditional\nsrc/3.txt filter=worktree\nsrc/4* filter=own-process\n";
    append(&dot_git.join("info/attributes"), attributes);
    let inner = project.join("inner");
    append(&inner.join("a.txt"), "inner\n");
    commit(&inner);
    append(&inner.join(".git/config"), &keys(proofs, "inner"));
    append(&inner.join(".git/info/attributes"), "* filter=inner diff=evil\n");
    append(&inner.join("a.txt"), "changed\n");
}

/// What has run.
fn proofs(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn change(chat: &mut Chat, command: impl FnOnce()) {
    chat.prompt("change it");
    command();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(chat);
}

fn mentioned(chat: &mut Chat, text: &str) -> Json {
    let prompt = chat.prompt(text).params;
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    prompt
}

/// Holds (Several chats): Creating, merging and removing a worktree runs nothing that an agent has put into the user's repository or into one inside of it: no hook, filter, alias or file that is included.
#[test]
fn what_is_planted_in_the_repository_does_not_run() {
    let mut chat =
        in_project_builder().start_by("RatStart! fake worktree", |nvim| commit(nvim.cwd()));
    let project = chat.nvim.cwd().to_owned();
    let folder = chat.nvim.folder().path().join("planted/proofs");
    let root = worktrees(&mut chat.nvim).remove(0);
    change(&mut chat, || {
        plant(&project, &folder);
        let inner = root.join("inner");
        append(&inner.join("a.txt"), "inner\n");
        commit(&inner);
        git(
            &root,
            &[
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
                "update-index",
                "--add",
                "--cacheinfo",
                &format!("160000,{},inner", git(&inner, &["rev-parse", "HEAD"]).unwrap().trim()),
            ],
        );
        append(&inner.join(".git/config"), &keys(&folder, "below"));
        append(&inner.join(".git/info/attributes"), "* filter=below diff=evil\n");
        append(&inner.join("a.txt"), "changed\n");
        append(&root.join(".gitattributes"), "* filter=own diff=evil\n");
        append(&root.join("src/1.txt"), "changed\n");
        append(&project.join("src/2.txt"), "changed\n");
        for proof in proofs(&folder) {
            fs::remove_file(folder.join(proof)).unwrap();
        }
    });
    answer(&mut chat, "RatWorktree merge", "Merge project-1?", "Merged 2 files");
    assert_eq!(proofs(&folder), [] as [String; 0], "merging");
    assert!(fs::read_to_string(project.join("src/1.txt")).unwrap().ends_with("changed\n"));
    append(&root.join("src/3.txt"), "changed\n");
    answer(&mut chat, "RatWorktree remove", "Remove project-1?", "Removed the worktree project-1");
    assert_eq!(proofs(&folder), [] as [String; 0], "removing");
    let mut agent = chat.nvim.listen();
    chat.nvim.lua("require('rat').setup({ agents = { fake = ... } })", json!([agent.config()]));
    chat.nvim.command("RatStart! fake worktree");
    agent.expect_start();
    assert_eq!(proofs(&folder), [] as [String; 0], "creating");
    let root = worktrees(&mut chat.nvim).remove(0);
    assert_eq!(fs::read_to_string(root.join("src/1.txt")).unwrap(), "one\ntwo 1\nthree\n");
    let known = fs::read_to_string(root.join(".git")).unwrap();
    let git_dir = project.canonicalize().unwrap().join(".git/worktrees/project-1");
    assert_eq!(known, format!("gitdir: {}\n", git_dir.display()));
    let back = fs::read_to_string(git_dir.join("gitdir")).unwrap();
    assert_eq!(back, format!("{}\n", root.canonicalize().unwrap().join(".git").display()));
}

/// Holds (Several chats): A merge uses the filters of the user's own configuration, and line ends as the repository wants them.
#[test]
fn filters_of_the_users_own_are_used() {
    let clean = "filter.upper.clean=tr A-Z a-z";
    let builder = in_project_builder()
        .file(".gitattributes", "* -text\nlines.txt text=auto\nloud.txt filter=upper\n")
        .file("loud.txt", "LOUD\n")
        .file("lines.txt", "one\r\ntwo\r\n");
    let mut chat = builder.start_by("RatStart! fake worktree", |nvim| {
        let own = "[filter \"upper\"]\n\tclean = tr A-Z a-z\n\tsmudge = tr a-z A-Z\n";
        fs::write(nvim.folder().path().join("home/.gitconfig"), own).unwrap();
        let root = nvim.cwd();
        git(root, &["init", "-q", "."]);
        git(root, &["config", "core.autocrlf", "true"]);
        git(root, &["-c", clean, "add", "--all"]);
        git(root, &["-c", clean, "commit", "-q", "-m", "the first commit"]);
    });
    let (project, root) = (chat.nvim.cwd().to_owned(), worktrees(&mut chat.nvim).remove(0));
    assert_eq!(git(&project, &["show", "HEAD:loud.txt"]).unwrap(), "loud\n");
    assert_eq!(fs::read_to_string(root.join("loud.txt")).unwrap(), "LOUD\n");
    assert_eq!(fs::read_to_string(root.join("lines.txt")).unwrap(), "one\r\ntwo\r\n");
    change(&mut chat, || {
        append(&root.join("loud.txt"), "MORE\n");
        append(&root.join("lines.txt"), "three\r\n");
        // The filters that files have are those of the commit.
        append(&root.join(".gitattributes"), "* filter=upper\n");
        append(&root.join("open.txt"), "four\n");
    });
    answer(&mut chat, "RatWorktree merge", "Merge project-1?", "Merged 4 files");
    let read = |name: &str| fs::read_to_string(project.join(name)).unwrap();
    assert_eq!(read("loud.txt"), "LOUD\nMORE\n");
    assert_eq!(read("lines.txt"), "one\r\ntwo\r\nthree\r\n");
    assert_eq!(read("open.txt"), "one\ntwo\nthree\nfour\n");
}

/// Holds (Prompt context): `@diff` runs nothing that an agent has put into the repository.
#[test]
fn a_mentioned_diff_runs_nothing_that_is_planted() {
    let mut chat = in_project_builder().start_by("RatStart fake", |nvim| commit(nvim.cwd()));
    let project = chat.nvim.cwd().to_owned();
    let folder = chat.nvim.folder().path().join("planted/proofs");
    plant(&project, &folder);
    append(&project.join("src/1.txt"), "changed\n");
    append(&project.join(".gitattributes"), "* filter=own diff=evil\n");
    for proof in proofs(&folder) {
        fs::remove_file(folder.join(proof)).unwrap();
    }
    let prompt = mentioned(&mut chat, "see @diff");
    assert_eq!(proofs(&folder), [] as [String; 0]);
    let text = prompt.to_string();
    assert!(text.contains("+changed"), "{text}");
}
