//! Saves the whole traffic with an agent to a file, as JSON Lines without secrets. Blocks.

use super::reader::Reader;
use super::spool::Spool;
use crate::core::messages::trace::{TraceFile, TraceSaved};
use crate::jsonrpc::recording::{self, Direction, Header, Record, VERSION};
use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;

/// Writes the file. What was recorded when this is called is in it.
pub fn save(spool: &Spool, file: &TraceFile, agent: &str) -> TraceSaved {
    spool.flush();
    let written =
        if file.replace { replace(spool, file, agent) } else { create(spool, file, agent) };
    match written {
        Ok((messages, missing)) => TraceSaved::Done(messages, missing),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => TraceSaved::Exists,
        Err(error) => TraceSaved::Failed(error.to_string()),
    }
}

fn create(spool: &Spool, file: &TraceFile, agent: &str) -> io::Result<(u64, u64)> {
    let out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.path)?;
    write(spool, agent, out).inspect_err(|_| {
        // Half a file is of no use, and there was none before.
        let _ = std::fs::remove_file(&file.path);
    })
}

fn replace(spool: &Spool, file: &TraceFile, agent: &str) -> io::Result<(u64, u64)> {
    let mut options = AtomicWriteFile::options();
    let mut out = options.preserve_mode(false).mode(0o600).open(&file.path)?;
    let counts = write(spool, agent, &mut out)?;
    out.commit()?;
    Ok(counts)
}

/// Writes everything and returns how many messages that are, and how many are missing.
fn write(spool: &Spool, agent: &str, mut out: impl Write) -> io::Result<(u64, u64)> {
    let header = Header {
        rat_trace: VERSION,
        rat_version: env!("CARGO_PKG_VERSION").to_owned(),
        agent: agent.to_owned(),
    };
    writeln!(out, "{}", serde_json::to_string(&header)?)?;
    let (mut reader, mut messages, mut missing) = (Reader::new(spool.clone()), 0, 0);
    loop {
        let chunk = reader.read()?;
        if chunk.missing > 0 {
            missing += chunk.missing;
            let note = recording::line(0.0, Direction::Missing, &chunk.missing.to_string());
            out.write_all(note.as_bytes())?;
        }
        if chunk.is_end() {
            out.flush()?;
            return Ok((messages, missing));
        }
        for line in chunk.bytes.split_inclusive(|byte| *byte == b'\n') {
            let gap = line_gap(line);
            missing += gap;
            messages += u64::from(gap == 0);
        }
        out.write_all(&chunk.bytes)?;
    }
}

/// Returns how many messages are missing where this line is.
fn line_gap(line: &[u8]) -> u64 {
    let start = &line[..line.len().min(60)];
    if memchr::memmem::find(start, br#""direction":"missing""#).is_none() {
        return 0;
    }
    let record = serde_json::from_slice::<Record<'_>>(line).ok();
    record.and_then(|record| record.message.get().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::super::redact::Redactor;
    use super::super::spool::LIMITS;
    use super::*;
    use crate::secrets::Secrets;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    #[test]
    fn a_saved_file_is_whole_private_and_without_secrets_known_then_or_later() {
        let secrets = Secrets::default();
        secrets.add(["first-secret".to_owned()]);
        let spool = Spool::start(None, Redactor::new(secrets.clone()), LIMITS);
        let long = "x".repeat(100_000);
        let says = format!(r#"{{"method":"a","params":["first-secret","later-secret","{long}"]}}"#);
        spool.record(Duration::ZERO, Direction::FromAgent, says.as_bytes());
        spool.record(Duration::ZERO, Direction::Stderr, b"later-secret");
        let content = r#"{"id":1,"result":{"action":"accept","content":{"name":"form-secret"}}}"#;
        spool.record(Duration::ZERO, Direction::ToAgent, content.as_bytes());
        let folder = std::env::temp_dir().join(format!("rat-save-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut file = TraceFile { path: folder.join("a.jsonl"), replace: false };
        assert_eq!(save(&spool, &file, "claude"), TraceSaved::Done(3, 0));
        assert_eq!(save(&spool, &file, "claude"), TraceSaved::Exists);
        secrets.add(["later-secret".to_owned()]);
        file.replace = true;
        assert_eq!(save(&spool, &file, "claude"), TraceSaved::Done(3, 0));
        let text = std::fs::read_to_string(&file.path).unwrap();
        assert!(text.contains(&long) && !text.contains("secret"), "{}", &text[..500]);
        let mode = std::fs::metadata(&file.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let lines: Vec<_> = text.lines().collect();
        let header: Header = serde_json::from_str(lines[0]).unwrap();
        assert_eq!((header.rat_trace, header.agent.as_str()), (VERSION, "claude"));
        assert!(lines[1..].iter().all(|line| serde_json::from_str::<Record<'_>>(line).is_ok()));
        let nowhere = TraceFile { path: folder.join("b/c"), replace: false };
        assert!(matches!(save(&spool, &nowhere, ""), TraceSaved::Failed(_)));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
