//! Which of several sessions was used last.

use super::*;

/// Holds (Sessions): The session that was used last is resumed, even if others were open when Neovim was left, or their agent has ended since.
#[tokio::test]
async fn a_save_of_nothing_is_no_use() {
    let folder = Folder::new("uses");
    let store = folder.store();
    for id in ["1", "2", "3", "2"] {
        store.save(session(id), false, vec![(0, message("a"))]);
    }
    for id in ["3", "2", "1"] {
        store.save(session(id), false, vec![(1, note("the agent has ended"))]);
        store.save(session(id), false, Vec::new());
    }
    store.flush();
    assert_eq!(ids(&store).await, ["2", "3", "1"]);
    drop(store);
    let store = folder.store();
    store.save(session("1"), false, Vec::new());
    assert_eq!(ids(&store).await, ["1", "2", "3"], "opened by this program");
}
