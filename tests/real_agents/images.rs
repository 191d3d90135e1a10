//! Images in prompts: each of these agents takes them, and hands them on to its model.

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_agent};

with_each_agent!(sees_an_image);

/// A PNG of one red pixel, whole: agents look into what they are given.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, b'I', b'D', b'A', b'T',
    0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0xc9, 0xfe, 0x92, 0xef, 0, 0, 0, 0, b'I',
    b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// How it begins in base64; an agent may write it anew, but not its first chunk.
const BEGINNING: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";

/// Holds (Content): Real agents see the images they are sent.
fn sees_an_image(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    std::fs::write(chat.path("pixel.png"), PIXEL).unwrap();
    chat.ask_and_wait("[[say Red.]] @pixel.png");
    let transcript = chat.transcript();
    assert!(transcript.contains("pixel.png") && transcript.ends_with("Red."), "{transcript}");
    let asked = chat.asked_of_model();
    let seen = match kind {
        // It has got the image, and tells its model, which is configured to take none.
        Kind::OpenCode => r#"Cannot read \"pixel.png\" (this model does not support image input)"#,
        _ => BEGINNING,
    };
    assert!(asked.iter().any(|body| body.contains(seen)), "its model was asked without: {asked:?}");
    chat.finish();
}
