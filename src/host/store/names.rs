//! File names for arbitrary text, such as paths and session ids: readable and distinct. Does not access the disk.

use std::fmt::Write;

/// Maximum length of a name in bytes: file systems allow 255, and an extension follows.
const MAX_LEN: usize = 180;

/// Escapes a text for use as a file name. Different texts give different names, even on a case-insensitive file system.
pub(super) fn escaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            b'/' => name.push('+'),
            _ => {
                // Writing to a `String` cannot fail.
                let _ = write!(name, "%{byte:02x}");
            }
        }
    }
    if name.len() > MAX_LEN {
        let hash = fnv(text.as_bytes());
        name = format!("{:016x}{}", hash, &name[name.len() - MAX_LEN + 16..]);
    }
    name
}

/// 64-bit FNV-1a. Not the standard library's hasher, because names must stay the same in every version of this program.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
