//! Where each content is in a pack, so that a pack need not be read to be opened. On disk it is only a cache: without it,
//! the pack is read.

use super::codec::{Reader, Writer};
use super::ids::ContentId;
use super::private;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// Begins each file; the last byte is the version of the format.
const MAGIC: [u8; 8] = *b"ratindx\x01";

/// The file beside the pack.
const FILE: &str = "pack.index";

/// Where a content is in its pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    /// The bytes it takes there, with a bit that says whether they are compressed.
    pub(super) stored: u32,
    /// The bytes of the content.
    pub(super) length: u32,
}

#[derive(Debug)]
pub(super) struct PackIndex {
    pub(super) places: HashMap<ContentId, Place>,
    /// How much of the pack the saved index knows.
    pub(super) covered: u64,
    /// The number of the pack it belongs to.
    generation: u64,
}

impl PackIndex {
    pub(super) fn new(generation: u64, covered: u64) -> Self {
        Self { places: HashMap::new(), covered, generation }
    }

    /// Loads the index of a pack; `None` if there is none that is whole and belongs to it.
    pub(super) fn load(folder: &Path, generation: u64) -> Option<Self> {
        let bytes = std::fs::read(folder.join(FILE)).ok()?;
        let mut bytes = Reader::checked(&bytes)?;
        let number = |bytes: &mut Reader<'_>| bytes.array().map(u64::from_le_bytes);
        if bytes.array()? != MAGIC || number(&mut bytes)? != generation {
            return None;
        }
        let covered = number(&mut bytes)?;
        let count = bytes.number()?;
        let mut places = HashMap::with_capacity(usize::try_from(count).ok()?);
        for _ in 0..count {
            let id = ContentId::from_bytes(bytes.array()?);
            let offset = number(&mut bytes)?;
            let [stored, length] = [bytes.array()?, bytes.array()?].map(u32::from_le_bytes);
            places.insert(id, Place { offset, stored, length });
        }
        Some(Self { places, covered, generation })
    }

    pub(super) fn save(&self, folder: &Path) -> io::Result<()> {
        let mut out = Writer::default();
        out.array(MAGIC);
        out.array(self.generation.to_le_bytes());
        out.array(self.covered.to_le_bytes());
        out.number(self.places.len() as u64);
        for (id, place) in &self.places {
            out.array(*id.as_bytes());
            out.array(place.offset.to_le_bytes());
            out.array(place.stored.to_le_bytes());
            out.array(place.length.to_le_bytes());
        }
        private::replace_file(&folder.join(FILE), &out.finish())
    }
}
