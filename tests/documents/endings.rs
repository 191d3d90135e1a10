//! Line ends, final newlines and empty files: what is in the file stays in the file.

use std::fs;

use super::nvim::Nvim;

async fn format(nvim: &Nvim) -> String {
    nvim.eval("vim.bo.fileformat .. (vim.bo.endofline and '' or ' noeol')").await
}

/// ACP 92.
/// Holds (Encodings and line endings): LF, CRLF, CR and mixed line endings stay as they are.
#[tokio::test]
async fn line_ends_stay_as_they_are() {
    let nvim = Nvim::start("endings-kept").await;
    nvim.command("set fileformats=unix,dos,mac").await;
    let check = async |how: &str, content: &str, sent: &str, written: &str| {
        let name = format!("{how}.txt");
        nvim.put(&name, content);
        nvim.command(&format!("edit {name}")).await;
        let closed = nvim.put(&format!("{how} closed"), content);
        for path in [nvim.path(&name), closed] {
            assert_eq!(nvim.read(&path).await.unwrap(), content, "{how}");
            nvim.write(&path, sent).await.unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), written, "{how}");
            assert_eq!(nvim.read(&path).await.unwrap(), written, "{how}");
        }
        nvim.command("silent write").await;
        let kept = fs::read_to_string(nvim.path(&name)).unwrap();
        let fixed = if kept == written { kept } else { kept.trim_end().to_owned() };
        assert_eq!(fixed, written, "{how}: 'fixendofline' adds the last end at most");
        nvim.command("bwipeout").await;
    };
    check("unix", "a\nb\n", "a\nB\n", "a\nB\n").await;
    check("dos", "a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\n").await;
    check("dos sent as unix", "a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n").await;
    check("unix sent as dos", "a\nb\n", "a\r\nB\r\n", "a\nB\n").await;
    check("mixed", "a\r\nb\nc\n", "a\r\nB\nc\n", "a\r\nB\nc\n").await;
    check("mac", "a\rb\r", "a\rB\r", "a\rB\r").await;
    check("mac sent as unix", "a\rb\r", "a\nB\n", "a\rB\r").await;
    check("no end", "a\nb", "a\nB", "a\nB").await;
    check("dos no end", "a\r\nb", "a\r\nB", "a\r\nB").await;
    check("mac no end", "a\rb", "a\rB", "a\rB").await;
    check("end goes", "a\nb\n", "a\nb", "a\nb").await;
    check("end comes", "a\nb", "a\nb\n", "a\nb\n").await;
}

/// ACP 92.
/// Holds (Encodings and line endings): A missing final newline stays missing.
#[tokio::test]
async fn no_final_newline_stays_none_through_writes() {
    let nvim = Nvim::start("endings-noeol").await;
    let path = nvim.edit("a.txt", "a\nb").await;
    for line in ["c", "d", "e"] {
        nvim.write(&path, &format!("a\n{line}")).await.unwrap();
        assert_eq!(nvim.disk("a.txt"), format!("a\n{line}"));
    }
    // Merged into a buffer with unsaved changes, and kept by the user's own save where so configured.
    nvim.command("set nofixendofline | call setline(1, 'user')").await;
    nvim.write(&path, "a\nf").await.unwrap();
    assert_eq!(nvim.disk("a.txt"), "a\nf");
    nvim.command("write").await;
    assert_eq!(nvim.disk("a.txt"), "user\nf");
    assert_eq!(nvim.eval("vim.bo.endofline").await, "false");
}

/// Holds (Encodings and line endings): Empty files and empty texts are read and written.
#[tokio::test]
async fn empty_files_and_empty_texts() {
    let nvim = Nvim::start("endings-empty").await;
    for name in ["open", "closed"] {
        let path = nvim.put(name, "");
        if name == "open" {
            nvim.open(name).await;
        }
        assert_eq!(nvim.read(&path).await.unwrap(), "");
        for text in ["a\nb\n", "", "\n", "\n\n", "a", "", "no end"] {
            nvim.write(&path, text).await.unwrap();
            assert_eq!(nvim.disk(name), text, "{name}");
            assert_eq!(nvim.read(&path).await.unwrap(), text, "{name}");
        }
    }
    nvim.command("silent %delete").await;
    assert_eq!(nvim.read(&nvim.path("open")).await.unwrap(), "");
    nvim.write(&nvim.path("open"), "anew\n").await.unwrap();
    assert_eq!(nvim.text().await, "anew");
}

