//! Bytes that are text in one encoding or another, and bytes that are no text.

use std::fs;

use super::nvim::Nvim;

/// Name, bytes, the text an agent reads, what it sends, and the bytes that then are in the file.
type Row = (&'static str, &'static [u8], &'static str, &'static str, &'static [u8]);

const OPEN: [Row; 12] = [
    ("utf-8", b"caf\xc3\xa9\nb\n", "café\nb\n", "café\nB €\n", b"caf\xc3\xa9\nB \xe2\x82\xac\n"),
    ("utf-8 bomb", b"\xef\xbb\xbfa\nb\n", "a\nb\n", "a\nB\n", b"\xef\xbb\xbfa\nB\n"),
    ("latin1", b"caf\xe9\nb\n", "café\nb\n", "café\nBß\n", b"caf\xe9\nB\xdf\n"),
    ("cp1252", b"\x80 caf\xe9\nb\n", "€ café\nb\n", "€ café\n„B“\n", b"\x80 caf\xe9\n\x84B\x93\n"),
    ("koi8-r", b"\xf0\xd2\nb\n", "Пр\nb\n", "Пр\nПр\n", b"\xf0\xd2\n\xf0\xd2\n"),
    ("cp932", b"\x93\xfa\x96\x7b\nb\n", "日本\nb\n", "日本\n日\n", b"\x93\xfa\x96\x7b\n\x93\xfa\n"),
    (
        "utf-16 bomb",
        b"\xfe\xff\0a\0\n\0b\0\n",
        "a\nb\n",
        "a\n𝄞\n",
        b"\xfe\xff\0a\0\n\xd8\x34\xdd\x1e\0\n",
    ),
    (
        "utf-16le bomb",
        b"\xff\xfea\0\n\0b\0\n\0",
        "a\nb\n",
        "a\n€\n",
        b"\xff\xfea\0\n\0\xac\x20\n\0",
    ),
    ("utf-16le", b"a\0\n\0\xe9\0\n\0", "a\né\n", "a\nB\n", b"a\0\n\0B\0\n\0"),
    ("ucs-2", b"\0a\0\n\0b\0\n", "a\nb\n", "a\n€\n", b"\0a\0\n\x20\xac\0\n"),
    ("ucs-4", b"\0\0\0a\0\0\0\n", "a\n", "é\n", b"\0\0\0\xe9\0\0\0\n"),
    ("ucs-4le bomb", b"\xff\xfe\0\0a\0\0\0\n\0\0\0", "a\n", "b\n", b"\xff\xfe\0\0b\0\0\0\n\0\0\0"),
];

/// Opens a file in an encoding, as a user who knows it does.
async fn open_as(nvim: &Nvim, name: &str, bytes: &[u8], row: &str) {
    let encoding = row.split(' ').next().unwrap();
    nvim.put(name, bytes);
    nvim.command(&format!("edit ++enc={encoding} {name}")).await;
    if row.ends_with("bomb") {
        // A mark is looked for under 'fileencodings' only.
        nvim.command("set fileencodings=ucs-bom,utf-8 | edit | set fileencodings&").await;
    }
    assert_eq!(nvim.eval("vim.bo.fileencoding").await, encoding);
    assert_eq!(nvim.eval("vim.bo.bomb").await, row.ends_with("bomb").to_string());
}

/// Holds (Encodings and line endings): Buffers of any 'fileencoding', with or without a byte order mark, are read and written.
#[tokio::test]
async fn a_buffer_of_any_encoding_is_read_and_written() {
    let nvim = Nvim::start("encodings-open").await;
    for (number, (row, bytes, text, sent, written)) in OPEN.into_iter().enumerate() {
        let name = format!("{number}.txt");
        open_as(&nvim, &name, bytes, row).await;
        let path = nvim.path(&name);
        assert_eq!(nvim.read(&path).await.unwrap(), text, "{row}");
        nvim.write(&path, sent).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), written, "{row}");
        assert_eq!(nvim.text().await + "\n", sent, "{row}");
        // Read again after what the user did, and from an unsaved buffer.
        assert_eq!(nvim.read(&path).await.unwrap(), sent, "{row}");
        nvim.command("call append('$', 'unsaved')").await;
        assert_eq!(nvim.read(&path).await.unwrap(), format!("{sent}unsaved\n"), "{row}");
        nvim.command("undo | write").await;
        assert_eq!(fs::read(&path).unwrap(), written, "{row}, written by Neovim");
        nvim.asks_nothing().await;
    }
}

