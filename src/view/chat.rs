//! [`ChatView`], the state of a transcript's buffer: what of each entry is drawn, and the patch
//! that draws what is not.

use super::card::{self, Card};
use super::line::{Action, Class, Highlight, Line, Style};
use super::patch::{Op, Patch};
use super::plan;
use super::scene::Scene;
use super::tail::Tail;
use super::tool_card;
use super::{content, elicitation};
use crate::session::content::ContentId;
use crate::session::entry::{Attached, Entry, Message};
use crate::session::transcript::Transcript;
use crate::session::update::Role;

/// What is drawn of a transcript so far.
#[derive(Debug, Default)]
pub struct ChatView {
    drawn: Vec<Drawn>,
    /// The number of rows drawn.
    rows: usize,
}

/// What is drawn of one entry.
#[derive(Debug)]
struct Drawn {
    /// The number of rows before the entry: an empty line and a header.
    head: usize,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// Lines that are replaced if they differ.
    Lines { lines: Vec<Line>, fold: Option<(usize, usize)> },
    /// A message, to which text is appended. `closing` is the number of rows after the text.
    Message { attachments: AttachmentRows, tail: Option<Tail>, closing: usize, said_anew: u32 },
}

/// The rows before the text of a message.
#[derive(Debug, Default)]
struct AttachmentRows {
    lines: Vec<Line>,
    /// The number of attachments drawn. Attachments are only added, unless the message is replaced.
    items: Option<usize>,
}

impl AttachmentRows {
    fn draw(
        &mut self,
        message: &Message,
        (index, row): (usize, usize),
        thought: bool,
        patch: &mut Patch,
    ) {
        let items = Some(message.attachments.len());
        if std::mem::replace(&mut self.items, items) == items {
            return;
        }
        let title =
            thought.then(|| header("thought", folded_title(message).unwrap_or_default(), None));
        let marks = message.about.as_ref().map(|about| about.words(true)).unwrap_or_default();
        let marks = (!marks.is_empty())
            .then(|| Line::of(Class::Note, marks).with_prefix("+ ", Highlight::Dim));
        let rows =
            message.attachments.iter().enumerate().flat_map(|(item, attached)| match attached {
                Attached::Words(words) => {
                    vec![Line::of(Class::Note, words).with_prefix("+ ", Highlight::Dim)]
                }
                Attached::Content(content) => {
                    content::rows(content, ContentId::Message(index, item), "+ ", Class::Note)
                }
            });
        let new: Vec<Line> = title.into_iter().chain(marks).chain(rows).collect();
        patch.replace(row, &self.lines, &new);
        self.lines = new;
    }
}

impl Drawn {
    fn rows(&self) -> usize {
        self.head
            + match &self.body {
                Body::Lines { lines, .. } => lines.len(),
                Body::Message { attachments, tail, closing, .. } => {
                    attachments.lines.len()
                        + tail.as_ref().map_or(0, |tail| tail.rows() + 1)
                        + closing
                }
            }
    }
}

impl ChatView {
    /// Returns the patch that draws what changed, up to about `budget` bytes of text; the rest
    /// stays dirty.
    pub fn render(&mut self, transcript: &mut Transcript, scene: &Scene, budget: usize) -> Patch {
        let mut patch = Patch::default();
        while patch.bytes < budget
            && let Some(index) = transcript.first_dirty()
        {
            if !self.draw(index, transcript, scene, budget, &mut patch) {
                break;
            }
            transcript.drawn(index);
        }
        patch
    }

