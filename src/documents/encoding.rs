//! How a file's bytes are text (`'fileencoding'`): Unicode and latin1 here, every other encoding by
//! Neovim. Nothing is converted that would not come back as it was.

use super::editor::{Editor, EditorError, Encoded};

/// How a text is written to its file (`:help encoding-values`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// ISO 8859-1: each byte is the character of that number.
    Latin1,
    /// UTF-16.
    Utf16(Order),
    /// UTF-16 without the pairs that stand for characters beyond U+FFFF.
    Ucs2(Order),
    /// UTF-32.
    Ucs4(Order),
    /// One that only Neovim knows, by its name there.
    Other(String),
}

/// Which byte of a wide character comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The one that counts most. What Neovim means where a name does not say.
    Big,
    /// The one that counts least.
    Little,
}

impl Encoding {
    /// The encoding of a name of Neovim's; an empty one stands for UTF-8.
    pub fn named(name: &str) -> Self {
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

    /// Its name in Neovim.
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

    /// Whether a byte order mark may stand before the text (`:help 'bomb'`).
    pub fn may_have_mark(&self) -> bool {
        !matches!(self, Self::Latin1 | Self::Other(_))
    }

    /// What Neovim's default `'fileencodings'` takes the bytes for: what a byte order mark says,
    /// else UTF-8 if they are, else latin1, which any bytes are.
    pub fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xff, 0xfe, 0, 0, ..] => Self::Ucs4(Order::Little),
            [0, 0, 0xfe, 0xff, ..] => Self::Ucs4(Order::Big),
            [0xff, 0xfe, ..] => Self::Utf16(Order::Little),
            [0xfe, 0xff, ..] => Self::Utf16(Order::Big),
            _ if str::from_utf8(bytes).is_ok() => Self::Utf8,
            _ => Self::Latin1,
        }
    }

    /// Whether a byte of a line end is never part of another character, and each line is text by itself here.
    pub(super) fn has_plain_lines(&self) -> bool {
        matches!(self, Self::Utf8 | Self::Latin1)
    }

    /// Whether there is no character it has not.
    pub fn holds_all(&self) -> bool {
        matches!(self, Self::Utf8 | Self::Utf16(_) | Self::Ucs4(_))
    }

    /// Bytes as text; `None` if they are none, and for what only Neovim knows ([`decode_in`]).
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

    /// Text as bytes. An error names the first character that the encoding has not; what only
    /// Neovim knows has none here ([`encode_in`]).
    pub(super) fn encode(&self, text: String) -> Result<Vec<u8>, String> {
        let sixteen =
            |order: &Order| text.encode_utf16().flat_map(|unit| order.two(unit)).collect();
        let lacking = match self {
            Self::Utf8 => return Ok(text.into_bytes()),
            Self::Utf16(order) => return Ok(sixteen(order)),
            Self::Ucs4(order) => {
                return Ok(text.chars().flat_map(|c| order.four(u32::from(c))).collect());
            }
            Self::Latin1 => text.chars().find(|&c| c > '\u{ff}'),
            Self::Ucs2(_) => text.chars().find(|&c| c > '\u{ffff}'),
            Self::Other(_) => text.chars().next(),
        };
        match (lacking, self) {
            (Some(lacking), _) => Err(quoted(lacking)),
            (None, Self::Ucs2(order)) => Ok(sixteen(order)),
            (None, _) => Ok(text.chars().filter_map(|c| u8::try_from(c).ok()).collect()),
        }
    }
}

impl Order {
    fn two(self, unit: u16) -> [u8; 2] {
        if self == Self::Big { unit.to_be_bytes() } else { unit.to_le_bytes() }
    }

    fn four(self, unit: u32) -> [u8; 4] {
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

/// Neovim is asked to convert about so many bytes at a time, to the end of a line.
const SLICE_BYTES: usize = 128 * 1024;

/// Bytes in an encoding that only Neovim knows, as text; `None` if they are none.
pub(super) async fn decode_in(
    editor: &dyn Editor,
    bytes: &[u8],
    encoding: &str,
) -> Result<Option<String>, EditorError> {
    let mut text = String::with_capacity(bytes.len());
    for slice in slices(bytes) {
        match editor.decode(slice, encoding).await? {
            Some(more) => text.push_str(&more),
            None => return Ok(None),
        }
    }
    Ok(Some(text))
}

/// Text in an encoding that only Neovim knows, as bytes. An inner error names the first character
/// that the encoding has not.
pub(super) async fn encode_in(
    editor: &dyn Editor,
    text: &str,
    encoding: &str,
) -> Result<Result<Vec<u8>, String>, EditorError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (slice, after) = rest.split_at(first_slice(rest.as_bytes()));
        match editor.encode(slice, encoding).await? {
            Encoded::Bytes(more) => bytes.extend(more),
            Encoded::Lacks(character) => {
                let some = || "place for some of its characters".to_owned();
                return Ok(Err(character.chars().next().map_or_else(some, quoted)));
            }
        }
        rest = after;
    }
    Ok(Ok(bytes))
}

fn quoted(character: char) -> String {
    format!("{character:?} (U+{:04X})", u32::from(character))
}

/// How long the first slice is; it ends with a line, unless it is the last.
fn first_slice(bytes: &[u8]) -> usize {
    let end = bytes.get(SLICE_BYTES..).and_then(|far| memchr::memchr(b'\n', far));
    end.map_or(bytes.len(), |at| SLICE_BYTES + at + 1)
}

fn slices(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (slice, after) = rest.split_at(first_slice(rest));
        rest = after;
        (!slice.is_empty()).then_some(slice)
    })
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
    fn text_is_what_the_encoding_says() {
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
    fn bytes_tell_their_encoding() {
        assert_eq!(Encoding::of("é".as_bytes()), Encoding::Utf8);
        assert_eq!(Encoding::of(b"\xe9"), Encoding::Latin1);
        for encoding in WIDE.into_iter().filter(|e| !matches!(e, Encoding::Ucs2(_))) {
            assert_eq!(Encoding::of(&encoded("\u{feff}a", &encoding).unwrap()), encoding);
            assert_eq!(Encoding::named(encoding.name()), encoding);
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in ".{0,20}") {
            for encoding in WIDE.into_iter().chain([Encoding::Utf8, Encoding::Latin1]) {
                if let Ok(bytes) = encoded(&text, &encoding) {
                    prop_assert_eq!(encoding.decode(bytes).unwrap(), &text[..]);
                }
            }
        }

        #[test]
        fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            for encoding in WIDE.into_iter().chain([Encoding::Utf8, Encoding::Latin1]) {
                if let Some(text) = encoding.decode(bytes.clone()) {
                    prop_assert_eq!(encoded(&text, &encoding), Ok(bytes.clone()));
                }
            }
        }

        #[test]
        fn slices_join_to_the_whole(lines in prop::collection::vec(0..SLICE_BYTES, 0..6)) {
            let bytes: Vec<u8> =
                lines.iter().flat_map(|&n| [vec![b'x'; n], vec![b'\n']].concat()).collect();
            let cut: Vec<&[u8]> = slices(&bytes).collect();
            prop_assert!(cut.iter().all(|slice| slice.ends_with(b"\n")));
            prop_assert_eq!(cut.concat(), bytes);
        }
    }
}
