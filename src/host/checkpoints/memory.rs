//! Contents that must not reach the disk: those of ignored files, which may be secrets. Their ids, which do, are made with
//! a key that is forgotten with them.

use super::ids::ContentId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::sync::Arc;

/// How many bytes are held for a root.
const MAX_BYTES: usize = 32 << 20;

/// Contents held in memory.
#[derive(Debug)]
pub(super) struct Memory {
    key: [u8; 32],
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    contents: HashMap<ContentId, Arc<[u8]>>,
    bytes: usize,
}

impl Memory {
    /// # Errors
    /// If the system gives no random bytes.
    pub(super) fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        Ok(Self { key, held: Mutex::default() })
    }

    /// Holds a content; `None` if there is no room left.
    pub(super) fn put(&self, content: &[u8]) -> Option<ContentId> {
        let id = ContentId::with_key(&self.key, content);
        let mut held = self.held.lock();
        if !held.contents.contains_key(&id) {
            if held.bytes + content.len() > MAX_BYTES {
                return None;
            }
            held.bytes += content.len();
            held.contents.insert(id, content.into());
        }
        Some(id)
    }

    pub(super) fn has(&self, id: &ContentId) -> bool {
        self.held.lock().contents.contains_key(id)
    }

    pub(super) fn get(&self, id: &ContentId) -> Option<Arc<[u8]>> {
        self.held.lock().contents.get(id).cloned()
    }

    /// Whether a content has an id, of whichever kind.
    pub(super) fn is_of(&self, id: &ContentId, content: &[u8]) -> bool {
        ContentId::of(content) == *id || ContentId::with_key(&self.key, content) == *id
    }

    /// Forgets the contents that `is_live` is false for.
    pub(super) fn retain(&self, is_live: impl Fn(&ContentId) -> bool) {
        let mut held = self.held.lock();
        held.contents.retain(|id, _| is_live(id));
        held.bytes = held.contents.values().map(|content| content.len()).sum();
    }
}
