//! What agents do: two sessions that read and write through the protocol, through the disk, twice, and with a shell. Each
//! step is checked against the model.

use std::fs;
use std::ops::Range;

use rat_nvim::core::messages::files::Consent;
use rat_nvim::core::messages::policy::WriteDirty;
use rat_nvim::documents::{AgentChange, DocumentError, ReadRequest, WriteRequest};

use super::desk::Act;
use super::disk;
use super::model::{Checked, Look, is_on_disk, shown};
use super::nvim::within;
use super::user::SORTED;
use super::words::{each, edited, gone, is_untouched, words};
use super::world::{SESSIONS, World, key};

impl World {
    pub(crate) async fn agent(&mut self) -> Checked {
        let (index, session) = (self.dice.within(0..self.files.len()), self.dice.within(0..2));
        self.begins_turn(session).await;
        // Mostly where the user is.
        let index = if self.dice.once_in(2) { self.at } else { index };
        match self.dice.within(0..16) {
            0..2 => self.reads(index, session).await,
            2..6 => {
                self.reads(index, session).await?;
                self.writes(index, session, false).await
            }
            6..8 => self.writes(index, session, false).await,
            8 => self.writes(index, session, true).await,
            9 => self.sees(index, session).await,
            10..12 => {
                self.sees(index, session).await?;
                self.writes_to_disk(index, session, false).await
            }
            12 => self.writes_to_disk(index, session, self.typing).await,
            13 => self.writes_to_disk(index, session, true).await,
            14 => self.runs_a_shell(index, session).await,
            _ => self.follows(index).await,
        }
    }

    async fn reads(&mut self, index: usize, session: usize) -> Checked {
        let (path, name) = (self.files[index].path.clone(), SESSIONS[session]);
        self.trail.note(format!("{name}: reads {}", self.files[index].name));
        let was = self.look(index).await;
        let by = key(session);
        let request = ReadRequest { session: by, path, line: None, limit: None };
        let text = within(self.desk.documents().read(request)).await.map_err(|e| e.to_string())?;
        let wanted = if was.modified { was.kept() } else { &was.disk };
        if text != wanted {
            return Err(format!("{name} has read\n{text}and not\n{wanted}"));
        }
        self.has_read(index, session, &text);
        Ok(())
    }

    fn has_read(&mut self, index: usize, session: usize, text: &str) {
        let file = &mut self.files[index];
        file.expected.is_read(&mut file.knows[session], text, file.pending.is_some());
        if !file.is_open {
            file.expected.is_seen(text);
        }
    }

    async fn sees(&mut self, index: usize, session: usize) -> Checked {
        if !self.reads_disk[session] {
            return self.reads(index, session).await;
        }
        let (path, name) = (self.files[index].path.clone(), SESSIONS[session]);
        self.trail.note(format!("{name}: sees {}", self.files[index].name));
        let text = fs::read_to_string(&path).unwrap();
        let by = key(session);
        within(self.desk.documents().agent_read_disk(&path, &by))
            .await
            .map_err(|error| error.to_string())?;
        self.files[index].knows[session].reads_disk = true;
        self.has_read(index, session, &text);
        Ok(())
    }

    /// An edit of what the session last knew, or of a text it knew long ago.
    fn edits(
        &mut self,
        index: usize,
        session: usize,
        stale: bool,
    ) -> (String, Option<Vec<Range<usize>>>) {
        let known = &self.files[index].knows[session];
        let is_last = !stale || known.old.is_empty();
        let last = known.text.as_deref().unwrap_or_default();
        let text = if is_last { last } else { self.dice.pick(&known.old).as_str() }.to_owned();
        let mut made = std::mem::take(&mut self.made);
        let edited = edited(&mut self.dice, &text, || {
            made += 1;
            format!("{}-{made:06}", SESSIONS[session])
        });
        self.made = made;
        (edited.text, is_last.then_some(edited.touched))
    }

