//! What goes with a prompt because the agent cannot see it: unsaved text, and what became of the files it wrote. The
//! prompt is shown at once and sent as soon as that is known.

use super::chat::{Chat, Phase, Turn};
use super::effect::{Call, Effect, Gather, Happened, Level, ToEditor};
use super::event::{ChatId, Gathered, Told, UnsavedFile};
use super::policy::Unsaved;
use super::state::{Expected, Question, State};
use crate::edit::unified::{FileDiff, bounded};
use crate::session::content::{About, Content};
use crate::session::prompt::{Attachment, FilesRead, Packed, Prompt, PromptCapabilities};
use crate::session::update::Severity;

/// A note has at most so many bytes.
const MOST_NOTED: usize = 16 * 1024;
/// All texts embedded in one prompt have at most so many; those beyond go as a note.
const MOST_EMBEDDED: usize = 256 * 1024;

const UNSAVED: &str = "The user has unsaved changes in the editor, which are not on disk. \
                       From the files on disk to the text in the editor:\n\n";
const EMBEDDED: &str = "The user has unsaved changes in the editor, which are not on disk. \
                        The text of these files as it is in the editor:";
const CHANGED: &str = "Since you last saw them, these files have changed:\n\n";

/// What goes with a prompt.
#[derive(Debug, Default)]
struct Notes {
    blocks: Vec<Content>,
    /// What the user reads of it.
    titles: Vec<String>,
    told: Vec<Told>,
}

impl Notes {
    fn new(gathered: Gathered, unsaved: Unsaved, takes: PromptCapabilities) -> Self {
        let mut notes = Self::default();
        let changed: Vec<&FileDiff> = gathered.changed.iter().map(|file| &file.diff).collect();
        notes.note(
            CHANGED,
            |files| format!("changes of {files} that the agent has not seen"),
            &changed,
        );
        let (embedded, others) = match unsaved {
            Unsaved::Embed if takes.embedded => within(&gathered.unsaved, MOST_EMBEDDED),
            _ => (Vec::new(), gathered.unsaved.iter().collect()),
        };
        if !embedded.is_empty() {
            notes.titles.push(format!("unsaved text of {}", files(embedded.len())));
            notes.blocks.push(Content::Text(EMBEDDED.to_owned()));
        }
        notes.blocks.extend(embedded.iter().map(|file| Content::Resource {
            uri: file.uri.clone(),
            mime: None,
            text: file.text.content(),
            about: About::default(),
        }));
        let others: Vec<&FileDiff> = others.iter().map(|file| &file.diff).collect();
        notes.note(UNSAVED, |files| format!("unsaved changes of {files}"), &others);
        notes.told = gathered.changed.into_iter().map(|file| file.told).collect();
        notes
    }

    fn note(&mut self, sentence: &str, title: impl Fn(String) -> String, diffs: &[&FileDiff]) {
        if !diffs.is_empty() {
            let text = bounded(diffs, MOST_NOTED - sentence.len());
            self.blocks.push(Content::Text(sentence.to_owned() + &text));
            self.titles.push(title(files(diffs.len())));
        }
    }

    /// The words of it: an agent may repeat them after the prompt's own.
    fn words(&self) -> String {
        self.blocks.iter().filter_map(Content::text).collect()
    }
}

