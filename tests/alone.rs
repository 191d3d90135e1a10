//! Tests that measure memory, or that a benchmark times: nothing may run beside them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panic")]

mod support;

mod chats_speed;
mod completion_speed;
mod exec_speed;
mod hostile_memory;
mod hostile_server;
mod hostile_sizes;
mod hostile_speed;
mod hostile_streams;
mod hostile_tools;
mod large_files;
mod many_files;
mod review_speed;
mod search_speed;
mod soak;
mod traffic_speed;

use parking_lot::{Mutex, MutexGuard};

/// What a test holds while it runs. Where each is a process of its own, `.config/nextest.toml` sees to it.
fn alone() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock()
}
