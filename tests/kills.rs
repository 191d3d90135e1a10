//! The agent, the binary or Neovim is killed at random moments of turns that write files: no file is torn, no line that was
//! saved is lost, and nothing is left behind. `RAT_SEED` chooses the moments and `RAT_KILLS` how many kills of each there are;
//! both go to stderr.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::{DEADLINE, Dice, Nvim, Options, Processes, files_below, poll_for, repository};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

/// How many kills there are of each kind.
const KILLS: usize = 30;

/// The latest moment of a kill, after the prompt was sent, in microseconds.
const LATEST: usize = 400_000;

/// The files that are written through the client, and the one the agent writes alone.
const FILES: [&str; 4] = ["alone.txt", "a.txt", "open.txt", "sub/b.txt"];

/// Of how many lines a text of the agent is, beside the first and the last.
const LINES: usize = 500;

/// Gives the text of the latest transcript: after the end of the binary, a session has another buffer.
const SHOWN: &str = r#"
    local latest = 0
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      local number = vim.api.nvim_buf_get_name(buf):match("^rat://mortal/(%d+)$")
      latest = math.max(latest, tonumber(number) or 0)
    end
    local buf = vim.fn.bufnr("rat://mortal/" .. latest)
    return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")"#;

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Agent,
    Binary,
    Neovim,
}

/// Neovim with an agent whose turns never end.
struct World {
    nvim: Nvim,
    pids: PathBuf,
    /// The number of the turn.
    turn: usize,
    /// Files that were caught while Neovim wrote them, and whose text was in Neovim's backup.
    in_backup: usize,
    /// Complete copies of files that were left.
    copies: usize,
    /// Kills after a round of the turn was saved.
    with_saved: usize,
}

impl World {
    fn new() -> Self {
        let nvim = Nvim::start(options());
        for name in FILES {
            nvim.file(name, "");
        }
        let pids = nvim.folder().path().join("pids");
        let mut world = Self { nvim, pids, turn: 0, in_backup: 0, copies: 0, with_saved: 0 };
        world.set_up();
        world
    }

    fn set_up(&mut self) {
        let agent = repository().join("tests/support/mortal_agent.py");
        let config = json!({
            "command": "python3", "args": ["-ES", agent, self.pids, self.nvim.cwd()],
            "reconnect": "prompt",
        });
        let settings = json!({"agents": {"mortal": config}, "notify": {"when": "never"}});
        self.nvim.setup(settings);
        self.nvim.command("edit open.txt");
        self.nvim.command("RatStart mortal");
        self.nvim.poll_state("ready");
    }

    /// The rounds of turns that are in the saved transcript.
    fn saved(&self) -> BTreeSet<String> {
        let files = files_below(&self.nvim.folder().path().join("state"));
        let saved = files.into_iter().find(|path| path.ends_with("mortal=mortal.jsonl"));
        rounds(&saved.map(|path| fs::read_to_string(path).unwrap()).unwrap_or_default())
    }

