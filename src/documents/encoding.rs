//! Encodings of files (`'fileencoding'`). Converts Unicode encodings and latin1; for all others `transcode` asks
//! Neovim. Only converts what can be converted back without loss.

/// The encoding of a file (`:help encoding-values`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// ISO 8859-1: each byte is the code point of a character.
    Latin1,
    /// UTF-16.
    Utf16(Order),
    /// UCS-2: UTF-16 without surrogate pairs.
    Ucs2(Order),
    /// UTF-32.
    Ucs4(Order),
    /// An encoding that only Neovim supports, by its name there.
    Other(String),
}

/// Byte order of a code unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Big-endian, which is also Neovim's default for names that do not specify it.
    Big,
    /// Little-endian.
    Little,
}

impl Encoding {
    /// Returns the encoding with this name in Neovim; an empty name means UTF-8.
    pub fn from_name(name: &str) -> Self {
        match name {
            "" | "utf-8" => Self::Utf8,
            "latin1" => Self::Latin1,
            "utf-16" => Self::Utf16(Order::Big),
            "utf-16le" => Self::Utf16(Order::Little),
            "ucs-2" => Self::Ucs2(Order::Big),
            "ucs-2le" => Self::Ucs2(Order::Little),
            "ucs-4" => Self::Ucs4(Order::Big),
            "ucs-4le" => Self::Ucs4(Order::Little),
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns its name in Neovim.
    pub fn name(&self) -> &str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Latin1 => "latin1",
            Self::Utf16(Order::Big) => "utf-16",
            Self::Utf16(Order::Little) => "utf-16le",
            Self::Ucs2(Order::Big) => "ucs-2",
            Self::Ucs2(Order::Little) => "ucs-2le",
            Self::Ucs4(Order::Big) => "ucs-4",
            Self::Ucs4(Order::Little) => "ucs-4le",
            Self::Other(name) => name,
        }
    }

    /// Whether a file may start with a byte order mark (`:help 'bomb'`).
    pub fn may_have_bom(&self) -> bool {
        !matches!(self, Self::Latin1 | Self::Other(_))
    }

    /// Detects an encoding as Neovim does with the default `'fileencodings'`: by the byte order mark, else UTF-8 if the
    /// bytes are valid, else latin1.
    pub fn detect(bytes: &[u8]) -> Self {
        match bytes {
            [0xff, 0xfe, 0, 0, ..] => Self::Ucs4(Order::Little),
            [0, 0, 0xfe, 0xff, ..] => Self::Ucs4(Order::Big),
            [0xff, 0xfe, ..] => Self::Utf16(Order::Little),
            [0xfe, 0xff, ..] => Self::Utf16(Order::Big),
            _ if str::from_utf8(bytes).is_ok() => Self::Utf8,
            _ => Self::Latin1,
        }
    }

    /// Whether a file can be split into lines before it is decoded: `\n` is never part of another character, and each
    /// line can be decoded by itself, without Neovim.
    pub(super) fn can_split_bytes(&self) -> bool {
        matches!(self, Self::Utf8 | Self::Latin1)
    }

    /// Whether it can represent every character.
    pub fn is_universal(&self) -> bool {
        matches!(self, Self::Utf8 | Self::Utf16(_) | Self::Ucs4(_))
    }

    /// Decodes bytes. `None` if they are not valid, and for encodings that only Neovim supports (see `transcode`).
    pub(super) fn decode(&self, bytes: Vec<u8>) -> Option<String> {
        match self {
            Self::Utf8 => String::from_utf8(bytes).ok(),
            Self::Latin1 => Some(bytes.into_iter().map(char::from).collect()),
            Self::Utf16(order) => String::from_utf16(&order.units16(&bytes)?).ok(),
            Self::Ucs2(order) => {
                order.units16(&bytes)?.into_iter().map(|unit| char::from_u32(unit.into())).collect()
            }
            Self::Ucs4(order) => order.units32(&bytes)?.into_iter().map(char::from_u32).collect(),
            Self::Other(_) => None,
        }
    }

    /// Encodes a text. The error names the first character that the encoding lacks. Encodings that only Neovim supports
    /// lack every character here (see `transcode`).
    pub(super) fn encode(&self, text: String) -> Result<Vec<u8>, String> {
        let utf16 =
            |order: &Order| text.encode_utf16().flat_map(|unit| order.bytes16(unit)).collect();
        let lacking = match self {
            Self::Utf8 => return Ok(text.into_bytes()),
            Self::Utf16(order) => return Ok(utf16(order)),
            Self::Ucs4(order) => {
                return Ok(text.chars().flat_map(|c| order.bytes32(u32::from(c))).collect());
            }
            Self::Latin1 => text.chars().find(|&c| c > '\u{ff}'),
            Self::Ucs2(_) => text.chars().find(|&c| c > '\u{ffff}'),
            Self::Other(_) => text.chars().next(),
        };
        match (lacking, self) {
            (Some(lacking), _) => Err(quoted(lacking)),
            (None, Self::Ucs2(order)) => Ok(utf16(order)),
            (None, _) => Ok(text.chars().filter_map(|c| u8::try_from(c).ok()).collect()),
        }
    }
}

