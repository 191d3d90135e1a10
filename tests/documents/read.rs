//! `fs/read_text_file`: unsaved text, parts, shapes, and what is no text.

use rat_nvim::core::messages::agent::{INTERNAL_ERROR, NOT_FOUND};
use rat_nvim::documents::editor::Editor;

use super::nvim::{Nvim, within};

/// ACP 88.
/// Holds (Reading files): The agent reads the unsaved text of a buffer, and the file where there is none.
#[tokio::test]
async fn unsaved_text_is_read_and_other_text_from_the_disk() {
    let nvim = Nvim::start("read-unsaved").await;
    let path = nvim.edit("a.txt", "one\ntwo\nthree\n").await;
    assert_eq!(nvim.read(&path).await.unwrap(), "one\ntwo\nthree\n");
    nvim.command("call setline(2, 'unsaved')").await;
    assert_eq!(nvim.read(&path).await.unwrap(), "one\nunsaved\nthree\n");
    nvim.command("call append('$', ['four', ''])").await;
    assert_eq!(nvim.read(&path).await.unwrap(), "one\nunsaved\nthree\nfour\n\n");
    let closed = nvim.put("closed.txt", "closed\n");
    assert_eq!(nvim.read(&closed).await.unwrap(), "closed\n");
    nvim.command("%delete").await;
    assert_eq!(nvim.read(&path).await.unwrap(), "", "an emptied buffer is an empty file");
}

/// ACP 89, 90, 91.
/// Holds (Reading files): `line` counts from 1, `limit` may exceed the file, and a `line` past the end gives an empty text.
#[tokio::test]
async fn line_and_limit_count_from_one_and_end_at_the_end() {
    let nvim = Nvim::start("read-part").await;
    let path = nvim.edit("a.txt", "1\r\n2\r\n3\r\n4").await;
    for unsaved in [false, true] {
        if unsaved {
            nvim.command("setlocal nofixendofline | call setline(1, 'one')").await;
        }
        let part = async |line, limit| nvim.read_part(&path, line, limit).await.unwrap();
        assert_eq!(part(Some(2), Some(2)).await, "2\r\n3\r\n");
        assert_eq!(part(Some(4), Some(9)).await, "4");
        assert_eq!(part(Some(3), None).await, "3\r\n4");
        assert_eq!(part(None, Some(0)).await, "");
        assert_eq!(part(Some(5), Some(1)).await, "");
        assert_eq!(part(Some(0), Some(1)).await, part(Some(1), Some(1)).await);
        assert_eq!(part(Some(u32::MAX), Some(u32::MAX)).await, "");
    }
}

/// Holds (Reading files): After a partial read, a write refers to the whole text of that moment.
#[tokio::test]
async fn a_part_read_refers_to_the_whole_text_of_that_moment() {
    let nvim = Nvim::start("read-part-known").await;
    let long = (0..20_000).map(|i| format!("line {i}\n")).collect::<String>();
    for (name, rest) in [("short.txt", ""), ("long.txt", long.as_str())] {
        let path = nvim.edit(name, format!("1\n2\n3\n4\n{rest}")).await;
        nvim.command("call setline(4, 'unsaved')").await;
        assert_eq!(nvim.read_part(&path, Some(1), Some(1)).await.unwrap(), "1\n");
        assert_eq!(nvim.read_part(&path, Some(4), Some(1)).await.unwrap(), "unsaved\n");
        if rest.is_empty() {
            // The agent rewrites all of it from what it knows; the user has taken back a line it had seen.
            nvim.command("call setline(4, 'later')").await;
        }
        nvim.write(&path, &format!("one\n2\n3\nunsaved\n{rest}")).await.unwrap();
        let fourth = if rest.is_empty() { "later" } else { "unsaved" };
        assert_eq!(nvim.text().await + "\n", format!("one\n2\n3\n{fourth}\n{rest}"));
    }
}

/// ACP 93.
/// Holds (Reading files): A missing file is -32002; a file that is not text is an error that says so.
#[tokio::test]
async fn what_is_no_text_and_what_is_not_there_are_told_apart() {
    let nvim = Nvim::start("read-errors").await;
    let missing = nvim.read(&nvim.path("none")).await.unwrap_err();
    assert_eq!(missing.code(), NOT_FOUND);
    assert!(missing.to_string().contains("does not exist"), "{missing}");
    let error = nvim.read(&nvim.put("binary", b"a\0b\n")).await.unwrap_err();
    assert_eq!(error.code(), INTERNAL_ERROR);
    assert!(error.to_string().contains("is not text"), "{error}");
    let nul = nvim.edit("nul.txt", "a\n").await;
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a\\0b' })").await;
    assert!(nvim.read(&nul).await.unwrap_err().to_string().contains("is not text"));
    let folder = nvim.read(&nvim.path("")).await.unwrap_err();
    assert!(folder.to_string().contains("not a regular file"), "{folder}");
}

/// ACP 92.
/// Holds (Reading files): The agent reads the text that saving would write, without a byte order mark.
#[tokio::test]
async fn text_is_as_saving_would_write_it() {
    let nvim = Nvim::start("read-shape").await;
    let check = async |name: &str, bytes: &[u8], content: &str, unsaved: &str| {
        let path = nvim.edit(name, bytes).await;
        assert_eq!(nvim.read(&path).await.unwrap(), content, "{name}, on disk");
        nvim.command("call setline(1, getline(1) .. '!')").await;
        assert_eq!(nvim.read(&path).await.unwrap(), unsaved, "{name}, unsaved");
    };
    check("latin1", b"caf\xe9\n", "café\n", "café!\n").await;
    check("crlf", b"a\r\nb\r\n", "a\r\nb\r\n", "a!\r\nb\r\n").await;
    check("bom", b"\xef\xbb\xbfa\n", "a\n", "a!\n").await;
    check("noeol", b"a\nb", "a\nb", "a!\nb\n").await;
    nvim.command("set nofixendofline").await;
    check("noeol kept", b"a\nb", "a\nb", "a!\nb").await;
    check("mixed", b"a\nb\r\n", "a\nb\r\n", "a!\nb\r\n").await;
}

/// Holds (Messages between Lua and the binary): An answer from Lua is read whole, or refused with the path of the wrong field.
#[tokio::test]
async fn an_answer_that_makes_no_sense_is_refused_with_the_field() {
    let nvim = Nvim::start("read-nonsense").await;
    let path = nvim.edit("a.txt", "one\n").await;
    let broken = "local buffers = require('rat.document.buffers')
        local find = buffers.find
        buffers.find = function(...)
          local facts = find(...)
          facts.shape.eol = 'yes'
          return facts
        end";
    nvim.lua(broken).await;
    let error = within(nvim.editor.find(&path, None)).await.unwrap_err().to_string();
    let answer = "unexpected answer from rat.document.buffers.find";
    assert_eq!(error, format!("{answer}: shape.eol: expected a boolean, got text"));
}