    async fn writes(&mut self, index: usize, session: usize, stale: bool) -> Checked {
        let (path, name) = (self.files[index].path.clone(), SESSIONS[session]);
        if self.files[index].knows[session].text.is_none() {
            self.sees(index, session).await?;
        }
        let (content, touched) = self.edits(index, session, stale);
        let twice = self.dice.once_in(4);
        let is_quicker = twice && self.dice.once_in(2);
        if is_quicker {
            self.trail.note(format!("{name}: writes {} to the disk first", self.files[index].name));
            self.put(index, session, &content, touched.is_none());
        }
        let was = self.look(index).await;
        let base = self.files[index].knows[session].text.clone().unwrap_or_default();
        let word = (self.typing && self.dice.once_in(2)).then(|| self.word("user"));
        let typed =
            word.as_ref().map_or_else(String::new, |word| format!(" while {word} is typed"));
        let stale = if touched.is_some() { "" } else { ", from an old text" };
        self.trail.note(format!("{name}: writes {}{stale}{typed}", self.files[index].name));
        if let Some(word) = &word {
            let below = self.dice.once_in(2);
            let text = if below { word.clone() } else { format!(" {word}") };
            self.desk.begins(&Act::Type { below, text }).await;
        }
        let by = self.author(session);
        let request = WriteRequest {
            by: by.clone(),
            path: path.clone(),
            content: content.clone(),
            base: None,
            dirty: WriteDirty::default(),
            repeats: twice,
            consent: Consent::NotNeeded,
        };
        let result = within(self.desk.documents().write(request)).await;
        if let Some(word) = &word {
            self.desk.has_typed(word).await;
            self.files[self.at].expected.typed(word);
        }
        self.trail.note(format!("        {}", told(result.as_ref().map(Some))));
        self.pass_on().await;
        let now = self.look(index).await;
        self.is_brought(index, by.turn, (&was, &now), word.as_deref());
        if result.as_ref().is_ok_and(|change| change.disk_change.is_some()) {
            self.is_followed(index, by.turn, &was);
        }
        if was.text.is_none() && by.tool_call.is_none() {
            // What was changed on disk before may be somebody else's, so that what this puts back is brought.
            self.is_put_back(index, by.turn, (&was, &now));
        }
        let (asked, looks) = ((content.as_str(), touched), (&was, &now));
        self.check_write(index, session, asked, &result, looks, word.is_some())
            .map_err(|why| format!("{why}\n{}", shown(&was, &now)))?;
        if result.is_ok() {
            let knows = &mut self.files[index].knows[session];
            knows.learns(&content);
            if self.sorts && now.text.is_some() {
                // What a formatter does at a write counts as the writer's, and lines that it moves are brought.
                knows.brings(now.kept().lines().take(SORTED).flat_map(each));
            }
        }
        if twice {
            if !is_quicker {
                self.trail.note(format!("{name}: and writes that to the disk"));
                self.put(index, session, &content, !stale.is_empty());
            }
            if self.dice.once_in(2) {
                self.follows(index).await?;
                if result.is_ok() {
                    is_on_disk(&base, &content, &self.look(index).await)?;
                }
            }
        }
        Ok(())
    }

    fn check_write(
        &mut self,
        index: usize,
        session: usize,
        (content, touched): (&str, Option<Vec<Range<usize>>>),
        result: &Result<AgentChange, DocumentError>,
        (was, now): (&Look, &Look),
        is_typed: bool,
    ) -> Checked {
        let (moves, file) = (self.moves, &mut self.files[index]);
        let (name, knows) = (SESSIONS[session], &mut file.knows[session]);
        let (expected, is_pending) = (&mut file.expected, file.pending.is_some());
        if is_pending {
            expected.is_taken_to_bring(knows, was);
        }
        expected.by_session(name, knows, was, now)?;
        let base = knows.text.as_deref().unwrap_or_default();
        let written = match result {
            Ok(written) => written,
            Err(DocumentError::Conflict { .. }) => {
                let spurious = touched
                    .filter(|_| !knows.reads_disk)
                    .is_some_and(|at| is_untouched(base, now.kept(), &at));
                expected.is_settled(&now.conflicts);
                // Its own write to the disk, made before, comes in only when it is followed.
                let came_in = was.disk != *content || was.text != now.text;
                if is_pending && came_in && now.text.is_some() {
                    expected.comes_together(&now.disk);
                } else if is_pending && now.text.is_none() {
                    expected.is_found(&was.disk);
                }
                return if spurious && !is_typed {
                    Err("refused, and nobody has changed anything there".to_owned())
                } else {
                    Ok(())
                };
            }
            Err(other) => return Err(other.to_string()),
        };
        let kept = kept(written);
        if written.disk_change.is_some() {
            // What it had read there it may have taken out again.
            let (read, sent, told) = (words(base), words(content), words(&kept));
            let out = gone(&read, &sent);
            let (went, stays): (Vec<&str>, Vec<&str>) =
                each(&was.disk).partition(|word| out.contains(word) && !told.contains_key(*word));
            expected.came_and_went(name, &went);
            expected.came_in(&stays.join("\n"), now, &kept)?;
        }
        expected.came_in(&gone(&words(content), &words(base)).join("\n"), now, &kept)?;
        if !moves && !is_pending {
            expected.is_not_doubled(Some(base), content, was, now)?;
        }
        if was.modified && !written.saved_unsaved {
            expected.saves_nothing_unasked(content, was, now)?;
        }
        expected.is_settled(content);
        expected.comes_together(&now.disk);
        let adopted = written.disk_change.as_ref().is_some_and(|adopted| !adopted.hunks.is_empty());
        // What was there before the turn is followed first and not told.
        let adopted = adopted || is_pending;
        let steps = now.undo - was.undo;
        if now.text.is_some() && steps > 1 + i64::from(adopted) + i64::from(is_typed) {
            return Err(format!("{steps} undo steps for one write"));
        }
        if was.text.is_some() && !was.modified && now.modified && !is_typed && !is_pending {
            return Err("it is modified after a write".to_owned());
        }
        Ok(())
    }

