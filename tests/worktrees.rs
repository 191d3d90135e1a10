//! Sessions in git worktrees of their own, and their changes brought into the project, in real Neovim.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::{Chat, ChatBuilder, Nvim, Options};
use crate::undo::{Tree, answer, git, in_project_builder, poll_kept, ravage, tree};
use serde_json::json;

fn commit(nvim: &mut Nvim) {
    let project = nvim.cwd().to_owned();
    git(&project, &["init", "-q", "."]);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "-q", "--allow-empty", "-m", "the first commit"]);
}

pub(crate) fn start() -> Chat {
    started(in_project_builder())
}

fn started(builder: ChatBuilder) -> Chat {
    builder.start_by("RatStart! fake worktree", commit)
}

/// The worktrees of the project.
fn worktrees(nvim: &mut Nvim) -> Vec<PathBuf> {
    let code = "return vim.iter(require('rat.config.worktrees').list(vim.fn.getcwd()))
        :map(function(worktree) return worktree.cwd end):totable()";
    let found = nvim.lua(code, json!([]));
    found.as_array().into_iter().flatten().filter_map(|it| it.as_str().map(Into::into)).collect()
}

pub(crate) fn worktree(chat: &mut Chat) -> PathBuf {
    worktrees(&mut chat.nvim).remove(0)
}

/// Has the agent change its worktree by a command.
pub(crate) fn change(chat: &mut Chat, command: impl FnOnce(&Path)) {
    let root = worktree(chat);
    chat.prompt("change it");
    chat.tool_call(json!({"toolCallId": "c1", "title": "sed", "kind": "execute",
        "status": "in_progress"}));
    command(&root);
    chat.tool_call_update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
        "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(chat);
}

pub(crate) fn write(root: &Path, name: &str, text: &str) {
    fs::write(root.join(name), text).unwrap();
}

pub(crate) fn read(chat: &Chat, name: &str) -> String {
    fs::read_to_string(chat.path(name)).unwrap()
}

pub(crate) fn merge(chat: &mut Chat, question: &str, message: &str) {
    merge_by(chat, "RatWorktree merge", question, message);
}

fn merge_by(chat: &mut Chat, command: &str, question: &str, message: &str) {
    chat.nvim.command(command);
    chat.nvim.poll_screen(question);
    let count = |nvim: &mut Nvim| nvim.messages().matches(message).count();
    let before = count(&mut chat.nvim);
    chat.nvim.input("1<CR>");
    chat.nvim.poll(message, |nvim| count(nvim) > before);
}

/// What a merge says it would do. Its question is open again afterwards.
fn preview(chat: &mut Chat, question: &str) -> String {
    chat.nvim.command("RatWorktree merge");
    chat.nvim.poll_screen(question);
    chat.nvim.input("2<CR>");
    chat.nvim.poll_screen("Merging project-1 would change");
    let page = chat.nvim.buffer_lines("rat://fake/1/preview").join("\n");
    chat.nvim.input("q");
    chat.nvim.poll_screen(question);
    page
}

/// The paths that two trees do not agree on.
fn differences(one: &Tree, other: &Tree) -> Vec<String> {
    let differs = |path: &&String| one.get(*path) != other.get(*path);
    let mut all: Vec<String> = one.keys().chain(other.keys()).filter(differs).cloned().collect();
    all.dedup();
    all
}

fn told(chat: &mut Chat, command: &str, message: &str) {
    chat.nvim.command(command);
    chat.nvim.poll(message, |nvim| nvim.messages().contains(message));
}

/// Everything in a folder but what is git's.
fn files(root: &Path) -> Tree {
    let mut all = tree(root);
    all.retain(|path, _| path != ".git" && !path.starts_with(".git/"));
    all
}

/// Holds (Several chats): A session in a worktree works there, and the user's files stay as they are, whatever it does.
#[test]
fn a_session_works_in_a_worktree_of_its_own() {
    let builder = in_project_builder();
    let mut chat = builder.start_by("RatStart! fake worktree", |nvim| {
        commit(nvim);
        nvim.file("open.txt", "not committed\n");
        nvim.file("new.txt", "not committed either\n");
    });
    let told = "at [0-9a-f]+ the first commit%. Your uncommitted changes in 2 files are not in it";
    chat.nvim.poll("what is not in it", |nvim| {
        let code = "return (...):gsub('%s+', ' '):find((select(2, ...))) ~= nil";
        let messages = nvim.messages();
        nvim.lua(code, json!([messages, told.replace("[0-9a-f]", "%x")])) == json!(true)
    });
    let before = tree(chat.nvim.cwd());
    let root = worktree(&mut chat);
    assert_eq!(fs::read_to_string(root.join("open.txt")).unwrap(), "one\ntwo\nthree\n");
    assert!(!root.starts_with(chat.nvim.cwd()));
    change(&mut chat, ravage);
    assert_eq!(tree(chat.nvim.cwd()), before);
    chat.nvim.command("RatInfo");
    chat.nvim.poll_screen("worktree of");
}

