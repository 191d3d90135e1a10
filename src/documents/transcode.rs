//! Converts texts from and to encodings that only Neovim supports, by calls to the editor. Large texts are split, so
//! that no call keeps Neovim busy for long.

use super::editor::{Editor, EditorError, Encoded};
use super::encoding::quoted;

/// How many bytes Neovim converts in one call, rounded up to the end of a line.
const SLICE_BYTES: usize = 128 * 1024;

/// Decodes bytes. `None` if they are not valid in the encoding, or encoding them again would give other bytes.
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

/// Encodes a text. The inner error names the first character that the encoding lacks.
pub(super) async fn encode_in(
    editor: &dyn Editor,
    text: &str,
    encoding: &str,
) -> Result<Result<Vec<u8>, String>, EditorError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (slice, after) = rest.split_at(first_slice_len(rest.as_bytes()));
        match editor.encode(slice, encoding).await? {
            Encoded::Bytes(more) => bytes.extend(more),
            Encoded::Lacks(character) => {
                let unknown = || "place for some of its characters".to_owned();
                return Ok(Err(character.chars().next().map_or_else(unknown, quoted)));
            }
        }
        rest = after;
    }
    Ok(Ok(bytes))
}

/// Returns the length of the first slice, which ends at the end of a line or of the text.
fn first_slice_len(bytes: &[u8]) -> usize {
    let end = bytes.get(SLICE_BYTES..).and_then(|far| memchr::memchr(b'\n', far));
    end.map_or(bytes.len(), |at| SLICE_BYTES + at + 1)
}

fn slices(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (slice, after) = rest.split_at(first_slice_len(rest));
        rest = after;
        (!slice.is_empty()).then_some(slice)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
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
