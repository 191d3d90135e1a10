//! Commands that a session runs: they read what is on disk when they begin, so they know what the user has saved by then.

use std::fs;
use std::time::SystemTime;

use rat_nvim::core::messages::files::CallState;
use rat_nvim::session::author::Author;

use super::disk;
use super::model::{Checked, shown};
use super::nvim::within;
use super::world::{SESSIONS, World};

impl World {
    /// Who runs a command now, if a tool call of a running turn can: the file is open, and nothing is on its way anywhere. What a
    /// tool call did of which nobody was told would be taken for the command's, which begins right after it.
    pub(crate) fn runs_as(&mut self, index: usize, session: usize) -> Option<Author> {
        let is_quiet = self.files.iter().all(|file| file.pending.is_none());
        let is_quiet = is_quiet && self.files[index].is_open && self.turns.is_some();
        let by = Author { tool_call: Some("command".into()), ..self.author(session) };
        (is_quiet && by.turn > 0).then_some(by)
    }

    /// Changes, deletes or adds a line of a file, whoever wrote it, and is followed at once.
    pub(crate) async fn runs_a_command(
        &mut self,
        index: usize,
        session: usize,
        by: Author,
    ) -> Checked {
        let path = self.files[index].path.clone();
        let text = fs::read_to_string(&path).unwrap();
        self.desk.documents().call_is(&by, CallState::Runs, true);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = self.dice.within(0..lines.len().max(1)).min(lines.len());
        let word = self.word(SESSIONS[session]);
        let what = if lines.is_empty() || self.dice.once_in(3) {
            lines.insert(at, word);
            "adds"
        } else if self.dice.once_in(3) {
            lines.remove(at);
            "deletes"
        } else {
            lines[at] = word;
            "changes"
        };
        let name = self.files[index].name.clone();
        self.trail.note(format!("{}: a command {what} line {at} of {name}", SESSIONS[session]));
        let new: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        if self.dice.once_in(2) {
            disk::overwrite(&path, &new);
        } else {
            disk::replace(&path, &new);
        }
        self.files[index].pending = Some(session);
        self.came_on_disk(index, &text);

        let was = self.look(index).await;
        let result = within(self.desk.documents().disk_changed(&path, &by)).await;
        self.desk.documents().call_is(&by, CallState::Ended, true);
        // What comes next must not seem to have come before.
        disk::lets_clock_reach(SystemTime::now()).await;
        let result = result.map_err(|error| format!("not followed: {error}"))?;
        self.pass_on().await;
        let now = self.look(index).await;
        self.files[index].pending = None;
        self.is_nobodys(index, &by, &now).await?;
        self.is_brought_on_disk(index, by.turn, (&was, &now));
        let before = self.files[index].knows[session].sees(&text);
        let mut checked = self.check_follow(index, session, result.as_ref(), (&was, &now));
        self.files[index].knows[session].forgets(before);
        let is_plain = now.kept() == now.disk && !now.modified;
        if !was.modified && !is_plain {
            checked = checked.and(Err("it is no plain change of what was saved".to_owned()));
        }
        checked.map_err(|why| format!("{why}\n{}", shown(&was, &now)))
    }
}