    /// Draws one entry and returns whether it is now complete.
    fn draw(
        &mut self,
        index: usize,
        transcript: &Transcript,
        scene: &Scene,
        budget: usize,
        patch: &mut Patch,
    ) -> bool {
        let entries = transcript.entries();
        if index == self.drawn.len() {
            self.add(index, entries, scene, patch);
        }
        let after: usize = self.drawn[index..].iter().map(Drawn::rows).sum();
        let drawn = &mut self.drawn[index];
        let before = drawn.rows();
        let row = self.rows - after + drawn.head;
        let done = match (&entries[index], &mut drawn.body) {
            (Entry::Message(message), Body::Message { attachments, tail, closing, said_anew }) => {
                let at = (index, row);
                if std::mem::replace(said_anew, message.said_anew) != message.said_anew {
                    erase(row + attachments.lines.len(), tail, patch);
                    attachments.items = None;
                }
                draw_message(message, at, attachments, (tail, *closing), budget, patch)
            }
            (entry, Body::Lines { lines, fold }) => {
                let card = card(entry, transcript, scene);
                patch.replace(row, lines, &card.lines);
                if let Some((first, last)) = card.fold.filter(|_| card.fold != *fold) {
                    patch.ops.push(Op::Fold { first: row + first, last: row + last });
                }
                *lines = card.lines;
                *fold = card.fold;
                true
            }
            (_, Body::Message { .. }) => true,
        };
        self.rows = self.rows + self.drawn[index].rows() - before;
        done
    }

    /// Draws the rows before a new entry and those its body starts with.
    fn add(&mut self, index: usize, entries: &[Entry], scene: &Scene, patch: &mut Patch) {
        let mut lines = head(index, entries, scene);
        let (head, row) = (lines.len(), self.rows);
        let body = match &entries[index] {
            Entry::Message(message) if folded_title(message).is_some() => {
                // Folded from the start. An empty last row stays below the text, so that the text
                // grows inside the fold.
                let title = header("thought", folded_title(message).unwrap_or_default(), None);
                lines.extend([title.clone(), Line::default(), Line::default()]);
                let attachments = AttachmentRows { lines: vec![title], items: None };
                Body::Message { attachments, tail: Some(Tail::plain()), closing: 1, said_anew: 0 }
            }
            Entry::Message(_) => {
                let attachments = AttachmentRows::default();
                Body::Message { attachments, tail: None, closing: 0, said_anew: 0 }
            }
            _ => Body::Lines { lines: Vec::new(), fold: None },
        };
        let thought = lines.len() - head;
        if !lines.is_empty() {
            patch.lines(row, row, lines);
        }
        if thought > 0 {
            let first = row + head;
            patch.ops.push(Op::Fold { first, last: first + thought - 1 });
        }
        let drawn = Drawn { head, body };
        self.rows += drawn.rows();
        self.drawn.push(drawn);
    }
}

/// The title of a message that is folded from the start: it is not said to the user.
fn folded_title(message: &Message) -> Option<&'static str> {
    match message.role {
        Role::Thought => Some("Thinking"),
        Role::Agent if message.is_for_model() => Some("For the model"),
        Role::Agent | Role::User => None,
    }
}