/// Those whose texts have room together, and the others.
fn within(files: &[UnsavedFile], mut room: usize) -> (Vec<&UnsavedFile>, Vec<&UnsavedFile>) {
    files.iter().partition(|file| {
        let size = file.text.body(0..file.text.len()).len();
        let fits = size <= room;
        room -= if fits { size } else { 0 };
        fits
    })
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

impl State {
    /// A turn begins: its prompt is shown, and sent at once where nothing has to be found out first.
    pub(super) fn send(&mut self, id: ChatId, prompt: Prompt) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let titles = prompt.attachments.iter().map(Attachment::title).collect();
        let entry = chat.transcript.prompt(&prompt.text, titles);
        chat.reloaded = false;
        chat.turns += 1;
        let (number, policy) = (chat.turns, chat.policy);
        let alone = prompt.files().next().is_none();
        self.enter(id, Phase::Running(Turn::new(number, prompt, entry)));
        self.after.push(ToEditor::Autocommand(Happened::TurnStart(id)));
        match policy.unsaved {
            Unsaved::Ignore if alone => {
                self.deliver(id, Notes::default(), &FilesRead::default());
            }
            unsaved => self.gather(id, unsaved),
        }
    }

    /// Has it found out what the agent cannot see, and what becomes of unsaved text.
    fn gather(&mut self, id: ChatId, unsaved: Unsaved) {
        let Some((chat, turn)) = self.unsent(id) else { return };
        let Some(session) = chat.key() else { return };
        let reads_buffers = chat.reads_buffers();
        self.effects.push(Effect::Gather(Gather {
            chat: id,
            turn: turn.number,
            session,
            cwd: chat.cwd.clone(),
            reach: chat.reach(),
            unsaved: if reads_buffers { Unsaved::Ignore } else { unsaved },
            reads_buffers,
            files: turn.prompt.files().map(Into::into).collect(),
        }));
    }

    /// What was to be found out is there.
    pub(super) fn gathered(
        &mut self,
        id: ChatId,
        number: u64,
        how: Unsaved,
        mut gathered: Gathered,
    ) {
        let Some((chat, turn)) = self.unsent(id) else { return };
        let asked =
            self.questions.values().any(|it| matches!(it, Question::Unsaved(of, _) if *of == id));
        if turn.number != number || asked {
            return;
        }
        let (takes, files) = (chat.info.capabilities.prompt, std::mem::take(&mut gathered.files));
        if chat.policy.unsaved == Unsaved::Ignore {
            // Only files were to be read.
            return self.deliver(id, Notes::default(), &files);
        }
        if how == Unsaved::Ask && !gathered.unsaved.is_empty() {
            return self.ask_unsaved(id, number, gathered.unsaved.len());
        }
        for problem in &gathered.problems {
            self.notify(Level::Warn, problem);
        }
        self.deliver(id, Notes::new(gathered, how, takes), &files);
    }

    fn ask_unsaved(&mut self, id: ChatId, number: u64, count: usize) {
        let verb = if count == 1 { "has" } else { "have" };
        let title = format!("{} {verb} unsaved changes", files(count));
        let items = ["Tell the agent", "Save them", "Send without"].map(str::to_owned).to_vec();
        self.ask(Question::Unsaved(id, number), title, items);
        self.count_questions();
    }

    pub(super) fn unsaved_answered(&mut self, id: ChatId, index: Option<usize>) {
        self.count_questions();
        match index {
            // The texts may have changed while the question was open.
            Some(0) => self.gather(id, Unsaved::Note),
            Some(1) => self.gather(id, Unsaved::Save),
            Some(_) => self.gather(id, Unsaved::Ignore),
            None => self.call_off(id),
        }
    }

    /// Calls the agent: the prompt goes out.
    fn deliver(&mut self, id: ChatId, notes: Notes, files: &FilesRead) {
        let Some((chat, turn)) = self.unsent(id) else { return };
        let Some(session) = chat.session.clone() else { return };
        let Packed { mut blocks, notices } = turn.prompt.pack(chat.info.capabilities.prompt, files);
        let (entry, words) = (turn.entry, notes.words());
        for notice in notices {
            self.notify(Level::Warn, notice);
        }
        if blocks.is_empty() {
            // It was nothing but files that cannot be read.
            return self.call_off(id);
        }
        blocks.extend(notes.blocks);
        let call = self.call(id, Call::Prompt { session, blocks }, Expected::Turn, None);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.transcript.add_to_prompt(entry, notes.titles, &words);
        if let Phase::Running(turn) = &mut chat.phase {
            turn.call = Some(call);
            turn.told = notes.told;
        }
        self.keep(id);
    }

    /// Ends a turn whose prompt has not gone out: it goes back to the user.
    pub(super) fn call_off(&mut self, id: ChatId) {
        let Some(prompt) = self.unsent(id).map(|(_, turn)| turn.prompt.clone()) else { return };
        if let Some(chat) = self.chats.get_mut(&id) {
            let title = "cancelled before it was sent: the prompt is yours again";
            chat.transcript.note(Severity::Info, title, Vec::new());
        }
        self.after.push(ToEditor::Draft(id, prompt));
        self.unask(|question| matches!(question, Question::Unsaved(chat, _) if *chat == id));
        self.count_questions();
        self.end_turn(id, true, "cancelled");
    }

    /// The chat and its turn, if that waits for what goes with the prompt.
    fn unsent(&self, id: ChatId) -> Option<(&Chat, &Turn)> {
        let chat = self.chats.get(&id)?;
        chat.turn().filter(|turn| turn.is_unsent()).map(|turn| (chat, turn))
    }

    /// The agent is done with the turn's prompt: what came with it is known to the agent if it has taken the prompt in,
    /// and what is on disk now is its own doing, but for what the user saved.
    pub(super) fn over(&mut self, id: ChatId, taken: bool) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let reads_buffers = chat.reads_buffers();
        let (Some(session), Phase::Running(turn)) = (chat.key(), &mut chat.phase) else {
            return;
        };
        let told = std::mem::take(&mut turn.told);
        if !turn.is_unsent() {
            self.effects.push(Effect::TurnOver { session, told, taken, reads_buffers });
        }
    }
}
