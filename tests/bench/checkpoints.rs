//! How fast checkpoints are, beside `git status` on the same files.

use super::{TIMES, median};
use rat_nvim::host::checkpoints::Checkpoints;
use rat_nvim::host::checkpoints::entry::FileChange;
use rat_nvim::host::checkpoints::limits::Limits;
use rat_nvim::host::checkpoints::restore::Restore;
use rat_nvim::host::checkpoints::turns::TurnAbout;
use rat_nvim::secrets::Secrets;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// How many files are in one folder, and how many folders in one above them.
const FILES: usize = 12;
const FOLDERS: usize = 20;

/// A project in git with a store beside it, removed in the end.
struct Project {
    folder: PathBuf,
    count: usize,
}

impl Project {
    fn new(count: usize) -> Self {
        let name = format!("rat-bench-{count}-{}", std::process::id());
        let folder = std::env::temp_dir().canonicalize().unwrap().join(name);
        let project = Self { folder, count };
        let mut random = 1;
        for number in 0..count {
            let path = project.file(number);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text(&mut random)).unwrap();
        }
        fs::write(project.root().join(".gitignore"), "target/\n*.log\nnode_modules\n").unwrap();
        for arguments in [["init", "-q"].as_slice(), &["add", "-A"], &["commit", "-qm", "one"]] {
            project.git(arguments);
        }
        // Everything is on the disk, and nothing was changed a moment ago.
        File::open(project.root()).unwrap().sync_all().unwrap();
        project
    }

    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    fn file(&self, number: usize) -> PathBuf {
        let folder = number / FILES;
        let (above, folder) = (folder / FOLDERS, folder % FOLDERS);
        self.root().join(format!("part{above}/module{folder}/file{number}.rs"))
    }

    fn git(&self, arguments: &[&str]) -> Duration {
        let mut git = Command::new("git");
        git.current_dir(self.root()).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        git.args(["-c", "gc.auto=0", "-c", "core.fsmonitor=false"]).args(arguments);
        let since = Instant::now();
        assert!(git.output().unwrap().status.success());
        since.elapsed()
    }

    fn status(&self) -> Duration {
        self.git(&["status", "--porcelain"])
    }

    fn open(&self, store: &str) -> Checkpoints {
        let store = self.folder.join(store);
        // A hundred thousand files of this length are more than would be kept.
        let limits = Limits { total: 1 << 30, ..Limits::default() };
        Checkpoints::open(Some(store), Secrets::default(), limits)
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).unwrap();
    }
}

/// Something like source code, of a plausible length: 6.7 KB on average.
fn text(random: &mut u64) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "let", "fn", "pub", "value", "self.", "index", "return", "match", "()", "{\n", "}\n",
        ";\n", "String", "&str", "=", "Option<",
    ];
    let mut next = || {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(*random >> 33).unwrap()
    };
    let length = 400 + next() % 4000 + if next().is_multiple_of(6) { next() % 48_000 } else { 0 };
    let mut text = Vec::with_capacity(length + 20);
    while text.len() < length {
        match next() % 5 {
            0 => write!(text, "{:x} ", next() % 100_000).unwrap(),
            _ => write!(text, "{} ", WORDS[next() % WORDS.len()]).unwrap(),
        }
    }
    text
}

fn soon() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_secs(600)
}

/// The memory that the process uses and the most it has used, in megabytes; 0 where that is not known.
fn memory() -> [usize; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        number.unwrap_or_default() / 1024
    })
}

fn report(project: &Project, what: &str, times: Vec<Duration>, status: Vec<Duration>) {
    let (time, status) = (median(times), median(status));
    let (count, ratio) = (project.count, time / status);
    let line = format!(
        "{count:>7} files, {what:<24} {time:>7.0} ms, git status {status:>6.0} ms: {ratio:.2}"
    );
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
}

/// Waits until what checkpoints do behind a turn is done.
fn settle(runtime: &Runtime, checkpoints: &Checkpoints, root: &Path) {
    runtime.block_on(checkpoints.states(root.to_owned(), Vec::new())).unwrap();
}

fn measure(count: usize) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let project = Project::new(count);
    let root = project.root();
    let (mut times, mut status) = (Vec::new(), Vec::new());
    let [before, _] = memory();
    for number in 0..TIMES {
        status.push(project.status());
        let since = Instant::now();
        let checkpoints = project.open(&format!("store{number}"));
        let turn = runtime.block_on(checkpoints.begin(root.clone(), soon())).unwrap();
        times.push(since.elapsed());
        settle(&runtime, &checkpoints, &root);
        if number == 0 {
            let [after, most] = memory();
            let line = format!(
                "{count:>7} files: {before} MB before, {after} MB after, {most} MB at most"
            );
            let mut out = std::io::stdout().lock();
            writeln!(out, "{line}").unwrap();
        }
        drop(turn);
    }
    report(&project, "first scan", times, status);

    let checkpoints = project.open("store0");
    let since = Instant::now();
    let turn = runtime.block_on(checkpoints.begin(root.clone(), soon())).unwrap();
    report(&project, "after a restart", vec![since.elapsed()], vec![project.status()]);

    let (mut times, mut status) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        status.push(project.status());
        let since = Instant::now();
        assert!(runtime.block_on(checkpoints.look(&turn)).unwrap().is_empty());
        times.push(since.elapsed());
    }
    report(&project, "unchanged", times, status);

    let (mut times, mut status) = (Vec::new(), Vec::new());
    for round in 0..TIMES {
        let mut random = 1000 + round as u64;
        for number in (0..count).step_by(count / 2000) {
            fs::write(project.file(number), text(&mut random)).unwrap();
        }
        let since = Instant::now();
        assert!(runtime.block_on(checkpoints.look(&turn)).unwrap().len() >= 2000);
        times.push(since.elapsed());
        status.push(project.status());
    }
    report(&project, "2000 changed", times, status);
    measure_restore(&runtime, &project, &checkpoints);
}

/// Takes back a turn that has changed 500 files.
fn measure_restore(runtime: &Runtime, project: &Project, checkpoints: &Checkpoints) {
    let root = project.root();
    let (mut times, mut status) = (Vec::new(), Vec::new());
    for round in 0..TIMES {
        let turn = runtime.block_on(checkpoints.begin(root.clone(), soon())).unwrap();
        let mut random = 5000 + round as u64;
        for number in (0..project.count).step_by(project.count / 500) {
            fs::write(project.file(number), text(&mut random)).unwrap();
        }
        let (about, all) = (TurnAbout::default(), Box::new(|_: &mut FileChange| true));
        let turn = runtime.block_on(checkpoints.end(turn, about, all)).unwrap().unwrap();
        let files = turn.changes.into_iter().map(|change| Restore {
            path: change.path,
            expected: change.after,
            target: change.before,
            bytes: None,
        });
        let files: Vec<Restore> = files.collect();
        settle(runtime, checkpoints, &root);
        let since = Instant::now();
        let restored = runtime.block_on(checkpoints.restore(root.clone(), files)).unwrap();
        times.push(since.elapsed());
        assert!(restored.done.len() >= 500 && restored.left.is_empty());
        status.push(project.status());
    }
    report(project, "500 taken back", times, status);
}

#[test]
fn of_twenty_thousand_files() {
    measure(20_000);
}

#[test]
fn of_a_hundred_thousand_files() {
    measure(100_000);
}
