//! Files are found by what they are, not by what a name looks like.

use std::os::unix::fs::symlink;

use super::nvim::Nvim;

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