    /// Begins a turn and kills the victim at some moment of it. Gives the rounds that had been saved by then.
    fn kill(&mut self, victim: Victim, dice: &mut Dice) -> BTreeSet<String> {
        self.turn += 1;
        self.nvim.send(&self.turn.to_string());
        let wait = Duration::from_micros(dice.within(0..LATEST) as u64);
        let pid = match victim {
            Victim::Agent => poll_for(DEADLINE, || self.agent()).expect("an agent"),
            Victim::Binary => self.nvim.binary(),
            Victim::Neovim => self.nvim.pid(),
        };
        let began = Instant::now();
        let _ = poll_for(wait, || None::<()>);
        let saved = self.saved();
        let spin = Duration::from_micros(dice.within(0..5_000) as u64);
        while began.elapsed() < wait + spin {
            std::hint::spin_loop();
        }
        match victim {
            Victim::Neovim => self.nvim.kill(),
            _ => kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL).unwrap(),
        }
        let of_turn = format!("{}.", self.turn);
        self.with_saved += usize::from(saved.iter().any(|round| round.starts_with(&of_turn)));
        saved
    }

    /// The agent. What its predecessor has started may have noted its number late, and one that has just ended has no command.
    fn agent(&self) -> Option<u32> {
        let is_agent = |pid: &u32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).contains("mortal_agent")
        };
        self.pids().into_iter().find(is_agent)
    }

    /// The pids of the agent and what it has started, since [`World::expect_no_agents`].
    fn pids(&self) -> Vec<u32> {
        let pids = fs::read_to_string(&self.pids).unwrap_or_default();
        pids.lines().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Neither an agent nor what one has started lives.
    fn expect_no_agents(&self) {
        for pid in self.pids() {
            assert!(Processes::is_gone(pid), "{pid} lives");
        }
        // Others may get their numbers from now on.
        let _ = fs::remove_file(&self.pids);
    }

    /// Every file has one of the texts that it was given, and there are no others.
    fn expect_whole_files(&mut self, victim: Victim) {
        let root = self.nvim.cwd().to_owned();
        for name in FILES {
            let text = fs::read_to_string(root.join(name)).unwrap_or_default();
            if is_whole(&text) {
                continue;
            }
            // Source: `:help 'writebackup'`.
            let backup = root.join(format!("{name}~"));
            let is_kept = victim == Victim::Neovim
                && fs::read_to_string(&backup).is_ok_and(|text| is_whole(&text));
            assert!(is_kept, "turn {}: {name} is torn, {} bytes", self.turn, text.len());
            self.in_backup += 1;
            fs::rename(backup, root.join(name)).unwrap();
        }
        let names = files_below(&root)
            .into_iter()
            .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
        let others: Vec<_> = names.filter(|name| !FILES.contains(&name.as_str())).collect();
        for name in &others {
            let file = name.rsplit('/').next().unwrap();
            // Its backup, and a file by which it tries whether it may write here, such as 4913 (`src/nvim/bufwrite.c`).
            let is_probe = file.bytes().all(|byte| byte.is_ascii_digit());
            let is_neovims = victim == Victim::Neovim && (file.ends_with('~') || is_probe);
            // A replacement has a name for a moment before it takes the place of the file, and is complete then.
            let is_copy = file.starts_with(".rat-")
                && is_whole(&fs::read_to_string(root.join(name)).unwrap());
            self.copies += usize::from(is_copy);
            let is_known = name == "alone.txt.agents" || is_neovims || is_copy;
            assert!(is_known, "turn {}: {others:?} are left", self.turn);
            fs::remove_file(root.join(name)).unwrap();
        }
    }

    /// All that was saved is there when the session goes on.
    fn expect_saved(&mut self, saved: &BTreeSet<String>) {
        self.nvim.poll("what was saved", |nvim| {
            saved.is_subset(&rounds(nvim.lua(SHOWN, json!([])).as_str().unwrap()))
        });
        let lost: Vec<_> = saved.difference(&self.saved()).cloned().collect();
        assert_eq!(lost, [""; 0], "turn {}: lost on disk", self.turn);
    }

    fn kill_agent(&mut self, dice: &mut Dice) {
        let saved = self.kill(Victim::Agent, dice);
        let is_failed = || {
            // One that was killed in the handshake has been started again.
            if let Some(again) = self.agent() {
                let _ = kill(Pid::from_raw(i32::try_from(again).unwrap()), Signal::SIGKILL);
            }
            (self.nvim.status()["state"] == "failed").then_some(())
        };
        if poll_for(DEADLINE, is_failed).is_none() {
            let (pids, log) = (self.pids(), self.nvim.log());
            self.nvim
                .fail(&format!("the agent was not missed. {pids:?} are its processes.\n{log}"));
        }
        self.expect_no_agents();
        self.expect_whole_files(Victim::Agent);
        self.expect_saved(&saved);
    }

    fn kill_binary(&mut self, dice: &mut Dice) {
        let saved = self.kill(Victim::Binary, dice);
        self.nvim.poll_state("failed");
        self.expect_no_agents();
        let pid = self.nvim.pid();
        self.nvim.poll("only Neovim", |nvim| nvim.processes().living() == [pid]);
        self.expect_whole_files(Victim::Binary);
        self.nvim.command("RatRestart");
        self.nvim.poll_state("ready");
        self.expect_saved(&saved);
    }

    fn kill_neovim(&mut self, dice: &mut Dice) {
        let saved = self.kill(Victim::Neovim, dice);
        if let Err(left) = self.nvim.processes().wait_until_gone(DEADLINE) {
            panic!("left behind:\n{left}");
        }
        self.expect_no_agents();
        self.expect_whole_files(Victim::Neovim);
        self.expect_no_sockets();
        self.nvim = self.nvim.beside(options());
        self.set_up();
        self.expect_saved(&saved);
        let said = self.nvim.messages();
        assert!(!said.contains("[rat]"), "{said}");
    }

    /// No sockets but those of Neovim itself are left.
    fn expect_no_sockets(&self) {
        let sockets = files_below(self.nvim.folder().path()).into_iter().filter(|path| {
            let kind = fs::symlink_metadata(path).map(|it| it.file_type());
            let is_neovims =
                path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("nvim."));
            kind.is_ok_and(|kind| kind.is_socket()) && !is_neovims
        });
        let sockets: Vec<_> = sockets.collect();
        assert!(sockets.is_empty(), "{sockets:?} are left");
    }
}

