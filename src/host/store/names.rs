//! Names of files for folders and sessions: readable, and another one for each. They touch no disk.

use std::fmt::Write;

/// A name has at most so many bytes: file systems allow 255, and an ending follows.
const LONGEST: usize = 180;

/// A file's name for any text. Different texts have different names, also where upper and lower case are one.
pub(super) fn escaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            b'/' => name.push('+'),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(name, "%{byte:02x}");
            }
        }
    }
    if name.len() > LONGEST {
        let hash = fnv(text.as_bytes());
        name = format!("{:016x}{}", hash, &name[name.len() - LONGEST + 16..]);
    }
    name
}

/// FNV-1a with 64 bits: the same in every version of this program.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