/// Holds (Encodings and line endings): Buffers of any 'fileencoding' follow the disk.
#[tokio::test]
async fn a_buffer_of_any_encoding_follows_the_disk() {
    let nvim = Nvim::start("encodings-follow").await;
    nvim.lua("require('rat.document').start()").await;
    for (number, (row, bytes, _, sent, written)) in OPEN.into_iter().enumerate() {
        let name = format!("{number}.txt");
        open_as(&nvim, &name, bytes, row).await;
        nvim.put(&name, written);
        nvim.disk_changed(&nvim.path(&name)).await.unwrap().unwrap();
        assert_eq!(nvim.text().await + "\n", sent, "{row}");
        assert_eq!(nvim.eval("vim.bo.modified").await, "false", "{row}");
        nvim.command("write").await;
        assert_eq!(fs::read(nvim.path(&name)).unwrap(), written, "{row}");
    }
}

/// Holds (Encodings and line endings): Unsaved changes in any 'fileencoding' stay unsaved.
#[tokio::test]
async fn unsaved_changes_in_any_encoding_stay_unsaved() {
    let nvim = Nvim::start("encodings-unsaved").await;
    for (number, (row, bytes, text, sent, written)) in OPEN.into_iter().enumerate() {
        let name = format!("{number}.txt");
        open_as(&nvim, &name, bytes, row).await;
        nvim.command("call append(0, ['unsaved', ''])").await;
        assert_eq!(nvim.read(&nvim.path(&name)).await.unwrap(), format!("unsaved\n\n{text}"));
        let sent_too = format!("unsaved\n\n{sent}");
        if text.lines().next() == sent.lines().next() {
            nvim.write(&nvim.path(&name), &sent_too).await.unwrap();
            assert_eq!(nvim.text().await + "\n", sent_too, "{row}");
            assert_eq!(fs::read(nvim.path(&name)).unwrap(), written, "{row}");
            assert_eq!(nvim.eval("vim.bo.modified").await, "true", "{row}");
        }
    }
}

/// Holds (Encodings and line endings): A file that is not open is read as UTF-8, UTF-16 by its mark, or else latin1, and keeps its bytes.
#[tokio::test]
async fn a_file_that_is_not_open_keeps_its_encoding() {
    let nvim = Nvim::start("encodings-closed").await;
    let not = ["utf-16le", "ucs-2", "ucs-4"]; // Only a mark tells, and here is none.
    for (row, bytes, text, sent, written) in OPEN {
        if ["cp1252", "koi8-r", "cp932"].contains(&row) {
            continue;
        }
        let path = nvim.put(row, bytes);
        if not.contains(&row) {
            assert!(nvim.read(&path).await.unwrap_err().to_string().contains("is not text"));
            assert!(nvim.write(&path, sent).await.unwrap_err().to_string().contains("is not text"));
            assert_eq!(fs::read(&path).unwrap(), bytes, "{row}");
            continue;
        }
        assert_eq!(nvim.read(&path).await.unwrap(), text, "{row}");
        nvim.write(&path, sent).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), written, "{row}");
    }
    // Any bytes without NUL come back as they were.
    let all: Vec<u8> = (1..=255).chain(*b"\nlast\n").collect();
    let path = nvim.put("all", &all);
    let read = nvim.read(&path).await.unwrap();
    nvim.write(&path, &read.replace("last", "end")).await.unwrap();
    let wanted: Vec<u8> = (1..=255).chain(*b"\nend\n").collect();
    assert_eq!(fs::read(&path).unwrap(), wanted);
    let new = nvim.path("new");
    nvim.write(&new, "é€\n").await.unwrap();
    assert_eq!(fs::read(&new).unwrap(), "é€\n".as_bytes(), "new files are UTF-8");
}

