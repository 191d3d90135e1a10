//! A program behind the gateway, as lines in and out.

use std::process::{Command, Stdio};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use super::super::Processes;
use super::{Shared, locked};

/// How many lines of the program may wait.
const ROOM: usize = 16;

/// A running program. It ends when this is dropped, and what it has started with it.
pub(super) struct Process {
    pub(super) stdin: mpsc::UnboundedSender<String>,
    pub(super) stdout: mpsc::Receiver<String>,
}

/// The group of processes that a program leads. When this is dropped they are asked to end, as a server should do, for a
/// program may have started others outside its group. Those that do not are killed.
struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        let (leader, group) = (self.0, format!("-{}", self.0));
        let end = move |signal| Command::new("kill").args([signal, "--", &group]).output();
        let _ = end("-TERM");
        std::thread::spawn(move || {
            Processes::is_gone(leader);
            let _ = end("-KILL");
        });
    }
}

impl Process {
    /// Starts the program.
    pub(super) fn start(shared: &Shared) -> Self {
        let command = &shared.command;
        let mut child = tokio::process::Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("start the agent behind a gateway");
        let group = child.id().map(Group);
        locked(&shared.pids).extend(child.id());
        let mut input = child.stdin.take().expect("stdin");
        let mut output = BufReader::with_capacity(1 << 20, child.stdout.take().expect("stdout"));
        let (stdin, mut lines_in) = mpsc::unbounded_channel::<String>();
        let (lines_out, stdout) = mpsc::channel(ROOM);
        tokio::spawn(async move {
            while let Some(line) = lines_in.recv().await {
                if input.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                    break;
                }
            }
        });
        tokio::spawn(async move {
            let _child = (group, child);
            loop {
                let mut line = String::new();
                let read = tokio::select! {
                    read = output.read_line(&mut line) => read,
                    () = lines_out.closed() => break,
                };
                line.truncate(line.trim_end().len());
                if read.unwrap_or(0) == 0 || lines_out.send(line).await.is_err() {
                    break;
                }
            }
        });
        Self { stdin, stdout }
    }
}
