//! Prompt context: unsaved text, and changes to files the agent wrote. It is collected when a turn starts. The prompt
//! is shown at once and sent as soon as its context is known.

use crate::core::calls::ExpectedReply;
use crate::core::chat::{Chat, Phase, Turn};
use crate::core::messages::call::Call;
use crate::core::messages::editor::{EditOutcome, EditorMessage, Level};
use crate::core::messages::effect::{CollectPromptContext, Effect};
use crate::core::messages::files::{PromptContext, ReportedChange, UnsavedFile};
use crate::core::messages::policy::Unsaved;
use crate::core::questions::Question;
use crate::core::state::State;
use crate::edit::unified::{FileDiff, bounded};
use crate::session::author::ChatId;
use crate::session::content::{About, Content};
use crate::session::prompt::{Attachment, FilesRead, Packed, Prompt, PromptCapabilities};
use crate::session::update::Severity;

/// Maximum size of the text in one note, in bytes.
const MAX_NOTE_BYTES: usize = 16 * 1024;
/// Maximum total size of the texts embedded in one prompt, in bytes. Further files are described by a note.
const MAX_EMBEDDED_BYTES: usize = 256 * 1024;

const UNSAVED_DIFFS_INTRO: &str = "The user has unsaved changes in the editor, which are not on disk. \
                       From the files on disk to the text in the editor:\n\n";
const UNSAVED_TEXTS_INTRO: &str = "The user has unsaved changes in the editor, which are not on disk. \
                        The text of these files as it is in the editor:";
const CHANGED_FILES_INTRO: &str = "Since you last saw them, these files have changed:\n\n";

/// The context that is added to a prompt.
#[derive(Debug, Default)]
struct ContextNotes {
    blocks: Vec<Content>,
    /// Descriptions for the user, shown with the prompt.
    titles: Vec<String>,
    reported: Vec<ReportedChange>,
}

impl ContextNotes {
    fn new(context: PromptContext, unsaved: Unsaved, takes: PromptCapabilities) -> Self {
        let mut notes = Self::default();
        let changed: Vec<&FileDiff> = context.changed.iter().map(|file| &file.diff).collect();
        notes.note(
            CHANGED_FILES_INTRO,
            |files| format!("changes in {files} the agent has not seen"),
            &changed,
        );
        let (embedded, others) = match unsaved {
            Unsaved::Embed if takes.embedded => {
                partition_by_size(&context.unsaved, MAX_EMBEDDED_BYTES)
            }
            _ => (Vec::new(), context.unsaved.iter().collect()),
        };
        if !embedded.is_empty() {
            notes.titles.push(format!("unsaved text of {}", files(embedded.len())));
            notes.blocks.push(Content::Text(UNSAVED_TEXTS_INTRO.to_owned()));
        }
        notes.blocks.extend(embedded.iter().map(|file| Content::Resource {
            uri: file.uri.clone(),
            mime: None,
            text: file.text.content(),
            about: About::default(),
        }));
        let others: Vec<&FileDiff> = others.iter().map(|file| &file.diff).collect();
        notes.note(UNSAVED_DIFFS_INTRO, |files| format!("unsaved changes in {files}"), &others);
        notes.reported = context.changed.into_iter().map(|file| file.report).collect();
        notes
    }

    fn note(&mut self, sentence: &str, title: impl Fn(String) -> String, diffs: &[&FileDiff]) {
        if !diffs.is_empty() {
            let text = bounded(diffs, MAX_NOTE_BYTES - sentence.len());
            self.blocks.push(Content::Text(sentence.to_owned() + &text));
            self.titles.push(title(files(diffs.len())));
        }
    }

    /// Returns all of its text, to recognise it if the agent echoes the prompt.
    fn text(&self) -> String {
        self.blocks.iter().filter_map(Content::text).collect()
    }
}

