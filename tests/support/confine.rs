//! Whether programs can be confined here.

use std::process::Command;

/// Whether the kernel can confine programs. If not, that is said.
#[allow(clippy::print_stderr, reason = "what is left out has to be said")]
pub fn can_confine() -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rat-nvim"));
    let output = command.args(["confine", "--limit-ports", "--", "true"]).output().unwrap();
    let can = output.status.success();
    if !can {
        eprintln!("left out: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    can
}