    async fn writes_to_disk(&mut self, index: usize, session: usize, stale: bool) -> Checked {
        if self.files[index].knows[session].text.is_none() {
            self.sees(index, session).await?;
        }
        let (content, touched) = self.edits(index, session, stale);
        let stale = if touched.is_some() { "" } else { ", from an old text" };
        let file = &self.files[index].name;
        self.trail.note(format!("{}: writes {file} to the disk{stale}", SESSIONS[session]));
        self.put(index, session, &content, !stale.is_empty());
        if self.reads_disk[session] && self.dice.once_in(3) {
            // Its read from before is told only now.
            self.trail.note(format!("{}: is told to have read it", SESSIONS[session]));
            let (path, by) = (self.files[index].path.clone(), key(session));
            let seen = within(self.desk.documents().agent_read_disk(&path, &by)).await;
            seen.map_err(|error| error.to_string())?;
            let file = &mut self.files[index];
            file.knows[session].goes_on_from(&content);
            if !file.is_open {
                file.expected.is_seen(&content);
            }
        }
        self.sooner_or_later(index).await
    }

    async fn runs_a_shell(&mut self, index: usize, session: usize) -> Checked {
        if let Some(by) = self.runs_as(index, session) {
            return self.runs_a_command(index, session, by).await;
        }
        let path = self.files[index].path.clone();
        let text = fs::read_to_string(&path).unwrap();
        let word = self.word(SESSIONS[session]);
        let lines: Vec<&str> = text.lines().collect();
        let kind = self.dice.within(0..4);
        let what = ["sed -i", "replaces the file", "appends", "rewrites in place"][kind];
        self.trail.note(format!("{}: {what}, {}", SESSIONS[session], self.files[index].name));
        if kind == 2 || lines.is_empty() {
            disk::overwrite(&path, &format!("{text}{word}\n"));
        } else {
            let at = self.dice.within(0..lines.len());
            let changed = format!("{} {word}", lines[at]);
            let new = lines.iter().enumerate();
            let new = new.map(|(i, line)| format!("{}\n", if i == at { &changed } else { *line }));
            let new: String = new.collect();
            if kind == 3 {
                disk::overwrite(&path, &new);
            } else {
                disk::replace(&path, &new);
            }
        }
        self.files[index].pending = Some(session);
        self.came_on_disk(index, &text);
        self.sooner_or_later(index).await
    }

    fn put(&mut self, index: usize, session: usize, content: &str, is_old: bool) {
        let file = &mut self.files[index];
        file.knows[session].brings(each(content));
        let (was, known) = (fs::read_to_string(&file.path).unwrap(), &file.knows[session].text);
        let is_fresh =
            !is_old && known.as_ref().is_some_and(|known| *known == was || known == content);
        disk::overwrite(&file.path, content);
        (file.pending, file.is_stale) = (Some(session), file.is_stale || !is_fresh);
        self.came_on_disk(index, &was);
    }