/// Holds (Several chats): Merging a worktree gives the project every file as it is there, pending; undoing that gives everything back, byte for byte.
#[test]
fn a_merge_brings_everything_and_is_undone_as_one_turn() {
    let mut chat = start();
    let before = files(chat.nvim.cwd());
    change(&mut chat, |root| {
        ravage(root);
        // Git does not know it.
        fs::remove_dir(root.join("new/empty")).unwrap();
    });
    let wanted = files(&worktree(&mut chat));
    assert_ne!(wanted, before);
    merge(&mut chat, "Merge project-1?", "Merged");
    assert_eq!(differences(&files(chat.nvim.cwd()), &wanted), [] as [String; 0]);
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review ·");
    let review = chat.nvim.poll_for("the review", |nvim| {
        Some(nvim.buffer_lines("rat://review")).filter(|lines| lines.len() > 30)
    });
    let of = |name: &str| review.iter().filter(|line| line.starts_with(name)).count();
    assert_eq!((of("src/3.txt"), of("open.txt"), of("binary")), (1, 1, 1), "{review:#?}");
    let foreign = review.iter().filter(|line| line.contains("project-1")).count();
    assert_eq!(foreign, 0, "what is merged is still pending in the worktree: {review:#?}");
    chat.nvim.input("q");
    told(&mut chat, "RatWorktree merge", "Nothing new to merge from project-1.");
    answer(&mut chat, "RatUndo", "Undo \"Merge of project-1\"?", "Undid the turn");
    assert_eq!(differences(&files(chat.nvim.cwd()), &before), [] as [String; 0]);
    merge_by(&mut chat, "RatWorktree! merge", "Merge project-1?", "Merged");
    assert_eq!(differences(&files(chat.nvim.cwd()), &wanted), [] as [String; 0]);
}