impl Order {
    fn bytes16(self, unit: u16) -> [u8; 2] {
        if self == Self::Big { unit.to_be_bytes() } else { unit.to_le_bytes() }
    }

    fn bytes32(self, unit: u32) -> [u8; 4] {
        if self == Self::Big { unit.to_be_bytes() } else { unit.to_le_bytes() }
    }

    fn units16(self, bytes: &[u8]) -> Option<Vec<u16>> {
        let (pairs, rest) = bytes.as_chunks();
        let unit = if self == Self::Big { u16::from_be_bytes } else { u16::from_le_bytes };
        rest.is_empty().then(|| pairs.iter().copied().map(unit).collect())
    }

    fn units32(self, bytes: &[u8]) -> Option<Vec<u32>> {
        let (quads, rest) = bytes.as_chunks();
        let unit = if self == Self::Big { u32::from_be_bytes } else { u32::from_le_bytes };
        rest.is_empty().then(|| quads.iter().copied().map(unit).collect())
    }
}

/// Formats a character for an error message.
pub(super) fn quoted(character: char) -> String {
    format!("{character:?} (U+{:04X})", u32::from(character))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WIDE: [Encoding; 6] = [
        Encoding::Utf16(Order::Big),
        Encoding::Utf16(Order::Little),
        Encoding::Ucs2(Order::Big),
        Encoding::Ucs2(Order::Little),
        Encoding::Ucs4(Order::Big),
        Encoding::Ucs4(Order::Little),
    ];

    fn encoded(text: &str, encoding: &Encoding) -> Result<Vec<u8>, String> {
        encoding.encode(text.to_owned())
    }

    #[test]
    fn characters_are_encoded_and_invalid_bytes_refused() {
        assert_eq!(Encoding::Latin1.decode(b"caf\xe9".to_vec()).unwrap(), "café");
        let check = |text: &str, encoding: Encoding, bytes: &[u8]| {
            assert_eq!(encoded(text, &encoding).unwrap(), bytes, "{text:?}, {encoding:?}");
        };
        check("café", Encoding::Latin1, b"caf\xe9");
        check("é", Encoding::Utf16(Order::Big), b"\0\xe9");
        check("\u{1d11e}", Encoding::Utf16(Order::Little), b"\x34\xd8\x1e\xdd");
        check("é", Encoding::Ucs4(Order::Big), b"\0\0\0\xe9");
        let lacking = encoded("a€", &Encoding::Latin1).unwrap_err();
        assert_eq!(lacking, "'€' (U+20AC)");
        assert!(encoded("a\u{1d11e}", &Encoding::Ucs2(Order::Big)).is_err());
        for (encoding, bytes) in [
            (Encoding::Utf8, &b"caf\xe9"[..]),
            (Encoding::Utf16(Order::Big), b"\0a\0"),
            (Encoding::Utf16(Order::Big), b"\xd8\x34\0a"),
            (Encoding::Ucs2(Order::Big), b"\xd8\x34\xdd\x1e"),
            (Encoding::Ucs4(Order::Little), b"\xff\xff\xff\xff"),
            (Encoding::Ucs4(Order::Little), b"a\0\0\0b"),
        ] {
            assert_eq!(encoding.decode(bytes.to_vec()), None, "{encoding:?}");
        }
    }

    #[test]
    fn the_encoding_is_detected() {
        assert_eq!(Encoding::detect("é".as_bytes()), Encoding::Utf8);
        assert_eq!(Encoding::detect(b"\xe9"), Encoding::Latin1);
        for encoding in WIDE.into_iter().filter(|e| !matches!(e, Encoding::Ucs2(_))) {
            assert_eq!(Encoding::detect(&encoded("\u{feff}a", &encoding).unwrap()), encoding);
            assert_eq!(Encoding::from_name(encoding.name()), encoding);
        }
    }

    proptest! {
        #[test]
        fn encoding_and_decoding_gives_the_same_text(text in ".{0,20}") {
            for encoding in WIDE.into_iter().chain([Encoding::Utf8, Encoding::Latin1]) {
                if let Ok(bytes) = encoded(&text, &encoding) {
                    prop_assert_eq!(encoding.decode(bytes).unwrap(), &text[..]);
                }
            }
        }

        #[test]
        fn decoding_and_encoding_gives_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            for encoding in WIDE.into_iter().chain([Encoding::Utf8, Encoding::Latin1]) {
                if let Some(text) = encoding.decode(bytes.clone()) {
                    prop_assert_eq!(encoded(&text, &encoding), Ok(bytes.clone()));
                }
            }
        }
    }
}
