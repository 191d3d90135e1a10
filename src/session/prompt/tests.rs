//! What goes with a prompt, by what the agent takes and what the files are.

use super::*;
use crate::session::media::{encode, sniff};

const ALL: PromptCapabilities = PromptCapabilities { image: true, audio: true, embedded: true };
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01";
const OGG: &[u8] = b"OggS\0\x02";

fn file(name: &str, mime: Option<&str>) -> Attachment {
    Attachment {
        uri: format!("file:///p/{name}"),
        label: name.to_owned(),
        lines: None,
        mime: mime.map(str::to_owned),
        body: Body::File(PathBuf::from("/p").join(name)),
    }
}

fn read(bytes: &[u8]) -> FileRead {
    FileRead::Data { data: encode(bytes), size: bytes.len(), media: sniff(bytes) }
}

/// What one file becomes.
fn packed(attachment: Attachment, read: FileRead, takes: PromptCapabilities) -> Packed {
    let Body::File(path) = attachment.body.clone() else { panic!("a file") };
    let files = FilesRead::from([(path, read)]);
    Prompt { text: String::new(), attachments: vec![attachment] }.pack(takes, &files)
}

fn link(name: &str, mime: Option<&str>) -> Content {
    file(name, mime).link()
}

#[test]
fn images_and_sound_go_where_the_agent_takes_them() {
    let png = || file("a.png", Some("image/png"));
    let Packed { blocks, notices } = packed(png(), read(PNG), ALL);
    let uri = Some("file:///p/a.png".to_owned());
    let (mime, data, about) = ("image/png".to_owned(), encode(PNG), About::default());
    assert_eq!((blocks, notices), (vec![Content::Image { mime, data, uri, about }], Vec::new()));
    let takes = PromptCapabilities { image: false, ..ALL };
    let Packed { blocks, notices } = packed(png(), read(PNG), takes);
    assert_eq!(blocks, [link("a.png", Some("image/png"))]);
    assert_eq!(notices, ["a.png goes as a link: the agent takes no images"]);

    let ogg = || file("a.ogg", Some("audio/ogg"));
    let Packed { blocks, .. } = packed(ogg(), read(OGG), ALL);
    assert!(matches!(&blocks[..], [Content::Audio { mime, .. }] if mime == "audio/ogg"));
    let takes = PromptCapabilities { audio: false, ..ALL };
    let Packed { notices, .. } = packed(ogg(), read(OGG), takes);
    assert_eq!(notices, ["a.ogg goes as a link: the agent takes no sound"]);
}

#[test]
fn the_first_bytes_count_and_not_the_name() {
    let Packed { blocks, .. } = packed(file("a.jpg", Some("image/jpeg")), read(PNG), ALL);
    assert!(matches!(&blocks[..], [Content::Image { mime, .. }] if mime == "image/png"));
    let Packed { blocks, notices } = packed(file("a.bmp", Some("image/bmp")), read(b"BM"), ALL);
    assert_eq!(blocks, [link("a.bmp", Some("image/bmp"))]);
    assert_eq!(notices, ["a.bmp goes as a link: it is no PNG, JPEG, GIF or WebP image"]);
}

#[test]
fn other_files_go_as_resources_or_quietly_as_links() {
    let Packed { blocks, notices } = packed(file("a.bin", None), read(b"\0\x01"), ALL);
    assert!(matches!(&blocks[..], [Content::Blob { mime: None, .. }]));
    assert!(notices.is_empty());
    let takes = PromptCapabilities { embedded: false, ..ALL };
    let Packed { blocks, notices } = packed(file("a.bin", None), read(b"\0\x01"), takes);
    assert_eq!((blocks, notices), (vec![link("a.bin", None)], Vec::new()));
}

#[test]
fn what_is_too_large_is_told() {
    let large = FileRead::TooLarge(7 << 20);
    let Packed { blocks, notices } = packed(file("a.png", Some("image/png")), large, ALL);
    assert_eq!(blocks, [link("a.png", Some("image/png"))]);
    assert_eq!(notices, ["a.png goes as a link: it has 7 MiB, and 5 MiB is the most that is sent"]);
    let together = MOST_TOGETHER / MOST_MEDIA + 1;
    let names = (0..together).map(|number| format!("{number}.png"));
    let attachments: Vec<_> = names.map(|name| file(&name, Some("image/png"))).collect();
    let prompt = Prompt { text: "see".to_owned(), attachments };
    let data = FileRead::Data { data: encode(PNG), size: MOST_MEDIA, media: sniff(PNG) };
    let files = prompt.files().map(|path| (path.to_owned(), data.clone())).collect();
    let Packed { blocks, notices } = prompt.pack(ALL, &files);
    assert_eq!(blocks.len(), together + 1);
    assert_eq!(notices, ["4.png goes as a link: all files of a prompt have 20 MiB at most"]);
}

#[test]
fn what_cannot_be_read_is_left_out() {
    let failed = FileRead::Failed("no such file".to_owned());
    let Packed { blocks, notices } = packed(file("a.png", None), failed, ALL);
    assert_eq!((blocks, notices), (Vec::new(), vec!["a.png is left out: no such file".to_owned()]));
}