/// Holds (Several chats): A merge into a buffer keeps what the user has typed, unsaved, and is one undo step.
#[test]
fn a_merge_keeps_what_the_user_has_typed() {
    let mut chat = started(in_project_builder().file("long.txt", "1\n2\n3\n4\n5\n6\n7\n8\n"));
    change(&mut chat, |root| write(root, "long.txt", "1\n2\n3\n4\n5\n6\n7\nEIGHT\n"));
    let path = chat.path("long.txt");
    chat.nvim.command("wincmd p | edit long.txt");
    chat.nvim.input("ityped <Esc>");
    merge(&mut chat, "Merge project-1? 1 file", "long.txt is not saved");
    let name = path.to_str().unwrap().to_owned();
    let lines = |nvim: &mut Nvim| nvim.buffer_lines(&name);
    let merged = lines(&mut chat.nvim);
    assert_eq!((merged[0].as_str(), merged[7].as_str()), ("typed 1", "EIGHT"));
    assert_eq!(read(&chat, "long.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n");
    chat.nvim.enter(&name);
    chat.nvim.command("undo");
    let undone = lines(&mut chat.nvim);
    assert_eq!((undone[0].as_str(), undone[7].as_str()), ("typed 1", "8"));
}

/// Holds (Several chats): What a worktree and the user have both changed is left as the user has it, named with the reason, and merged later.
#[test]
fn what_cannot_be_merged_is_named() {
    let mut chat = start();
    change(&mut chat, |root| {
        write(root, "open.txt", "one\nAGENT\nthree\n");
        write(root, "src/1.txt", "agent\n");
        fs::remove_file(root.join("src/2.txt")).unwrap();
        write(root, "added.txt", "by the agent\n");
        write(root, "src/3.txt", "one\ntwo 3\nthree\nfour\n");
    });
    let project = chat.nvim.cwd().to_owned();
    write(&project, "open.txt", "one\nUSER\nthree\n");
    fs::remove_file(project.join("src/1.txt")).unwrap();
    write(&project, "src/2.txt", "changed by the user\n");
    write(&project, "added.txt", "by the user\n");
    write(&project, "src/3.txt", "zero\none\ntwo 3\nthree\n");
    let page = preview(&mut chat, "Merge project-1? 1 file; 4 left alone");
    for line in [
        "open.txt: leave as it is: the same lines have changed here",
        "src/1.txt: leave as it is: it was deleted here",
        "src/2.txt: leave as it is: it has changed here, and the agent has deleted it",
        "added.txt: leave as it is: it has changed here, too",
        "src/3.txt: merge; later changes stay",
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
    chat.nvim.input("1<CR>");
    for part in ["added.txt as", "open.txt as it", "src/1.txt as it", "file more"] {
        chat.nvim.poll_screen(part);
    }
    assert_eq!(read(&chat, "src/3.txt"), "zero\none\ntwo 3\nthree\nfour\n");
    assert_eq!(read(&chat, "open.txt"), "one\nUSER\nthree\n");
    assert_eq!(read(&chat, "added.txt"), "by the user\n");
    assert_eq!(read(&chat, "src/2.txt"), "changed by the user\n");
    // The user decides for the agent's lines.
    write(&project, "open.txt", "one\nAGENT\nthree\n");
    told(&mut chat, "RatWorktree merge", "Merged nothing from project-1; left");
    write(&project, "added.txt", "by the agent\n");
    fs::remove_file(project.join("src/2.txt")).unwrap();
    write(&project, "src/1.txt", "one\ntwo 1\nthree\n");
    merge(&mut chat, "Merge project-1? 1 file", "Merged 1 file");
    assert_eq!(read(&chat, "src/1.txt"), "agent\n");
    told(&mut chat, "RatWorktree merge", "Nothing new to merge from project-1.");
}

/// Holds (Several chats): What the user has rejected of a merge does not come back with the next one.
#[test]
fn the_next_merge_brings_only_what_is_new() {
    let mut chat = start();
    change(&mut chat, |root| write(root, "src/1.txt", "one\nTWO\nthree\n"));
    chat.nvim.command("wincmd p | edit src/1.txt");
    merge(&mut chat, "Merge project-1?", "Merged 1 file");
    chat.nvim.command("RatReject all");
    chat.nvim.poll("rejected", |nvim| {
        fs::read_to_string(nvim.cwd().join("src/1.txt")).unwrap() == "one\ntwo 1\nthree\n"
    });
    change(&mut chat, |root| write(root, "src/2.txt", "one\nTWO\nthree\n"));
    merge(&mut chat, "Merge project-1? 1 file", "Merged 1 file");
    assert_eq!(read(&chat, "src/1.txt"), "one\ntwo 1\nthree\n");
    assert_eq!(read(&chat, "src/2.txt"), "one\nTWO\nthree\n");
}

/// Holds (Several chats): A file keeps its permissions when a worktree is merged, unless the agent has made it a program.
#[test]
fn permissions_stay() {
    let mut chat = start();
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    change(&mut chat, |root| {
        write(root, "src/1.txt", "secret\n");
        set(&root.join("src/2.txt"), 0o755);
        write(root, "src/3.txt", "a program\n");
        set(&root.join("src/3.txt"), 0o755);
    });
    set(&chat.path("src/1.txt"), 0o600);
    set(&chat.path("src/2.txt"), 0o640);
    // One that is open gets both, too.
    chat.nvim.command("wincmd p | edit src/3.txt");
    merge(&mut chat, "Merge project-1? 3 files", "Merged 3 files");
    let mode = |name| fs::metadata(chat.path(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("src/1.txt"), mode("src/2.txt")), (0o600, 0o750));
    assert_eq!(read(&chat, "src/1.txt"), "secret\n");
    assert_eq!((read(&chat, "src/3.txt").as_str(), mode("src/3.txt")), ("a program\n", 0o755));
    answer(
        &mut chat,
        "RatUndo",
        "Undo \"Merge of project-1\"? 3 files",
        "Undid the turn in 3 files",
    );
    let mode = |name| fs::metadata(chat.path(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("src/2.txt"), mode("src/3.txt")), (0o640, 0o644));
    assert_eq!(read(&chat, "src/3.txt"), "one\ntwo 3\nthree\n");
}

/// Holds (Several chats): Removing a worktree closes its chats and asks first if something in it is not merged.
#[test]
fn a_worktree_is_removed_with_its_chat() {
    let mut chat = start();
    let root = worktree(&mut chat);
    change(&mut chat, |root| write(root, "src/1.txt", "not merged\n"));
    chat.nvim.command("RatWorktree remove");
    chat.nvim.poll_screen("Remove project-1? 1 changed file differs from");
    chat.nvim.input("2<CR>");
    chat.nvim.poll_no("Remove project-1?");
    assert!(root.exists());
    answer(&mut chat, "RatWorktree remove", "Remove project-1?", "Removed the worktree project-1");
    assert!(!root.exists());
    assert_eq!(worktrees(&mut chat.nvim), [] as [PathBuf; 0]);
    let known = git(chat.nvim.cwd(), &["worktree", "list", "--porcelain"]).unwrap();
    assert!(!known.contains("project-1"), "{known}");
    let beside: Vec<_> = fs::read_dir(root.parent().unwrap()).unwrap().collect();
    assert!(beside.is_empty(), "{beside:?}");
    chat.nvim.poll("no chat", |nvim| nvim.eval("#require('rat.chat.registry').all()") == json!(0));
}

/// Holds (Several chats): What was merged and taken back is asked about before its worktree is removed, what is in the project is not.
#[test]
fn a_merge_that_was_undone_does_not_count_as_merged() {
    let mut chat = start();
    let root = worktree(&mut chat);
    change(&mut chat, |root| write(root, "src/1.txt", "only here\n"));
    merge(&mut chat, "Merge project-1? 1 file", "Merged 1 file");
    answer(&mut chat, "RatUndo", "Undo \"Merge of project-1\"? 1 file", "Undid the turn");
    chat.nvim.command("RatWorktree remove");
    chat.nvim.poll_screen("Remove project-1? 1 changed file differs from");
    chat.nvim.input("2<CR>");
    chat.nvim.poll_no("Remove project-1?");
    merge_by(&mut chat, "RatWorktree! merge", "Merge project-1? 1 file", "Merged 1 file");
    told(&mut chat, "RatWorktree remove", "Removed the worktree project-1");
    assert!(!root.exists());
    assert_eq!(read(&chat, "src/1.txt"), "only here\n");
}

/// Holds (Several chats): The only worktree chat of the folder is merged also from beside another chat.
#[test]
fn the_worktree_of_the_folder_is_meant() {
    let mut chat = start();
    change(&mut chat, |root| write(root, "src/1.txt", "changed\n"));
    chat.nvim.command("RatToggle");
    let mut other = chat.nvim.listen();
    chat.nvim.lua("require('rat').setup({ agents = { other = ... } })", json!([other.config()]));
    chat.nvim.command("RatStart other");
    other.expect_start();
    other.handshake();
    chat.nvim.poll_state("ready");
    merge(&mut chat, "Merge project-1? 1 file", "Merged 1 file");
    assert_eq!(read(&chat, "src/1.txt"), "changed\n");
}

/// Holds (Several chats): A session in a worktree is resumed, and merged, in a later Neovim.
#[test]
fn a_worktree_is_resumed_in_a_later_neovim() {
    let can_resume = json!({"agentCapabilities": {"sessionCapabilities": {"resume": {}}}});
    let mut chat = started(in_project_builder().initialized(can_resume.clone()));
    change(&mut chat, |root| write(root, "src/1.txt", "changed\n"));
    let root = worktree(&mut chat);
    chat.nvim.quit();
    let builder = Chat::builder().neovim(chat.nvim.beside(Options::wide()));
    let (mut nvim, mut agent) = builder.configure();
    nvim.command("RatWorktree");
    nvim.poll_screen("project-1 · fake");
    nvim.input("1<CR>");
    agent.expect_start();
    agent.initialize(can_resume);
    let resume = agent.expect_request("session/resume");
    assert_eq!(resume.params["cwd"], json!(root));
    agent.reply(&resume, json!({}));
    nvim.poll_state("ready");
    nvim.command("RatWorktree merge");
    nvim.poll_screen("Merge project-1? 1 file");
    nvim.input("1<CR>");
    nvim.poll("merged", |nvim| nvim.messages().contains("Merged 1 file"));
    assert_eq!(fs::read_to_string(nvim.cwd().join("src/1.txt")).unwrap(), "changed\n");
}

/// Holds (Several chats): Without a repository or a commit no worktree is created, and the user is told why in one line.
#[test]
fn what_has_no_commit_gets_no_worktree() {
    let (mut nvim, _agent) = Chat::builder().configure();
    let told = |nvim: &mut Nvim, command: &str, message: &str| {
        nvim.command(command);
        nvim.poll(message, |nvim| nvim.messages().contains(message));
    };
    nvim.command("cd ..");
    told(&mut nvim, "RatStart! fake worktree", "Could not create a worktree: not a git repository");
    let folder = nvim.eval("vim.fn.getcwd()");
    git(Path::new(folder.as_str().unwrap()), &["init", "-q", "."]);
    told(&mut nvim, "RatStart fake worktree", "the repository has no commit yet");
    assert!(worktrees(&mut nvim).is_empty());
    told(&mut nvim, "RatWorktree", "This folder has no worktrees.");
    told(&mut nvim, "RatWorktree merge", "No agent is running.");
    told(&mut nvim, "RatWorktree jump", ":RatWorktree takes merge or remove, not \"jump\"");
    told(&mut nvim, "RatStart nobody worktree", "No agent is named \"nobody\"");
}

/// Holds (Several chats): A chat without a worktree has nothing to merge or remove, and one in a turn is not merged.
#[test]
fn only_an_idle_chat_in_a_worktree_is_merged() {
    let mut chat = Chat::start();
    for act in ["merge", "remove"] {
        told(&mut chat, &format!("RatWorktree {act}"), "is not in a worktree.");
    }
    let mut chat = start();
    chat.prompt("go");
    chat.nvim.poll_state("running");
    told(&mut chat, "RatWorktree merge", "merged only while no turn is running");
    told(&mut chat, "RatWorktree remove", "removed only while no turn is running");
    assert!(worktree(&mut chat).exists());
}

/// Holds (Several chats): A folder below the top of a repository gets its own place in the worktree; what changed elsewhere is counted and stays there.
#[test]
fn a_folder_below_the_top_is_merged_alone() {
    let mut chat = in_project_builder().start_by("RatStart! fake worktree", |nvim| {
        commit(nvim);
        nvim.command("cd src");
    });
    let root = worktree(&mut chat);
    assert!(root.ends_with("project-1/src"), "{root:?}");
    change(&mut chat, |root| {
        write(root, "1.txt", "changed\n");
        write(root, "../open.txt", "changed\n");
    });
    merge(&mut chat, "Merge project-1? 1 file, without 1 file", "Merged 1 file");
    assert_eq!(read(&chat, "src/1.txt"), "changed\n");
    assert_eq!(read(&chat, "open.txt"), "one\ntwo\nthree\n");
}

/// Holds (Several chats): Merging runs nothing that the agent has put into its worktree, also if it has made it a repository of its own.
#[test]
fn what_an_agent_puts_into_its_worktree_does_not_run() {
    let mut chat = start();
    let proof = chat.path("proof");
    let program = format!("touch {}", proof.display());
    change(&mut chat, |root| {
        write(root, "src/1.txt", "changed\n");
        fs::remove_file(root.join(".git")).unwrap();
        git(root, &["init", "-q", "."]);
        for key in ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge"] {
            git(root, &["config", key, &program]);
        }
        write(root, ".gitattributes", "* filter=evil\n");
    });
    merge(&mut chat, "Merge project-1? 2 files", "Merged 2 files");
    assert_eq!(read(&chat, "src/1.txt"), "changed\n");
    assert!(!proof.exists());
}

/// Holds (Several chats): A merge keeps line ends and filters as the repository wants them, takes any name, and names what it cannot take.
#[test]
fn odd_files_are_merged_or_named() {
    let builder = in_project_builder().file(".gitattributes", "*.bat text eol=crlf\n");
    let mut chat = started(builder.file("run.bat", "one\r\ntwo\r\n"));
    change(&mut chat, |root| {
        write(root, "run.bat", "one\r\nTWO\r\n");
        write(root, "two\nlines", "a name of two lines\n");
        write(root, "é \"quoted\"", "a name to be quoted\n");
        fs::create_dir(root.join("inner")).unwrap();
        git(&root.join("inner"), &["init", "-q", "."]);
        git(&root.join("inner"), &["commit", "-q", "--allow-empty", "-m", "inner"]);
        fs::write(root.join("large.bin"), vec![0; 9 << 20]).unwrap();
    });
    let page = preview(&mut chat, "Merge project-1? 3 files; 2 left alone");
    for line in [
        "inner: leave as it is: it is a repository of its own",
        "large.bin: leave as it is: it is too large",
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
    chat.nvim.input("1<CR>");
    chat.nvim.poll_screen("Merged 3 files into project");
    assert_eq!(read(&chat, "run.bat"), "one\r\nTWO\r\n");
    assert_eq!(read(&chat, "two\nlines"), "a name of two lines\n");
    assert_eq!(read(&chat, "é \"quoted\""), "a name to be quoted\n");
    assert!(!chat.path("large.bin").exists() && !chat.path("inner").exists());
}
