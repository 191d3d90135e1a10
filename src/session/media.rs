//! Detects the media type of data by its first bytes (never by a claimed name or type), and the
//! size of images. Also encodes and decodes base64.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

/// How many bytes are examined. In a JPEG the size comes only after the metadata of the camera.
pub const HEAD: usize = 128 * 1024;

/// Some agents omit the padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A detected media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// MIME type.
    pub mime: &'static str,
    /// The usual file name extension, without the dot.
    pub extension: &'static str,
    /// Width and height of an image; `None` if they were not found.
    pub pixels: Option<(u32, u32)>,
}

impl Media {
    const fn of(mime: &'static str, extension: &'static str) -> Self {
        Self { mime, extension, pixels: None }
    }

    /// Whether it is an image; only the types that models accept are detected.
    pub fn is_image(&self) -> bool {
        self.mime.starts_with("image/")
    }

    /// Whether it is audio.
    pub fn is_audio(&self) -> bool {
        self.mime.starts_with("audio/")
    }
}

/// Detects the media type of data that starts with these bytes; `None` if it is not known.
pub fn sniff(head: &[u8]) -> Option<Media> {
    image(head).or_else(|| audio_or_document(head))
}

/// Detects the media type of base64 data, of which only the beginning is decoded.
pub fn sniff_base64(data: &str) -> Option<Media> {
    let found = sniff(&decoded_head(data, 64))?;
    if found.mime == "image/jpeg" { sniff(&decoded_head(data, HEAD)) } else { Some(found) }
}

/// Returns the length of base64 data once decoded, in bytes.
pub fn decoded_len(data: &str) -> usize {
    data.trim_end_matches('=').len() * 3 / 4
}

/// Decodes base64 data, ignoring white space; `None` if it is invalid.
pub fn decode(data: &str) -> Option<Vec<u8>> {
    let has_space = data.bytes().any(|byte| byte.is_ascii_whitespace());
    let compact = || data.split_ascii_whitespace().collect::<String>();
    if has_space { LENIENT.decode(compact()) } else { LENIENT.decode(data) }.ok()
}

/// Encodes bytes as base64 data.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes the first bytes of base64 data, about `most`; empty if it is invalid.
fn decoded_head(data: &str, most: usize) -> Vec<u8> {
    let compact = data.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let head: Vec<u8> = compact.take(most.div_ceil(3) * 4).collect();
    LENIENT.decode(head).unwrap_or_default()
}

fn image(head: &[u8]) -> Option<Media> {
    let (media, pixels) = if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        (Media::of("image/png", "png"), png(head))
    } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        (Media::of("image/gif", "gif"), gif(head))
    } else if head.starts_with(b"\xff\xd8\xff") {
        (Media::of("image/jpeg", "jpg"), jpeg(head))
    } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        (Media::of("image/webp", "webp"), webp(head))
    } else {
        return None;
    };
    Some(Media { pixels, ..media })
}

fn audio_or_document(head: &[u8]) -> Option<Media> {
    let riff = head.starts_with(b"RIFF");
    let (mime, extension) = match head {
        _ if riff && head.get(8..12) == Some(b"WAVE") => ("audio/wav", "wav"),
        _ if head.starts_with(b"OggS") => ("audio/ogg", "ogg"),
        _ if head.starts_with(b"fLaC") => ("audio/flac", "flac"),
        _ if head.starts_with(b"ID3") => ("audio/mpeg", "mp3"),
        // A frame of MPEG audio without an ID3 tag: layer III of any version, no reserved values.
        [0xff, second, third, ..] if second & 0xe6 == 0xe2 && third >> 4 != 0xf => {
            ("audio/mpeg", "mp3")
        }
        _ if head.get(4..11) == Some(b"ftypM4A") => ("audio/mp4", "m4a"),
        _ if head.starts_with(b"%PDF-") => ("application/pdf", "pdf"),
        _ => return None,
    };
    Some(Media::of(mime, extension))
}

fn big_endian(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + count)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn little_endian(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + count)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

/// PNG 11.2.2: the first chunk is IHDR.
fn png(head: &[u8]) -> Option<(u32, u32)> {
    (head.get(12..16) == Some(b"IHDR")).then_some(())?;
    Some((big_endian(head, 16, 4)?, big_endian(head, 20, 4)?))
}

fn gif(head: &[u8]) -> Option<(u32, u32)> {
    Some((little_endian(head, 6, 2)?, little_endian(head, 8, 2)?))
}