fn options() -> Options {
    // A swap file would ask what to do with it. Without 'backupskip', Neovim makes no backups in /tmp.
    let init = "vim.o.swapfile = false; vim.o.backupskip = ''".to_owned();
    Options { init, ..Options::wide() }
}

/// The rounds that a text tells of; a saved text may break off anywhere.
fn rounds(text: &str) -> BTreeSet<String> {
    let round = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let round = rest[..end].strip_suffix('.')?;
        round.contains('.').then(|| round.to_owned())
    };
    text.split("Written ").skip(1).filter_map(round).collect()
}

/// Whether a text of the agent is complete; the one of the beginning is empty.
fn is_whole(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let Some((version, _)) = text.split_once(' ') else { return text.is_empty() };
    let is = |line: &str, end| line.strip_prefix(version) == Some(end);
    lines.len() == LINES + 2
        && text.ends_with('\n')
        && is(lines[0], " begins")
        && lines[1..=LINES].iter().all(|line| is(line, " of some length"))
        && is(lines[LINES + 1], " ends")
}

/// Kills one of a kind after the other, in one world.
fn kill_all(name: &str, kill: impl Fn(&mut World, &mut Dice)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let seed = number("RAT_SEED").unwrap_or(20_261_126);
    let kills = number("RAT_KILLS").map_or(KILLS, |kills| usize::try_from(kills).unwrap());
    let mut out = std::io::stderr();
    writeln!(out, "{name}: RAT_SEED={seed} RAT_KILLS={kills}").unwrap();
    let (mut dice, mut world) = (Dice::new(seed), World::new());
    for _ in 0..kills {
        kill(&mut world, &mut dice);
    }
    let World { with_saved, in_backup, copies, .. } = world;
    writeln!(
        out,
        "{name}: {with_saved} after a round was saved, {in_backup} texts in Neovim's backups, {copies} copies left"
    )
    .unwrap();
    assert!(copies <= 1 + kills / 10, "{copies} copies are left");
    assert!(with_saved > 0, "no kill was late enough");
}

/// Holds (Crashes): Whenever an agent is killed, no file is torn, no saved line is lost, and no process of it is left.
#[test]
fn an_agent_is_killed_at_any_moment() {
    kill_all("the agent", World::kill_agent);
}

/// Holds (Crashes): Whenever the binary is killed, no file is torn, no saved line is lost, no process is left, and the session goes on.
#[test]
fn the_binary_is_killed_at_any_moment() {
    kill_all("the binary", World::kill_binary);
}

/// Holds (Crashes): Whenever Neovim is killed, a file or its backup is whole, no saved line is lost, no process, socket or lock is left, and a new Neovim goes on without a complaint.
#[test]
fn neovim_is_killed_at_any_moment() {
    kill_all("Neovim", World::kill_neovim);
}
