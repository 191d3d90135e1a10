//! Tests of `session::prompt`.

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
        part: None,
        mime: mime.map(str::to_owned),
        body: Body::File(PathBuf::from("/p").join(name)),
    }
}

fn read(bytes: &[u8]) -> FileRead {
    FileRead::Data { data: encode(bytes), size: bytes.len(), media: sniff(bytes), changed: None }
}

/// Packs a prompt with one file.
fn packed(attachment: Attachment, read: FileRead, capabilities: PromptCapabilities) -> Packed {
    let Body::File(path) = attachment.body.clone() else { panic!("a file") };
    let files = FilesRead::from([(path, read)]);
    Prompt { text: String::new(), attachments: vec![attachment], ..Prompt::default() }.pack(
        capabilities,
        &files,
        true,
    )
}

fn link(name: &str, mime: Option<&str>) -> Content {
    file(name, mime).link(None)
}

/// Holds (Content): A link to a file says when the file was changed.
#[test]
fn a_link_says_when_the_file_was_changed() {
    let prompt = Prompt { attachments: vec![file("cat.png", None)], ..Prompt::default() };
    let path = PathBuf::from("/p/cat.png");
    let data = FileRead::Data {
        data: encode(PNG),
        size: PNG.len(),
        media: sniff(PNG),
        changed: Some(951_782_400),
    };
    for read in [data, FileRead::TooLarge { bytes: 7 << 20, changed: Some(951_782_400) }] {
        let packed =
            prompt.pack(PromptCapabilities::default(), &[(path.clone(), read)].into(), true);
        let [Content::ResourceLink { about, .. }] = &packed.blocks[..] else {
            panic!("{:?}", packed.blocks)
        };
        assert_eq!(about.last_modified.as_deref(), Some("2000-02-29T00:00:00Z"));
    }
}

#[test]
fn a_part_of_a_line_is_named_in_the_title() {
    let text = Body::Text("two".to_owned());
    let whole = Attachment { lines: Some((3, 3)), body: text, ..file("a.txt", None) };
    assert_eq!(whole.title(), "a.txt:3");
    let part = Attachment { part: Some("columns 5-7".to_owned()), ..whole };
    assert_eq!(part.title(), "a.txt:3 (columns 5-7)");
    let prompt = Prompt { text: String::new(), attachments: vec![part], ..Prompt::default() };
    let packed = prompt.pack(PromptCapabilities::default(), &FilesRead::default(), true);
    let said = Content::Text("a.txt:3 (columns 5-7):\n```\ntwo\n```".to_owned());
    assert_eq!(packed.blocks.last(), Some(&said));
}

#[test]
fn images_and_audio_are_embedded_if_the_agent_accepts_them() {
    let png = || file("a.png", Some("image/png"));
    let Packed { blocks, notices } = packed(png(), read(PNG), ALL);
    let uri = Some("file:///p/a.png".to_owned());
    let (mime, data, about) = ("image/png".to_owned(), encode(PNG), About::default());
    assert_eq!((blocks, notices), (vec![Content::Image { mime, data, uri, about }], Vec::new()));
    let capabilities = PromptCapabilities { image: false, ..ALL };
    let Packed { blocks, notices } = packed(png(), read(PNG), capabilities);
    assert_eq!(blocks, [link("a.png", Some("image/png"))]);
    assert_eq!(notices, ["a.png was sent as a link: the agent does not accept images"]);

    let ogg = || file("a.ogg", Some("audio/ogg"));
    let Packed { blocks, .. } = packed(ogg(), read(OGG), ALL);
    assert!(matches!(&blocks[..], [Content::Audio { mime, .. }] if mime == "audio/ogg"));
    let capabilities = PromptCapabilities { audio: false, ..ALL };
    let Packed { notices, .. } = packed(ogg(), read(OGG), capabilities);
    assert_eq!(notices, ["a.ogg was sent as a link: the agent does not accept audio"]);
}

#[test]
fn the_media_type_is_detected_by_content_not_by_name() {
    let Packed { blocks, .. } = packed(file("a.jpg", Some("image/jpeg")), read(PNG), ALL);
    assert!(matches!(&blocks[..], [Content::Image { mime, .. }] if mime == "image/png"));
    let Packed { blocks, notices } = packed(file("a.bmp", Some("image/bmp")), read(b"BM"), ALL);
    assert_eq!(blocks, [link("a.bmp", Some("image/bmp"))]);
    assert_eq!(notices, ["a.bmp was sent as a link: it is not a PNG, JPEG, GIF or WebP image"]);
}

#[test]
fn other_files_are_embedded_or_linked_without_a_notice() {
    let Packed { blocks, notices } = packed(file("a.bin", None), read(b"\0\x01"), ALL);
    assert!(matches!(&blocks[..], [Content::Blob { mime: None, .. }]));
    assert!(notices.is_empty());
    let capabilities = PromptCapabilities { embedded: false, ..ALL };
    let Packed { blocks, notices } = packed(file("a.bin", None), read(b"\0\x01"), capabilities);
    assert_eq!((blocks, notices), (vec![link("a.bin", None)], Vec::new()));
}

#[test]
fn files_that_are_too_large_are_linked_with_a_notice() {
    let large = FileRead::TooLarge { bytes: 7 << 20, changed: None };
    let Packed { blocks, notices } = packed(file("a.png", Some("image/png")), large, ALL);
    assert_eq!(blocks, [link("a.png", Some("image/png"))]);
    assert_eq!(notices, ["a.png was sent as a link: it has 7 MiB, the limit is 5 MiB"]);
    let count = MAX_TOTAL / MAX_MEDIA + 1;
    let names = (0..count).map(|number| format!("{number}.png"));
    let attachments: Vec<_> = names.map(|name| file(&name, Some("image/png"))).collect();
    let prompt = Prompt { text: "see".to_owned(), attachments, ..Prompt::default() };
    let data =
        FileRead::Data { data: encode(PNG), size: MAX_MEDIA, media: sniff(PNG), changed: None };
    let files = prompt.files().map(|path| (path.to_owned(), data.clone())).collect();
    let Packed { blocks, notices } = prompt.pack(ALL, &files, true);
    assert_eq!(blocks.len(), count + 1);
    assert_eq!(
        notices,
        ["4.png was sent as a link: the files of one prompt may have 20 MiB in total"]
    );
}

#[test]
fn files_that_cannot_be_read_are_omitted_with_a_notice() {
    let failed = FileRead::Failed("no such file".to_owned());
    let Packed { blocks, notices } = packed(file("a.png", None), failed, ALL);
    assert_eq!(
        (blocks, notices),
        (Vec::new(), vec!["Could not attach a.png: no such file".to_owned()])
    );
}

#[test]
fn an_agent_that_cannot_open_links_is_sent_none() {
    let large = file("data.bin", None);
    let Body::File(path) = large.body.clone() else { panic!("a file") };
    let files = FilesRead::from([(path, FileRead::TooLarge { bytes: 5 << 20, changed: None })]);
    let prompt = Prompt { text: "look".to_owned(), attachments: vec![large], ..Prompt::default() };
    let Packed { blocks, notices } = prompt.pack(ALL, &files, false);
    assert_eq!(blocks, [Content::Text("look".to_owned())]);
    assert_eq!(notices, ["Could not attach data.bin: it has 5 MiB, the limit is 1 MiB"]);
}