/// Returns the lines before an entry: an empty one, and a header if the author changes.
fn head(index: usize, entries: &[Entry], scene: &Scene) -> Vec<Line> {
    let entry = &entries[index];
    let Some(previous) = index.checked_sub(1).map(|before| &entries[before]) else {
        return Vec::new();
    };
    let last = entries[..index].iter().rev().find_map(author);
    match author(entry) {
        Some(Author::User) => {
            vec![Line::default(), header("user", "You", Some(Action::Prompt(index)))]
        }
        Some(Author::Agent) if last != Some(Author::Agent) => {
            vec![Line::default(), header("agent", &scene.agent, None)]
        }
        _ if matches!((previous, entry), (Entry::Tool(_), Entry::Tool(_))) => Vec::new(),
        _ => vec![Line::default()],
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Author {
    User,
    Agent,
}

fn author(entry: &Entry) -> Option<Author> {
    match entry {
        Entry::Message(Message { role: Role::User, .. }) => Some(Author::User),
        Entry::Message(_) | Entry::Tool(_) | Entry::Plan(_) | Entry::Elicitation(_) => {
            Some(Author::Agent)
        }
        Entry::Banner(_) | Entry::Note(_) => None,
    }
}

fn header(role: &str, name: &str, action: Option<Action>) -> Line {
    let argument = format!("{role}\t{name}");
    let style = Style { argument, action, ..Style::new(Class::Header) };
    Line::new("", &style)
}

fn card(entry: &Entry, transcript: &Transcript, scene: &Scene) -> Card {
    match entry {
        Entry::Tool(tool) => tool_card::tool(tool, transcript, scene),
        Entry::Plan(plan) => card::of(plan::lines(plan)),
        Entry::Elicitation(request) => card::of(elicitation::lines(request, scene)),
        Entry::Note(note) => card::of(card::note(note)),
        Entry::Banner(text) => card::of(vec![Line::of(Class::Note, text)]),
        Entry::Message(_) => Card::default(),
    }
}

/// Deletes the text of a message, which starts at `row`. Reasoning retains an empty row inside its
/// fold.
fn erase(row: usize, tail: &mut Option<Tail>, patch: &mut Patch) {
    let Some(drawn) = tail.take() else { return };
    let rest = drawn.is_plain().then(Line::default);
    patch.lines(row, row + drawn.rows() + 1, rest.into_iter().collect());
    *tail = drawn.is_plain().then(Tail::plain);
}

/// Draws what is new of the message at `index`, whose body starts at `row`. Returns whether it is
/// now complete.
fn draw_message(
    message: &Message,
    (index, row): (usize, usize),
    attachments: &mut AttachmentRows,
    (tail, closing): (&mut Option<Tail>, usize),
    budget: usize,
    patch: &mut Patch,
) -> bool {
    attachments.draw(message, (index, row), closing > 0, patch);
    let row = row + attachments.lines.len();
    if tail.is_none() && !message.text.is_empty() {
        patch.lines(row, row, vec![Line::default()]);
        *tail = Some(Tail::new(index));
    }
    let Some(tail) = tail else { return true };
    if let Some(step) = tail.advance(&message.text, budget.saturating_sub(patch.bytes)) {
        let earlier = step.row - step.formats_row;
        if earlier > 0 {
            let formats = step.formats[..earlier].to_vec();
            patch.ops.push(Op::Formats { row: row + step.formats_row, formats });
        }
        let formats = step.formats[earlier..].to_vec();
        patch.text(row + step.row, step.col, step.text.into_owned(), formats);
    }
    tail.is_at_end(&message.text)
}

#[cfg(test)]
mod tests {
    use super::super::patch::testing;
    use super::{ChatView, Line, Scene};
    use crate::session::content::{About, Content};
    use crate::session::entry::Entry;
    use crate::session::ids::ToolCallId;
    use crate::session::tool_call::{Diff, ToolCallPatch, ToolContent, ToolStatus};
    use crate::session::transcript::Transcript;
    use crate::session::update::{PlanEntry, PlanPriority, PlanStatus, Role, Severity};
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Chunk(Role, String),
        Image(Role),
        Whole(Role, u8, String),
        Tool(u8, ToolStatus, String),
        Diff(u8, String),
        Plan(usize),
        Note(String),
        Prompt(String),
        Added,
        Draw(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let text = "[a-c \n`#*-]{0,30}";
        let role = || prop_oneof![Just(Role::Agent), Just(Role::Thought), Just(Role::User)];
        let other = prop_oneof![Just(Role::Agent), Just(Role::Thought)];
        let status = prop_oneof![Just(ToolStatus::InProgress), Just(ToolStatus::Completed)];
        prop_oneof![
            4 => (role(), text).prop_map(|(role, text)| Step::Chunk(role, text)),
            2 => (role(), 0..3u8, text).prop_map(|(role, id, text)| Step::Whole(role, id, text)),
            1 => other.prop_map(Step::Image),
            3 => (0..4u8, status, "[ab\n]{0,40}").prop_map(|(id, status, text)| Step::Tool(id, status, text)),
            1 => (0..4u8, "[ab\n]{0,20}").prop_map(|(id, text)| Step::Diff(id, text)),
            1 => (0..4usize).prop_map(Step::Plan),
            1 => text.prop_map(Step::Note),
            1 => text.prop_map(Step::Prompt),
            1 => Just(Step::Added),
            4 => (1..40usize).prop_map(Step::Draw),
        ]
    }

    fn play(transcript: &mut Transcript, step: Step) {
        let id = |id: u8| ToolCallId::from(id.to_string());
        match step {
            Step::Chunk(role, text) => transcript.chunk(role, None, &Content::Text(text)),
            Step::Image(role) => {
                let (uri, about) = ("/a".to_owned(), About::default());
                let text = "a\n".repeat(12);
                transcript.chunk(role, None, &Content::Resource { uri, mime: None, text, about });
            }
            Step::Whole(role, number, text) => {
                let id = number.to_string().as_str().into();
                transcript.message(role, &id, &[Content::Text(text)]);
            }
            Step::Tool(number, status, text) => {
                let content = Some(vec![ToolContent::Content(Content::Text(text))]);
                let patch =
                    ToolCallPatch { status: Some(status), content, ..ToolCallPatch::default() };
                transcript.tool(&id(number), patch);
            }
            Step::Diff(number, new) => {
                let diff = Diff { path: "/p/x.lua".into(), old: Some("a\nb\n".into()), new };
                let content = Some(vec![ToolContent::Diff(diff)]);
                transcript.tool(&id(number), ToolCallPatch { content, ..ToolCallPatch::default() });
            }
            Step::Plan(steps) => transcript.plan(
                (0..steps)
                    .map(|number| PlanEntry {
                        content: format!("step {number}"),
                        priority: PlanPriority::Medium,
                        status: PlanStatus::Pending,
                    })
                    .collect(),
            ),
            Step::Note(text) => transcript.note(Severity::Info, text, Vec::new()),
            Step::Prompt(text) => {
                transcript.prompt(&text, Vec::new());
            }
            Step::Added => {
                let user =
                    |entry: &Entry| matches!(entry, Entry::Message(one) if one.role == Role::User);
                if let Some(index) = transcript.entries().iter().rposition(user) {
                    transcript.add_to_prompt(index, vec!["a note".to_owned()], "");
                }
            }
            Step::Draw(_) => {}
        }
    }

    fn draw_all(
        view: &mut ChatView,
        transcript: &mut Transcript,
        budget: usize,
        buffer: &mut Vec<Line>,
    ) {
        let scene = Scene { cwd: "/p".into(), agent: "Agent".into() };
        while transcript.first_dirty().is_some() {
            testing::apply(buffer, &view.render(transcript, &scene, budget));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// However drawing is spread over frames, the buffer is the same as if it was drawn once at
        /// the end.
        #[test]
        fn patches_add_up_to_one_whole_drawing(steps in prop::collection::vec(step(), 0..40)) {
            let (mut transcript, mut view, mut buffer) = <(Transcript, ChatView, Vec<Line>)>::default();
            let scene = Scene { cwd: "/p".into(), agent: "Agent".into() };
            for step in steps {
                if let Step::Draw(budget) = step {
                    testing::apply(&mut buffer, &view.render(&mut transcript, &scene, budget));
                } else {
                    play(&mut transcript, step);
                }
            }
            draw_all(&mut view, &mut transcript, 100, &mut buffer);
            transcript.redraw();
            let (mut fresh, mut whole) = <(ChatView, Vec<Line>)>::default();
            draw_all(&mut fresh, &mut transcript, usize::MAX / 2, &mut whole);
            prop_assert_eq!(&buffer, &whole);
        }
    }

    #[test]
    fn a_patch_observes_its_budget() {
        let (mut transcript, mut view) = <(Transcript, ChatView)>::default();
        transcript.chunk(Role::Agent, None, &Content::Text("word ".repeat(100_000)));
        let patch = view.render(&mut transcript, &Scene::default(), 65_536);
        assert!(patch.bytes <= 65_536 + 16, "{}", patch.bytes);
        assert!(transcript.first_dirty().is_some());
    }
}
