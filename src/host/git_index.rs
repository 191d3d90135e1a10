//! The paths that git tracks, read from the file `index` of a repository: a file may be tracked although it is ignored.
//! Only reads, and runs no git.

use std::path::Path;

/// An index with more bytes is not read.
const MAX_INDEX: u64 = 128 << 20;

/// Bytes of an entry before its hash.
const STAT_LEN: usize = 40;

/// The bits of an entry's flags: the length of its name, and whether more flags follow.
const NAME_LEN: u16 = 0xfff;
const IS_EXTENDED: u16 = 0x4000;

/// Tracked paths relative to the top of their repository, in the order of their bytes.
#[derive(Debug, Default)]
pub(in crate::host) struct TrackedPaths {
    names: Vec<u8>,
    /// Where each name ends in `names`.
    ends: Vec<usize>,
}

impl TrackedPaths {
    /// Reads an index; no paths if there is none that can be read.
    pub(in crate::host) fn read(index: &Path) -> Self {
        let is_readable = |index: &Path| {
            index.symlink_metadata().is_ok_and(|file| file.is_file() && file.len() <= MAX_INDEX)
        };
        if !is_readable(index) {
            return Self::default();
        }
        let bytes = std::fs::read(index).unwrap_or_default();
        // Repositories have SHA-1 or SHA-256, which only their configuration says.
        let paths = Self::parse(&bytes, 20).or_else(|| Self::parse(&bytes, 32));
        paths.unwrap_or_else(|| {
            tracing::warn!(index = %index.display(), "this index of git cannot be read");
            Self::default()
        })
    }

    /// Whether a file is tracked.
    pub(in crate::host) fn has(&self, path: &[u8]) -> bool {
        let at = self.first_from(path);
        at < self.ends.len() && self.name(at) == path
    }

    /// Whether a file below a folder is tracked.
    pub(in crate::host) fn has_below(&self, folder: &[u8]) -> bool {
        let prefix = [folder, b"/"].concat();
        let at = self.first_from(&prefix);
        at < self.ends.len() && self.name(at).starts_with(&prefix)
    }

    fn name(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.names[start..self.ends[at]]
    }

    /// The place of the first name that is not less than `path`.
    fn first_from(&self, path: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.name(middle) < path {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn parse(bytes: &[u8], hash_len: usize) -> Option<Self> {
        let mut rest = bytes.strip_prefix(b"DIRC")?;
        let version = number(&mut rest)?;
        let count = number(&mut rest)?;
        let mut paths = Self::default();
        let mut name = Vec::new();
        for _ in 0..count {
            let start = rest;
            let mut flags_at = rest.get(STAT_LEN + hash_len..)?;
            let flags = u16::from_be_bytes(*flags_at.first_chunk()?);
            flags_at = &flags_at[2..];
            if version >= 3 && flags & IS_EXTENDED != 0 {
                flags_at = flags_at.get(2..)?;
            }
            rest = flags_at;
            if version == 4 {
                let cut = offset(&mut rest)?;
                name.truncate(name.len().checked_sub(cut)?);
            } else {
                name.clear();
            }
            let end = memchr::memchr(0, rest)?;
            name.extend_from_slice(&rest[..end]);
            rest = &rest[end..];
            // Up to version 3, one to eight zeros make the length of the entry a multiple of eight.
            let used = start.len() - rest.len();
            rest = rest.get(if version == 4 { 1 } else { 8 - used % 8 }..)?;
            let stated = usize::from(flags & NAME_LEN);
            if name.is_empty() || stated != name.len().min(NAME_LEN.into()) {
                return None;
            }
            paths.names.extend_from_slice(&name);
            paths.ends.push(paths.names.len());
        }
        (2..=4).contains(&version).then_some(paths)
    }
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*number))
}

/// A number as in git's packs: seven bits in each byte, and each byte that follows adds one.
fn offset(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0_usize;
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number = number.checked_shl(7)? | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(number);
        }
        number = number.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of version 2 with these paths.
    fn index(paths: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend(u32::try_from(paths.len()).unwrap().to_be_bytes());
        for path in paths {
            bytes.extend([7; STAT_LEN + 20]);
            bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
            bytes.extend(path.as_bytes());
            let used = STAT_LEN + 22 + path.len();
            bytes.extend(vec![0; 8 - used % 8]);
        }
        bytes.extend([0; 20]);
        bytes
    }

    #[test]
    fn tracked_paths_are_found() {
        let paths = ["a", "b/c", "b/c.d", "b-x", "z/y/x"];
        let mut sorted = paths;
        sorted.sort_unstable();
        let tracked = TrackedPaths::parse(&index(&sorted), 20).unwrap();
        assert!(paths.iter().all(|path| tracked.has(path.as_bytes())));
        assert!(!tracked.has(b"b") && !tracked.has(b"b/") && !tracked.has(b"zz"));
        assert!(tracked.has_below(b"b") && tracked.has_below(b"z/y"));
        assert!(!tracked.has_below(b"a") && !tracked.has_below(b"b/c") && !tracked.has_below(b"y"));
    }

    #[test]
    fn what_is_no_index_has_no_paths() {
        let bytes = index(&["one", "two/three"]);
        for end in 0..bytes.len() - 21 {
            assert!(TrackedPaths::parse(&bytes[..end], 20).is_none(), "{end}");
        }
        assert!(TrackedPaths::parse(&bytes, 32).is_none());
    }
}
