//! A pseudo terminal that nobody draws on: keeps the bytes that a program writes to it, and answers nothing.

use std::fs::File;
use std::io::Read;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use nix::pty::{Winsize, openpty};

/// What was written to the terminal of one program.
pub struct Tty {
    written: Arc<Mutex<Vec<u8>>>,
}

impl Tty {
    /// Gives the program that `command` will start a terminal of this size.
    pub fn attach(command: &mut Command, columns: u16, lines: u16) -> Self {
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).expect("a pseudo terminal");
        let copy = || pty.slave.try_clone().expect("a second handle");
        command.stdin(copy()).stdout(copy()).stderr(copy());
        let written = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&written);
        let mut master = File::from(pty.master);
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 12];
            while let Ok(count @ 1..) = master.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..count]);
            }
        });
        Self { written }
    }

    /// All of it so far.
    pub fn written(&self) -> Vec<u8> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