/// Splits the files into those whose texts fit into `room` bytes together, and the rest.
fn partition_by_size(
    files: &[UnsavedFile],
    mut room: usize,
) -> (Vec<&UnsavedFile>, Vec<&UnsavedFile>) {
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
    /// Starts a turn: shows its prompt, and sends it at once unless its context has to be collected first.
    pub(in crate::core) fn start_turn(&mut self, id: ChatId, prompt: Prompt) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.note_call_titles();
        let titles = prompt.attachments.iter().map(Attachment::title).collect();
        let entry = chat.transcript.prompt(&prompt.text, titles);
        chat.replay.prompt_sent(&chat.transcript, entry);
        chat.turns += 1;
        chat.access.edited.clear();
        chat.saving.is_conversation |= prompt.in_place.is_none();
        let (number, unsaved) = (chat.turns, chat.access.policy.unsaved);
        let text = prompt.text.clone();
        self.enter_phase(id, Phase::Running(Box::new(Turn::new(number, prompt, entry))));
        self.tell_turn_start(id, Some(text));
        // Even if nothing goes with the prompt, it waits for the checkpoint of its folders.
        self.collect_context(id, unsaved);
    }

    /// Collects the prompt's context and handles unsaved text as `unsaved` says.
    fn collect_context(&mut self, id: ChatId, unsaved: Unsaved) {
        let Some((chat, turn)) = self.unsent_turn(id) else { return };
        let Some(session) = chat.key() else { return };
        let reads_buffers = chat.reads_buffers();
        self.effects.push(Effect::CollectPromptContext(CollectPromptContext {
            chat: id,
            turn: turn.number,
            session,
            cwd: chat.cwd.clone(),
            scope: chat.file_scope(),
            unsaved: if reads_buffers { Unsaved::Ignore } else { unsaved },
            reads_buffers,
            is_reviewed: chat.is_reviewed(),
            files: turn.prompt.files().map(Into::into).collect(),
        }));
    }

    /// The prompt's context is complete.
    pub(in crate::core) fn context_collected(
        &mut self,
        id: ChatId,
        number: u64,
        unsaved: Unsaved,
        mut context: PromptContext,
    ) {
        let Some((chat, turn)) = self.unsent_turn(id) else { return };
        let already_asked = self
            .questions
            .values()
            .any(|it| matches!(it, Question::UnsavedText(chat, _) if *chat == id));
        if turn.number != number || already_asked {
            return;
        }
        if let Some(edit) = &turn.prompt.in_place {
            // The agent gets this text anyway.
            let text = edit.text();
            context.unsaved.retain(|file| file.text.content() != text);
        }
        let (takes, files) = (chat.info.capabilities.prompt, std::mem::take(&mut context.files));
        if chat.access.policy.unsaved == Unsaved::Ignore {
            // Only attached files had to be read.
            return self.send_prompt(id, ContextNotes::default(), &files);
        }
        if unsaved == Unsaved::Ask && !context.unsaved.is_empty() {
            return self.ask_about_unsaved_text(id, number, context.unsaved.len());
        }
        for problem in &context.problems {
            self.notify(Level::Warn, problem);
        }
        let mut notes = ContextNotes::new(context, unsaved, takes);
        self.note_decisions(id, &mut notes);
        self.send_prompt(id, notes, &files);
    }

    /// Adds what the user has decided on the agent's changes.
    fn note_decisions(&mut self, id: ChatId, notes: &mut ContextNotes) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let decisions = std::mem::take(&mut chat.decisions);
        let scene = chat.scene();
        let Some(text) = decisions.note(|path| scene.shorten(path)) else { return };
        notes.blocks.insert(0, Content::Text(text));
        notes.titles.push("what you accepted and rejected".to_owned());
        if let Phase::Running(turn) = &mut chat.phase {
            turn.decisions = decisions;
        }
    }

    fn ask_about_unsaved_text(&mut self, id: ChatId, number: u64, count: usize) {
        let verb = if count == 1 { "has" } else { "have" };
        let title = format!("{} {verb} unsaved changes", files(count));
        let items = ["Tell the agent about them", "Save them first", "Send without them"]
            .map(str::to_owned)
            .to_vec();
        self.ask(Question::UnsavedText(id, number), title, items);
        self.count_questions();
    }

    pub(in crate::core) fn unsaved_text_answered(&mut self, id: ChatId, index: Option<usize>) {
        self.count_questions();
        match index {
            // The texts may have changed while the question was open.
            Some(0) => self.collect_context(id, Unsaved::Note),
            Some(1) => self.collect_context(id, Unsaved::Save),
            Some(_) => self.collect_context(id, Unsaved::Ignore),
            None => self.withdraw_prompt(id),
        }
    }

    /// Sends the prompt to the agent.
    fn send_prompt(&mut self, id: ChatId, notes: ContextNotes, files: &FilesRead) {
        let Some((chat, turn)) = self.unsent_turn(id) else { return };
        let Some(session) = chat.session.clone() else { return };
        let (accepts, can_open) = (chat.info.capabilities.prompt, !chat.config.disk.is_separate);
        let Packed { mut blocks, notices } = turn.prompt.pack(accepts, files, can_open);
        let in_place = turn.prompt.in_place.as_deref();
        let request = in_place.map(|edit| chat.request_in_place(edit)).unwrap_or_default();
        let asked: String = request.iter().filter_map(Content::text).collect();
        blocks.extend(request);
        let (entry, words) = (turn.entry, asked + &notes.text());
        for notice in notices {
            self.notify(Level::Warn, notice);
        }
        if blocks.is_empty() {
            // It consisted only of files that cannot be read.
            return self.withdraw_prompt(id);
        }
        blocks.extend(notes.blocks);
        let call = self.call(id, Call::Prompt { session, blocks }, ExpectedReply::Turn, None);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.transcript.add_to_prompt(entry, notes.titles, &words);
        if let Phase::Running(turn) = &mut chat.phase {
            turn.call = Some(call);
            turn.reported = notes.reported;
        }
        self.limit_turn(id);
        self.save(id);
    }

    /// Ends a turn whose prompt was not sent, and returns the prompt to the user.
    pub(in crate::core) fn withdraw_prompt(&mut self, id: ChatId) {
        let unsent = self.unsent_turn(id);
        let Some((prompt, decisions)) =
            unsent.map(|(_, turn)| (turn.prompt.clone(), turn.decisions.clone()))
        else {
            return;
        };
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.decisions.put_back(decisions);
            let back =
                if prompt.in_place.is_none() { " The text is back in the prompt." } else { "" };
            let title = format!("Cancelled before it was sent.{back}");
            chat.transcript.note(Severity::Info, title, Vec::new());
        }
        if prompt.in_place.is_none() {
            self.return_prompt(id, prompt);
        }
        self.edit_over(id, EditOutcome::Cancelled);
        self.withdraw_questions(
            |question| matches!(question, Question::UnsavedText(chat, _) if *chat == id),
        );
        self.count_questions();
        self.end_turn(id, true, "cancelled");
    }

    /// Puts a prompt that was not answered into the prompt buffer.
    pub(super) fn return_prompt(&mut self, id: ChatId, prompt: Prompt) {
        self.after_draw.push(EditorMessage::Draft { chat: id, prompt, taken: false });
    }

    /// Returns the chat and its turn if the turn's prompt was not sent.
    fn unsent_turn(&self, id: ChatId) -> Option<(&Chat, &Turn)> {
        let chat = self.chats.get(&id)?;
        chat.turn().filter(|turn| turn.is_unsent()).map(|turn| (chat, turn))
    }

    /// Reports the end of a turn to the documents. If `taken`, the agent knows what was reported with the prompt.
    /// Whatever is on disk now is the agent's work, except what the user has saved.
    pub(in crate::core) fn report_turn_end(&mut self, id: ChatId, taken: bool) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let reads_buffers = chat.reads_buffers();
        let (Some(session), Phase::Running(turn)) = (chat.key(), &mut chat.phase) else {
            return;
        };
        let reported = std::mem::take(&mut turn.reported);
        let decisions = std::mem::take(&mut turn.decisions);
        if !taken {
            chat.decisions.put_back(decisions);
        }
        if !turn.is_unsent() {
            self.effects.push(Effect::TurnEnded { session, reported, taken, reads_buffers });
        }
    }
}