/// Holds (Encodings and line endings): A change of the line endings alone is followed.
#[tokio::test]
async fn a_file_whose_line_ends_alone_changed_is_followed() {
    let nvim = Nvim::start("endings-follow").await;
    nvim.lua("require('rat.document').start()").await;
    nvim.command("set fileformats=unix,dos,mac nofixendofline").await;
    let check = async |before: &str, after: &str, wanted: &str| {
        let path = nvim.put("a.txt", before);
        nvim.command("edit! a.txt").await;
        nvim.lua("listen()").await;
        nvim.put("a.txt", after);
        let written = nvim.disk_changed(&path).await.unwrap();
        assert_eq!(format(&nvim).await, wanted, "{before:?} to {after:?}");
        assert_eq!(nvim.eval("vim.bo.modified").await, "false");
        if Some(before.lines().count()) == Some(after.lines().count()) && !after.contains('+') {
            assert!(written.is_none() || wanted == "unix", "no line is another");
            assert_eq!(
                nvim.eval("#vim.tbl_filter(function(s) return s == 'reload' end, seen)").await,
                "0"
            );
        }
        assert_eq!(nvim.read(&path).await.unwrap(), after);
        nvim.command("silent write").await;
        nvim.asks_nothing().await;
        assert_eq!(nvim.disk("a.txt"), after, "the next :write keeps it");
        nvim.command("call setline(1, getline(1) .. '!') | write").await;
        let first = after.find(['\r', '\n']).unwrap_or(after.len());
        assert_eq!(nvim.disk("a.txt"), format!("{}!{}", &after[..first], &after[first..]));
    };
    check("a\r\nb\r\n", "a\nb\n", "unix").await;
    check("a\nb\n", "a\r\nb\r\n", "dos").await;
    check("a\nb\n", "a\r\nb+\r\n", "dos").await;
    check("a\nb\n", "a\rb\r", "mac").await;
    check("a\rb\r", "a\nb\n", "unix").await;
    check("a\nb\n", "a\nb", "unix noeol").await;
    check("a\nb", "a\nb\n", "unix").await;
    check("a\r\nb\r\n", "a\r\nb", "dos noeol").await;
    // One line with another end: Neovim would show the others', and so do we. Nothing is evened out.
    check("a!\r\nb\r\n", "a!\nb\r\n", "unix").await;
}

/// Holds (Encodings and line endings): Line endings the user has chosen stay chosen.
#[tokio::test]
async fn line_ends_the_user_has_chosen_stay_chosen() {
    let nvim = Nvim::start("endings-chosen").await;
    nvim.lua("require('rat.document').start()").await;
    for known in [false, true] {
        let path = nvim.put("a.txt", "a\r\nb\r\n");
        nvim.command("edit! ++ff=unix a.txt").await;
        if known {
            nvim.write(&path, "a\r\nb\r\nc\r\n").await.unwrap();
        }
        nvim.put("a.txt", "a\r\nB\r\n");
        nvim.disk_changed(&path).await.unwrap().unwrap();
        assert_eq!((format(&nvim).await, nvim.text().await), ("unix".into(), "a\r\nB\r".into()));
    }
    // What the agent has read as unix is the same text when the user has it read as dos.
    nvim.read(&nvim.path("a.txt")).await.unwrap();
    nvim.command("edit! ++ff=dos a.txt").await;
    nvim.write(&nvim.path("a.txt"), "a\nb\n").await.unwrap();
    assert_eq!((nvim.text().await, nvim.disk("a.txt")), ("a\nb".into(), "a\r\nb\r\n".into()));
    // 'fileformats' without dos: a carriage return is a character like any other.
    nvim.command("set fileformats=unix").await;
    let path = nvim.edit("b.txt", "a\nb\n").await;
    nvim.put("b.txt", "a\r\nb\r\n");
    nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!((format(&nvim).await, nvim.text().await), ("unix".into(), "a\r\nb\r".into()));
    nvim.command("write").await;
    assert_eq!(nvim.disk("b.txt"), "a\r\nb\r\n");
}

/// Holds (Encodings and line endings): Unsaved changes survive a change of the line endings on disk.
#[tokio::test]
async fn unsaved_changes_outlive_a_change_of_the_line_ends() {
    let nvim = Nvim::start("endings-unsaved").await;
    nvim.lua("require('rat.document').start()").await;
    let path = nvim.edit("a.txt", "a\r\nb\r\nc\r\n").await;
    nvim.read(&path).await.unwrap();
    super::nvim::within(nvim.files.record_baseline(&path)).await.unwrap();
    nvim.command("call setline(1, 'user')").await;
    nvim.put("a.txt", "a\nb\nC\n");
    nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(nvim.text().await, "user\nb\nC");
    assert_eq!(
        (format(&nvim).await, nvim.eval("vim.bo.modified").await),
        ("unix".into(), "true".into())
    );
    nvim.command("write").await;
    assert_eq!(nvim.disk("a.txt"), "user\nb\nC\n");
    // What the user has set and not saved is not written behind the user's back.
    nvim.command("set fileformat=dos").await;
    nvim.read(&path).await.unwrap();
    nvim.write(&path, "user\nB\nC\n").await.unwrap();
    assert_eq!(nvim.disk("a.txt"), "user\nB\nC\n");
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    nvim.command("write").await;
    assert_eq!(nvim.disk("a.txt"), "user\r\nB\r\nC\r\n");
}