/// The three forms of a WebP file: lossy, lossless, extended.
fn webp(head: &[u8]) -> Option<(u32, u32)> {
    match head.get(12..16)? {
        b"VP8 " => {
            Some((little_endian(head, 26, 2)? & 0x3fff, little_endian(head, 28, 2)? & 0x3fff))
        }
        b"VP8L" => {
            let bits = little_endian(head, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((little_endian(head, 24, 3)? + 1, little_endian(head, 27, 3)? + 1)),
        _ => None,
    }
}

/// Walks the segments up to the start of a frame (JPEG B.2.2), which has the size.
fn jpeg(head: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        while head.get(at) == Some(&0xff) && head.get(at + 1) == Some(&0xff) {
            at += 1; // Padding.
        }
        let (0xff, marker) = (*head.get(at)?, *head.get(at + 1)?) else { return None };
        match marker {
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big_endian(head, at + 7, 2)?, big_endian(head, at + 5, 2)?));
            }
            // The image data or the end of the file: there was no frame before.
            0xd9 | 0xda => return None,
            // Markers without a length.
            0x01 | 0xd0..=0xd7 => at += 2,
            _ => at += 2 + usize::try_from(big_endian(head, at + 2, 2)?).ok()?.max(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0";

    fn pixels(head: &[u8]) -> (&'static str, Option<(u32, u32)>) {
        let found = sniff(head).unwrap();
        (found.mime, found.pixels)
    }

    #[test]
    fn the_size_of_images_is_detected() {
        assert_eq!(pixels(PNG), ("image/png", Some((640, 480))));
        assert_eq!(pixels(b"GIF89a\x40\x01\xc8\0\x80"), ("image/gif", Some((320, 200))));
        // Comments and tables come before the frame; the second 0xff is padding.
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x03x\xff\xc2\0\x11\x08\x01\xe0\x02\x80";
        assert_eq!(pixels(jpeg), ("image/jpeg", Some((640, 480))));
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x41";
        assert_eq!(pixels(lossy), ("image/webp", Some((640, 480))));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x7f\xc2\x77\0";
        assert_eq!(pixels(lossless), ("image/webp", Some((640, 480))));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0";
        assert_eq!(pixels(extended), ("image/webp", Some((640, 480))));
    }

    #[test]
    fn truncated_or_malformed_data_has_no_size() {
        assert_eq!(pixels(&PNG[..18]), ("image/png", None));
        assert_eq!(pixels(b"\xff\xd8\xff\xda\0\0"), ("image/jpeg", None));
        assert_eq!(pixels(b"\xff\xd8\xff\xe1\0\0"), ("image/jpeg", None));
        assert_eq!(sniff(b"hello"), None);
        assert_eq!(sniff(b""), None);
    }

    #[test]
    fn audio_and_documents_are_detected() {
        let mime = |head: &[u8]| sniff(head).map(|found| found.mime);
        assert_eq!(mime(b"RIFF\0\0\0\0WAVEfmt "), Some("audio/wav"));
        assert_eq!(mime(b"OggS\0"), Some("audio/ogg"));
        assert_eq!(mime(b"fLaC\0"), Some("audio/flac"));
        assert_eq!(mime(b"ID3\x04"), Some("audio/mpeg"));
        assert_eq!(mime(b"\xff\xfb\x90\0"), Some("audio/mpeg"));
        assert_eq!(mime(b"\0\0\0\x20ftypM4A "), Some("audio/mp4"));
        assert_eq!(mime(b"%PDF-1.7"), Some("application/pdf"));
        assert_eq!(mime(b"\xff\xfe\x41\0"), None, "UTF-16");
    }

    #[test]
    fn base64_may_have_spaces_and_lack_padding() {
        assert_eq!(decode("aGVs\nbG8=").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode("aGVsbG8").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode("a?"), None);
        assert_eq!(sniff_base64("a?"), None);
    }

    proptest! {
        #[test]
        fn detection_never_panics_and_base64_round_trips(
            head in 0..8usize,
            rest in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let starts: [&[u8]; 8] = [
                PNG, b"GIF89a", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8 ", b"RIFF\0\0\0\0WEBPVP8L",
                b"RIFF\0\0\0\0WEBPVP8X", b"\0\0\0\0ftyp", b"",
            ];
            let bytes = [starts[head], &rest].concat();
            let data = encode(&bytes);
            prop_assert_eq!(decoded_len(&data), bytes.len());
            prop_assert_eq!(sniff_base64(&data), sniff(&bytes));
            prop_assert_eq!(decode(&data), Some(bytes));
        }
    }
}
