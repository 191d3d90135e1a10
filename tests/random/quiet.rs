//! What has to hold when nothing is on its way: every change on disk is followed, and nobody is asked anything.

use std::collections::HashSet;

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
        for index in 0..self.files.len() {
            self.check_file(index)
                .await
                .map_err(|why| format!("{}: {why}", self.files[index].name))?;
            self.check_record(index)
                .await
                .map_err(|why| format!("{}, record: {why}", self.files[index].name))?;
        }
        Ok(())
    }

    async fn check_file(&self, index: usize) -> Checked {
        let now = self.look(index).await;
        let Some(text) = &now.text else { return Ok(()) };
        if !now.modified && *text != now.disk {
            return Err(format!("it is unmodified, but has\n{text}and the file\n{}", now.disk));
        }
        Ok(())
    }

    /// The steps lead from the base to the text, and words that came with a step of a session are in one of its steps
    /// first.
    async fn check_record(&self, index: usize) -> Checked {
        let file = &self.files[index];
        let record = within(self.nvim.files.record(&file.path)).await.map_err(|e| e.to_string())?;
        let Some(record) = record else { return Ok(()) };
        let now = self.look(index).await;
        let replayed = record.replay().content();
        if replayed != now.kept() {
            return Err(format!("it leads to\n{replayed}and not to\n{}", now.kept()));
        }
        let base = record.base().content();
        let mut known: HashSet<&str> = each(&base).collect();
        for step in record.steps() {
            let lines = step.hunks.iter().flat_map(|hunk| &hunk.lines);
            let words = lines.flat_map(|line| each(line));
            for word in words.filter(|word| known.insert(word)) {
                let by = step.by.as_ref().map(|origin| origin.by.session.session.to_string());
                if file.expected.came_by(word).is_some_and(|session| by.as_deref() != Some(session))
                {
                    let came_by = file.expected.came_by(word);
                    return Err(format!("{word} came by {came_by:?}, and not by {by:?}"));
                }
            }
        }
        Ok(())
    }
}
