//! Documents are found by what they are, not by what a name looks like.

use std::os::unix::fs::symlink;

use super::nvim::Nvim;

/// Holds (Reading files): File names are never patterns: `x.lua` beside `x.lua.bak`, `[id].tsx`.
#[tokio::test]
async fn names_are_no_patterns() {
    let nvim = Nvim::start("names").await;
    for (asked, open) in [
        ("x.lua", "x.lua.bak"),
        ("[id].tsx", "i.tsx"),
        ("a*.txt", "abc.txt"),
        ("with space%#.txt", "with space.txt"),
        ("ünï.txt", "uni.txt"),
    ] {
        nvim.edit(open, "the other\n").await;
        nvim.command("call setline(1, 'unsaved in the other')").await;
        let path = nvim.put(asked, "this\n");
        assert_eq!(nvim.read(&path).await.unwrap(), "this\n", "{asked}");
        nvim.write(&path, "written\n").await.unwrap();
        assert_eq!(nvim.disk(asked), "written\n");
        assert_eq!(nvim.text().await, "unsaved in the other", "{open}");
        nvim.open(asked).await;
        nvim.command("call setline(1, 'unsaved')").await;
        assert_eq!(nvim.read(&path).await.unwrap(), "unsaved\n", "{asked}");
    }
}

/// Holds (Encodings and line endings): A file opened through a symlink is found, and the link stays.
#[tokio::test]
async fn a_file_opened_through_a_link_is_found_and_the_link_stays() {
    let nvim = Nvim::start("links").await;
    let real = nvim.put("real/file.txt", "one\n");
    symlink(nvim.path("real"), nvim.path("folder")).unwrap();
    symlink("real/file.txt", nvim.path("link.txt")).unwrap();
    for name in ["folder/file.txt", "link.txt"] {
        nvim.open(name).await;
        nvim.command("call setline(1, 'unsaved')").await;
        assert_eq!(nvim.read(&real).await.unwrap(), "unsaved\n", "{name}");
        nvim.command("edit!").await;
        nvim.read(&real).await.unwrap();
        let written = nvim.write(&real, "by the agent\n").await.unwrap();
        assert_eq!(written.path, real);
        assert_eq!(nvim.text().await, "by the agent");
        assert!(nvim.path("link.txt").is_symlink());
        nvim.command("bwipeout").await;
        nvim.write(&real, "one\n").await.unwrap();
    }
}

/// Holds (Encodings and line endings): Spaces, `%`, `#`, quotes and newlines in file names are written to where they say.
#[tokio::test]
async fn any_name_is_written_to_where_it_says() {
    let nvim = Nvim::start("names-any").await;
    for name in [
        "two words.txt",
        " before and after ",
        "100%.txt",
        "a#b.txt",
        "[id].tsx",
        "{a,b}.txt",
        "a|b.txt",
        "quote\"s'.txt",
        "new\nline.txt",
        "tab\tand\\back.txt",
        "$HOME",
        "~",
        "-u",
        "+1",
        "`date`.txt",
        "ünï.txt",
    ] {
        for open in [false, true] {
            let path = nvim.put(name, "one\n");
            if open {
                nvim.open(name).await;
                nvim.lua("_G.before = vim.api.nvim_buf_get_name(0)").await;
            }
            nvim.read(&path).await.unwrap();
            let text = if open { "open\n" } else { "closed\n" };
            nvim.write(&path, text).await.unwrap();
            assert_eq!(nvim.disk(name), text, "{name:?}");
            if open {
                assert_eq!(nvim.text().await + "\n", text, "{name:?}");
                assert_eq!(nvim.eval("vim.api.nvim_buf_get_name(0) == before").await, "true");
                nvim.command("call setline(1, 'unsaved')").await;
                assert_eq!(nvim.read(&path).await.unwrap(), "unsaved\n", "{name:?}");
                nvim.command("bwipeout!").await;
            }
        }
        std::fs::remove_file(nvim.path(name)).unwrap();
    }
    assert_eq!(std::fs::read_dir(nvim.path("")).unwrap().count(), 0, "and nowhere else");
}

/// Holds (Encodings and line endings): A file with several hard links stays one file.
#[tokio::test]
async fn a_file_of_several_names_stays_one() {
    let nvim = Nvim::start("names-hard").await;
    let one = nvim.put("one", "a\n");
    std::fs::hard_link(&one, nvim.path("two")).unwrap();
    nvim.write(&one, "closed\n").await.unwrap();
    assert_eq!(nvim.disk("two"), "closed\n");
    nvim.open("one").await;
    nvim.write(&one, "open\n").await.unwrap();
    assert_eq!(nvim.disk("two"), "open\n");
    nvim.command("call append('$', ['', 'unsaved'])").await;
    nvim.write(&one, "opened\n").await.unwrap();
    assert_eq!((nvim.disk("one"), nvim.disk("two")), ("opened\n".into(), "opened\n".into()));
}
