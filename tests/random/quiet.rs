//! What has to hold when nothing is on its way: every change on disk is followed, and nobody is asked anything.

use std::collections::HashSet;

use rat_nvim::edit::{Hunk, PendingHunk, apply};

use super::model::Checked;
use super::nvim::within;
use super::words::each;
use super::world::World;

impl World {
    pub(crate) async fn quiet(&mut self) -> Checked {
        self.trail.note("quiet");
        for index in 0..self.files.len() {
            self.follows(index).await?;
        }
        self.pass_on().await;
        self.check_files().await?;
        for index in 0..self.files.len() {
            self.check_record(index)
                .await
                .map_err(|why| format!("{}, record: {why}", self.files[index].name))?;
        }
        Ok(())
    }

    /// An unmodified buffer has the text of its file, unless that has changed and nobody was told yet.
    pub(crate) async fn check_files(&self) -> Checked {
        for file in self.files.iter().filter(|file| file.is_open && file.pending.is_none()) {
            let now = self.desk.look(&file.path).await;
            if !now.modified && now.kept() != now.disk {
                let (name, text, disk) = (&file.name, now.kept(), &now.disk);
                return Err(format!(
                    "{name}: it is unmodified, but has\n{text}and the file\n{disk}"
                ));
            }
        }
        Ok(())
    }

    /// Base and pending hunks give the text, and words that came with a step of a session are in one of its steps first.
    pub(crate) async fn check_record(&self, index: usize) -> Checked {
        let file = &self.files[index];
        let record =
            within(self.desk.documents().record(&file.path)).await.map_err(|e| e.to_string())?;
        let Some(record) = record else { return Ok(()) };
        let now = self.look(index).await;
        let (base, text) = (record.base(), record.current());
        if text.content() != now.kept() {
            return Err(format!("it leads to\n{}and not to\n{}", text.content(), now.kept()));
        }
        let pending = record.pending();
        let hunk = |hunk: &PendingHunk| {
            let lines = hunk.text.clone().map(|row| text.line(row).to_owned()).collect();
            Hunk { start: hunk.base.start, removed: hunk.base.len(), lines }
        };
        let hunks: Vec<Hunk> = pending.iter().map(hunk).collect();
        if !apply(&hunks, &base).same_lines(text) {
            return Err(format!("not the text: {hunks:?} in\n{}", base.content()));
        }
        let mut known: HashSet<&str> = HashSet::new();
        for (step, line) in record.lines() {
            for word in each(line).filter(|word| known.insert(word)) {
                let by = record.origin(step).map(|origin| origin.by.session.session.to_string());
                let came_by = file.expected.came_by(word);
                if came_by.is_some_and(|session| by.as_deref() != Some(session)) {
                    return Err(format!("{word} came by {came_by:?}, and not by {by:?}"));
                }
            }
        }
        Ok(())
    }
}