/// Holds (Encodings and line endings): A write with a character the encoding lacks is refused, names it, and changes nothing.
#[tokio::test]
async fn a_character_the_encoding_has_not_is_refused_by_name() {
    let nvim = Nvim::start("encodings-lacking").await;
    let rows: [(&str, &[u8]); 4] = [
        ("latin1", b"\xe9\nb\n"),
        ("cp1252", b"\xe9\nb\n"),
        ("cp932", b"a\nb\n"),
        ("ucs-2", b"\0a\0\n"),
    ];
    for (number, (encoding, bytes)) in rows.into_iter().enumerate() {
        let name = format!("{number}.txt");
        open_as(&nvim, &name, bytes, encoding).await;
        let path = nvim.path(&name);
        let read = nvim.read(&path).await.unwrap();
        for unsaved in [false, true] {
            if unsaved {
                nvim.command("call append('$', ['', 'unsaved'])").await;
            }
            let tick = nvim.eval("vim.b.changedtick").await;
            let error = nvim.write(&path, &format!("𝄞{read}")).await.unwrap_err().to_string();
            assert!(error.contains("'𝄞' (U+1D11E)") && error.contains(encoding), "{error}");
            assert_eq!(nvim.eval("vim.b.changedtick").await, tick, "{encoding}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "{encoding}");
        }
    }
    let path = nvim.put("closed", b"\xe9\n");
    let error = nvim.write(&path, "é€\n").await.unwrap_err().to_string();
    assert!(error.contains("'€' (U+20AC)") && error.contains("latin1"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"\xe9\n");
}

/// Holds (Encodings and line endings): A formatter cannot bring in a character the encoding lacks.
#[tokio::test]
async fn a_formatter_cannot_bring_in_what_the_encoding_has_not() {
    let nvim = Nvim::start("encodings-formatter").await;
    let path = nvim.edit("a.txt", b"\xe9\nb\n").await;
    nvim.command("autocmd BufWritePre * call setline(2, getline(2) .. '€')").await;
    let error = nvim.write(&path, "é\nB\n").await.unwrap_err().to_string();
    assert!(error.contains('€') && error.contains("latin1"), "{error}");
    assert_eq!((nvim.text().await, fs::read(&path).unwrap()), ("é\nb".into(), b"\xe9\nb\n".into()));
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
}

/// Holds (Encodings and line endings): A file that has changed its encoding is followed.
#[tokio::test]
async fn a_file_that_changed_its_encoding_is_followed() {
    let nvim = Nvim::start("encodings-change").await;
    nvim.lua("require('rat.document').start()").await;
    let check = async |name: &str, open: &str, bytes: &[u8], changed: &[u8], encoding: &str| {
        nvim.put(name, bytes);
        nvim.command(&format!("edit {open} {name}")).await;
        nvim.put(name, changed);
        nvim.disk_changed(&nvim.path(name)).await.unwrap();
        assert_eq!(nvim.eval("vim.bo.fileencoding").await, encoding, "{name}");
        assert_eq!(nvim.eval("vim.bo.modified").await, "false", "{name}");
        nvim.command("write").await;
        assert_eq!(fs::read(nvim.path(name)).unwrap(), changed, "{name}");
    };
    check("to utf-8", "", b"caf\xe9\n", "café\n".as_bytes(), "utf-8").await;
    assert_eq!(nvim.text().await, "café");
    check("to latin1", "", "café\n".as_bytes(), b"caf\xe9 \n", "latin1").await;
    assert_eq!(nvim.text().await, "café ");
    check("to utf-16", "", b"a\n", b"\xff\xfea\0\n\0", "utf-16le").await;
    assert_eq!(nvim.eval("vim.bo.bomb").await, "true");
    check("from utf-16", "", b"\xff\xfea\0\n\0", b"b\n", "utf-8").await;
    assert_eq!(nvim.eval("vim.bo.bomb").await, "false");
    check("mark", "", b"a\n", b"\xef\xbb\xbfa\n", "utf-8").await;
    assert_eq!(nvim.eval("vim.bo.bomb").await, "true");
    // ASCII says nothing, and neither does what the user has chosen against all appearance.
    check("ascii", "", b"caf\xe9\n", b"cafe\n", "latin1").await;
    nvim.put("chosen", "é\n");
    nvim.command("edit ++enc=latin1 chosen").await;
    nvim.read(&nvim.path("chosen")).await.unwrap();
    nvim.write(&nvim.path("chosen"), "Ã©\nb\n").await.unwrap();
    nvim.put("chosen", "é\nB\n");
    nvim.disk_changed(&nvim.path("chosen")).await.unwrap();
    assert_eq!(
        (nvim.eval("vim.bo.fileencoding").await, nvim.text().await),
        ("latin1".into(), "Ã©\nB".into())
    );
}

/// Holds (Encodings and line endings): Files with NUL bytes and binary buffers are left alone.
#[tokio::test]
async fn what_is_no_text_is_left_alone() {
    let nvim = Nvim::start("encodings-binary").await;
    let bytes: &[u8] = b"a\0b\nc\xff\n";
    for (name, how) in [("closed", ""), ("open", "edit"), ("binary", "edit ++bin")] {
        let path = nvim.put(name, bytes);
        if !how.is_empty() {
            nvim.command(&format!("{how} {name}")).await;
        }
        let tick = nvim.eval("vim.b.changedtick").await;
        for error in [nvim.read(&path).await.map(drop), nvim.write(&path, "text\n").await.map(drop)]
        {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("is not text"), "{name}: {error}");
        }
        assert_eq!(fs::read(&path).unwrap(), bytes, "{name}");
        assert_eq!(nvim.eval("vim.b.changedtick").await, tick, "{name}");
    }
    // A file that is 'binary' for the user and text all the same.
    nvim.put("text", "a\r\nb");
    nvim.command("edit ++bin text").await;
    let path = nvim.path("text");
    assert_eq!(nvim.read(&path).await.unwrap(), "a\r\nb");
    nvim.write(&path, "A\r\nb").await.unwrap();
    assert_eq!(nvim.disk("text"), "A\r\nb");
    // NUL from the agent goes nowhere.
    for name in ["text", "not there"] {
        let error = nvim.write(&nvim.path(name), "a\0").await.unwrap_err().to_string();
        assert!(error.contains("NUL"), "{error}");
    }
    assert_eq!(nvim.disk("text"), "A\r\nb");
    assert!(!nvim.path("not there").exists());
}
