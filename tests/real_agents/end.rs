//! However it ends, nothing is left behind: neither the agent nor what the agent has started.

use crate::agents::{Chat, Kind};
use crate::support::Processes;
use crate::{with_agent, with_each_agent};

with_each_agent!(
    nothing_outlives_quitting,
    nothing_outlives_a_killed_neovim,
    nothing_outlives_a_killed_binary,
);

/// A chat whose agent runs a command that takes long.
fn busy(kind: Kind) -> Chat {
    let mut chat = Chat::open(kind, &[]);
    chat.ask("[[shell mkdir running && tail -f /dev/null]]");
    chat.answer("allow_once");
    chat.until("the command", |chat| {
        let mut living = chat.nvim.processes().living();
        living.extend(chat.agent_processes().living());
        living.iter().any(|pid| command_line(*pid) == "tail -f /dev/null").then_some(())
    });
    chat
}

pub(crate) fn command_line(pid: u32) -> String {
    let output =
        std::process::Command::new("ps").args(["-o", "args=", "-p", &pid.to_string()]).output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}

fn nothing_outlives_quitting(kind: Kind) {
    let mut chat = busy(kind);
    chat.nvim.quit();
    chat.all_gone();
}

fn nothing_outlives_a_killed_neovim(kind: Kind) {
    let mut chat = busy(kind);
    chat.nvim.kill();
    chat.all_gone();
}

fn nothing_outlives_a_killed_binary(kind: Kind) {
    let mut chat = busy(kind);
    Processes::signal(chat.nvim.binary(), "KILL");
    let neovim = chat.nvim.pid();
    chat.until("the end of all but Neovim", |chat| {
        (chat.nvim.processes().living() == [neovim]).then_some(())
    });
    chat.wait_for("failed");
    chat.ends("error");
    chat.ask("[[say After.]]");
    // Gemini may have stored the prompt that was cut off: its model has it before this one, and asks again.
    chat.ends_rejecting("end_turn");
    assert!(chat.transcript().contains("\nAfter."), "{}", chat.transcript());
}
