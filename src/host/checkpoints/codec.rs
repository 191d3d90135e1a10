//! Numbers and byte strings in the files of a slot, little-endian, with a checksum at the end. Knows no file.

/// Bytes being written.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

/// Bytes being read. Every method returns `None` at the end.
pub(super) struct Reader<'a>(&'a [u8]);

/// How many bytes the checksum has.
const CHECKSUM: usize = 16;

impl Writer {
    pub(super) fn array<const N: usize>(&mut self, bytes: [u8; N]) {
        self.0.extend_from_slice(&bytes);
    }

    /// A number in as few bytes as it needs.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(low_bits(number) | 0x80);
            number >>= 7;
        }
        self.0.push(low_bits(number));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Everything written, with its checksum.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let hash = blake3::hash(&self.0);
        self.0.extend_from_slice(&hash.as_bytes()[..CHECKSUM]);
        self.0
    }
}

fn low_bits(number: u64) -> u8 {
    // At most 127.
    u8::try_from(number & 0x7f).unwrap_or_default()
}

impl<'a> Reader<'a> {
    /// Reads what [`Writer::finish`] has returned; `None` if the checksum is wrong.
    pub(super) fn checked(bytes: &'a [u8]) -> Option<Self> {
        let (bytes, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM)?)?;
        (blake3::hash(bytes).as_bytes()[..CHECKSUM] == *checksum).then_some(Self(bytes))
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}
