//! Agents that send without end, or read nothing: what waits for them is bounded.

use super::support::{AGENT, Bridge, python};
use rat_nvim::core::messages::agent::ExitCause;

/// Memory in use by this process, in MiB (`man 5 proc`); 0 where that is not known.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Holds (Hostile agents): An agent that sends requests and reads no answer is not read any more, and stopped with one line.
#[tokio::test]
async fn an_agent_that_reads_nothing_is_stopped_before_memory_is_full() {
    let before = memory();
    let method = "m".repeat(4000);
    let mut bridge = Bridge::hasty(16);
    let script = format!(
        r#"
line = json.dumps({{"jsonrpc": "2.0", "id": 1, "method": "{method}"}}) + "\n"
while True:
    sys.stdout.write(line)
"#
    );
    bridge.start(AGENT, python(&script));
    let exit = bridge.exit().await;
    assert_eq!(exit.cause, ExitCause::ReadsNothing);
    let grown = memory().saturating_sub(before);
    assert!(grown < 100, "{grown} MiB more");
}

/// Holds (Hostile agents): An agent that sends requests and reads no answer is not read any more, and stopped with one line.
#[tokio::test]
async fn an_agent_that_reads_late_gets_everything() {
    let mut bridge = Bridge::running(
        r#"
import threading
line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m" * 4000}) + "\n"
count = 10_000
def write():
    for _ in range(count):
        sys.stdout.write(line)
    sys.stdout.flush()
writer = threading.Thread(target=write)
writer.start()
for _ in range(count):
    assert "-32601" in sys.stdin.readline()
writer.join()
say("all answers")
"#,
    );
    assert_eq!(bridge.text().await, "all answers");
    assert_eq!(bridge.exit().await.cause, ExitCause::Status(0));
}