    async fn sooner_or_later(&mut self, index: usize) -> Checked {
        if self.dice.once_in(2) { self.follows(index).await } else { Ok(()) }
    }

    /// The change on disk of a file is followed, if there is one; mostly as the doing of who made it.
    pub(crate) async fn follows(&mut self, index: usize) -> Checked {
        let Some(by) = self.files[index].pending else { return Ok(()) };
        let session = if self.dice.once_in(6) { 1 - by } else { by };
        let (path, author) = (self.files[index].path.clone(), self.author(session));
        let is_looked_at =
            !self.files[index].is_open || self.turns.is_some() && self.dice.once_in(2);
        if self.turns.is_some() && author.turn > 0 && is_looked_at {
            return self.looks(session, author).await;
        }
        let was = self.desk.look(&path).await;
        let result = within(self.desk.documents().disk_changed(&path, &author)).await;
        let result = result.map_err(|error| format!("not followed: {error}"))?;
        self.trail.note(format!(
            "{}: {} is followed: {}",
            SESSIONS[session],
            self.files[index].name,
            told(Ok(result.as_ref()))
        ));
        self.pass_on().await;
        let now = self.look(index).await;
        self.files[index].pending = None;
        self.is_nobodys(index, &author, &now).await?;
        self.is_brought_on_disk(index, author.turn, (&was, &now));
        let mut checked = self.check_follow(index, session, result.as_ref(), (&was, &now));
        let is_kept = result.is_some_and(|written| !written.unresolved.is_empty());
        if !was.modified && now.modified && now.text.is_some() && !is_kept {
            checked = checked.and(Err("it is modified after following the disk".to_owned()));
        }
        checked.map_err(|why| format!("{why}\n{}", shown(&was, &now)))
    }

    /// `result` is what came of it, as far as that is known.
    pub(crate) fn check_follow(
        &mut self,
        index: usize,
        session: usize,
        result: Option<&AgentChange>,
        (was, now): (&Look, &Look),
    ) -> Checked {
        let (moves, file) = (self.moves, &mut self.files[index]);
        let kept = result.map(kept).unwrap_or_default();
        file.expected.is_taken_to_bring(&mut file.knows[session], was);
        file.expected.by_session(SESSIONS[session], &mut file.knows[session], was, now)?;
        // What comes may be the report of an earlier change only. Where all files are followed, what came of one is not known, but
        // nothing else changes a text meanwhile.
        if was.kept() != now.kept() {
            file.knows[session].is_taken_to_know(&was.disk);
        } else if result.is_some() || now.text.is_none() {
            file.knows[session].may_be_taken_to_know(&was.disk);
        }
        if now.text.is_none() {
            file.expected.comes_together(&now.disk);
            return Ok(());
        }
        file.expected.came_in(&was.disk, now, &kept)?;
        if now.undo - was.undo > 1 {
            return Err(format!("{} undo steps for one change on disk", now.undo - was.undo));
        }
        if !std::mem::take(&mut file.is_stale) && !moves {
            file.expected.is_not_doubled(None, &was.disk, was, now)?;
        }
        file.expected.comes_together(&now.disk);
        Ok(())
    }
}

fn kept(written: &AgentChange) -> String {
    let adopted = written.disk_change.iter().flat_map(|adopted| &adopted.unresolved);
    let lines = written.unresolved.iter().chain(adopted).flat_map(|kept| &kept.theirs);
    lines.map(|line| format!("{line}\n")).collect()
}

/// What came of a change, in short.
fn told(result: Result<Option<&AgentChange>, &DocumentError>) -> String {
    match result {
        Ok(None) => "nothing new".to_owned(),
        Ok(Some(written)) => {
            let adopted =
                if written.disk_change.is_some() { ", after a change on disk" } else { "" };
            let saved = if written.saved_unsaved { ", with what was unsaved" } else { "" };
            let (hunks, kept) = (&written.hunks, written.unresolved.len());
            let shown: Vec<String> = hunks
                .iter()
                .take(4)
                .map(|hunk| format!("{}-{}>{:?}", hunk.start, hunk.removed, hunk.lines))
                .collect();
            format!("{}, {kept} kept{adopted}{saved}", shown.join(" "))
        }
        Err(error) => error.to_string(),
    }
}
