//! One conversation: what it is, how it stands, what waits. It answers questions about itself; what happens next is
//! decided in `state`.

use super::effect::{Effect, View};
use super::elicit::Asking;
use super::event::{AgentId, CallId, ChatId, Token, Told, Wish};
use super::policy::Policy;
use super::reach::{Allowed, Reach};
use super::status::{ChatState, Status, WaitingPermission};
use crate::session::agent::{AgentConfig, AgentInfo};
use crate::session::author::SessionKey;
use crate::session::ids::{ElicitationId, SessionId, ToolCallId};
use crate::session::permission::PermissionOption;
use crate::session::prompt::Prompt;
use crate::session::remembered::StoreKey;
use crate::session::tool_call::ToolStatus;
use crate::session::transcript::{Entry, Transcript};
use crate::session::update::{ConfigOption, Modes, PlanStatus, Usage};
use crate::view::ask;
use crate::view::card;
use crate::view::chat::ChatView;
use crate::view::plan::PlanView;
use crate::view::scene::Scene;
use crate::view::tools::ToolsView;
use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

/// Where a conversation stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// No agent, because the user ended it or there was none yet.
    Stopped,
    /// The agent is being started; the word says what it is doing.
    Starting(&'static str),
    /// The agent waits for a prompt.
    Ready,
    /// A turn runs.
    Running(Turn),
    /// No agent, because it could not be started or died; why.
    Failed(String),
}

/// A running turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The prompt's call; none while it is found out what goes with the prompt.
    pub call: Option<CallId>,
    /// The agent tells by updates when it is over; it may have begun it by itself.
    pub told_by_updates: bool,
    /// What was sent, to be sent again after a login.
    pub prompt: Prompt,
    /// Where in the transcript that stands.
    pub entry: usize,
    /// Counted from 1 within the chat.
    pub number: u64,
    /// Whether the user cancelled it.
    pub cancelled: bool,
    /// What came with the prompt about files the agent wrote.
    pub told: Vec<Told>,
}

impl Turn {
    /// A turn whose prompt has not gone out.
    pub(super) fn new(number: u64, prompt: Prompt, entry: usize) -> Self {
        let (cancelled, told) = (false, Vec::new());
        Self { call: None, told_by_updates: false, prompt, entry, number, cancelled, told }
    }

    /// Whether the agent knows nothing of it yet.
    pub(super) fn is_unsent(&self) -> bool {
        self.call.is_none() && !self.told_by_updates
    }
}

/// A request for permission that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Our number of it.
    pub id: u64,
    /// Spent by the answer.
    pub token: Token,
    /// What it is about.
    pub tool_call: ToolCallId,
    /// The ways to answer.
    pub options: Vec<PermissionOption>,
    /// How often what it asks has changed.
    pub revision: u64,
}

/// One conversation.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub struct Chat {
    /// Ours.
    pub id: ChatId,
    /// How its agent is started.
    pub config: AgentConfig,
    /// Where it works, absolute.
    pub cwd: PathBuf,
    /// Further roots, configured.
    pub directories: Vec<PathBuf>,
    /// What the user has chosen about files.
    pub policy: Policy,
    /// What the user allowed outside the roots.
    pub allowed: Vec<Allowed>,
    /// What the user refused there.
    pub refused: Vec<Allowed>,
    /// The process, while there is one.
    pub agent: Option<AgentId>,
    /// The process there was last, for its traffic.
    pub last_agent: Option<AgentId>,
    /// What it said of itself.
    pub info: AgentInfo,
    /// The session, also after the agent died, to go on with.
    pub session: Option<SessionId>,
    /// Which one it is to get.
    pub wish: Wish,
    /// The last session of its folder, where it is to go on with that.
    pub last: Option<SessionId>,
    /// Another Neovim has that session open.
    pub last_is_elsewhere: bool,
    /// It is being looked up what is known of that session from before.
    pub awaits_store: bool,
    /// What was said in it before.
    pub past: Vec<Entry>,
    /// All of the transcript is to be written down, not only what is new.
    pub keep_anew: bool,
    /// It is not written down just now, which the user has been told.
    pub unkept: bool,
    /// Whether the running process has that session open.
    pub live: bool,
    /// Whether it has ever read a file through us.
    pub reads_through_us: bool,
    /// Where it stands.
    pub phase: Phase,
    /// What was said.
    pub transcript: Transcript,
    /// What a loaded session says again, until it is known that loading works.
    pub replay: Option<Transcript>,
    /// A loaded session has said nothing again so far: what is shown is from before.
    pub reloaded: bool,
    /// It cannot go on before a login.
    pub wants_login: bool,
    /// Prompts that wait.
    pub queue: VecDeque<Prompt>,
    /// Whether they wait for the user, too.
    pub queue_paused: bool,
    /// Requests for permission, oldest first.
    pub permissions: Vec<Waiting>,
    /// What its agent asks the user for, oldest first.
    pub elicitations: Vec<Asking>,
    /// What the user has opened and the agent waits for, with our numbers of the requests.
    pub opened: Vec<(ElicitationId, u64)>,
    /// How many questions of ours about this chat are open.
    pub questions: usize,
    /// Turns so far.
    pub turns: u64,
    /// How full the context is.
    pub usage: Option<Usage>,
    /// Modes.
    pub modes: Option<Modes>,
    /// Options.
    pub options: Vec<ConfigOption>,
    /// How many configured options the agent has not set yet.
    pub unset: usize,
    /// The session's title.
    pub title: Option<String>,
    /// What the agent does just now.
    pub activity: Option<String>,
    /// The transcript as drawn.
    pub view: ChatView,
    /// The plan as drawn.
    pub plan_view: PlanView,
    /// The tool calls as drawn.
    pub tools_view: ToolsView,
    /// What the editor shows nothing of yet, or something else.
    pub blank: BTreeSet<View>,
    /// Its drawing has broken: it is left as it is.
    pub undrawable: bool,
    /// Its drawing panics, for the test of what becomes of that.
    #[cfg(test)]
    pub breaks_when_drawn: bool,
    /// The editor does not know yet how it stands.
    pub changed: bool,
}

impl Chat {
    /// A conversation without an agent yet.
    pub fn new(id: ChatId, config: AgentConfig, cwd: PathBuf, directories: Vec<PathBuf>) -> Self {
        Self {
            id,
            config,
            cwd,
            directories,
            policy: Policy::default(),
            allowed: Vec::new(),
            refused: Vec::new(),
            agent: None,
            last_agent: None,
            info: AgentInfo::default(),
            session: None,
            wish: Wish::New,
            last: None,
            last_is_elsewhere: false,
            awaits_store: false,
            past: Vec::new(),
            keep_anew: false,
            unkept: false,
            live: false,
            reads_through_us: false,
            phase: Phase::Stopped,
            transcript: Transcript::default(),
            replay: None,
            reloaded: false,
            wants_login: false,
            queue: VecDeque::new(),
            queue_paused: false,
            permissions: Vec::new(),
            elicitations: Vec::new(),
            opened: Vec::new(),
            questions: 0,
            turns: 0,
            usage: None,
            modes: None,
            options: Vec::new(),
            unset: 0,
            title: None,
            activity: None,
            view: ChatView::default(),
            plan_view: PlanView::default(),
            tools_view: ToolsView::default(),
            blank: View::ALL.into(),
            undrawable: false,
            #[cfg(test)]
            breaks_when_drawn: false,
            changed: true,
        }
    }

    /// The agent's name in the configuration.
    pub fn name(&self) -> &str {
        self.config.name.as_str()
    }

    /// The agent's name for people.
    pub fn agent_title(&self) -> String {
        self.info.title.clone().or_else(|| self.info.name.clone()).unwrap_or_else(|| {
            let mut letters = self.name().chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_uppercase().chain(letters).collect::<String>()
            })
        })
    }

    /// By what a session of its agent, where it works, is found again.
    pub fn store_key(&self, id: SessionId) -> StoreKey {
        StoreKey { cwd: self.cwd.clone(), agent: self.config.name.clone(), id }
    }

    /// Its session among those of all agents.
    pub fn key(&self) -> Option<SessionKey> {
        let session = self.session.clone()?;
        Some(SessionKey { chat: self.id, session })
    }

    /// Where files may lie.
    pub fn reach(&self) -> Reach {
        let roots = std::iter::once(&self.cwd).chain(&self.directories).cloned().collect();
        Reach { roots, allowed: self.allowed.clone() }
    }

    /// Whether its agent reads files through us, unsaved text included.
    pub fn reads_buffers(&self) -> bool {
        self.reads_through_us && !self.info.quirks.model_reads_disk
    }

    /// What drawing needs to know.
    pub fn scene(&self) -> Scene {
        Scene { cwd: self.cwd.clone(), agent: self.agent_title() }
    }

    /// It does not go on with a session from before.
    pub fn forget_past(&mut self, effects: &mut Vec<Effect>) {
        effects.extend(self.key().map(Effect::Forget));
        self.session = None;
        self.title = None;
        self.past.clear();
    }

    /// Forgets what is drawn, so that all is drawn again.
    pub fn redraw(&mut self) {
        for view in View::ALL {
            self.redraw_view(view);
        }
    }

    /// The same for one of its buffers.
    pub fn redraw_view(&mut self, view: View) {
        match view {
            View::Chat => {
                self.view = ChatView::default();
                self.transcript.redraw();
            }
            View::Plan => self.plan_view = PlanView::default(),
            View::Tools => self.tools_view = ToolsView::default(),
        }
        self.blank.insert(view);
    }

    /// The running turn.
    pub fn turn(&self) -> Option<&Turn> {
        match &self.phase {
            Phase::Running(turn) => Some(turn),
            _ => None,
        }
    }

    /// The state's name.
    pub fn state(&self) -> ChatState {
        match &self.phase {
            Phase::Stopped => ChatState::Stopped,
            Phase::Starting(_) => ChatState::Starting,
            Phase::Ready => ChatState::Ready,
            Phase::Running(Turn { cancelled: true, .. }) => ChatState::Cancelling,
            Phase::Running(_) if self.waits_for_user() => ChatState::Waiting,
            Phase::Running(_) => ChatState::Running,
            Phase::Failed(_) => ChatState::Failed,
        }
    }

    fn waits_for_user(&self) -> bool {
        !self.permissions.is_empty() || !self.elicitations.is_empty() || self.questions > 0
    }

    /// How it stands, whole.
    pub fn status(&self) -> Status {
        Status {
            chat: self.id,
            agent: self.name().to_owned(),
            title: self.agent_title(),
            session: self.session.as_ref().map(ToString::to_string),
            state: self.state(),
            detail: self.detail(),
            queued: self.queue.iter().map(|prompt| prompt.text.clone()).collect(),
            queue_paused: self.queue_paused && !self.queue.is_empty(),
            permissions: self.permissions.iter().map(|it| self.waiting(it)).collect(),
            elicitations: self.elicitations.iter().map(Asking::status).collect(),
            usage: self.usage.clone(),
            mode: self.mode(),
            plan: self.plan(),
        }
    }

    fn detail(&self) -> Option<String> {
        match &self.phase {
            Phase::Failed(why) => Some(why.clone()),
            Phase::Starting(_) | Phase::Ready if !self.elicitations.is_empty() => self.asked(),
            Phase::Starting(what) => Some((*what).to_owned()),
            Phase::Running(_) if self.state() == ChatState::Waiting => self.asked(),
            Phase::Running(_) => {
                let tool = self.transcript.tools().next_back();
                let running = tool.filter(|tool| tool.call.status == ToolStatus::InProgress);
                running
                    .map(|tool| card::deed(&tool.call, &self.scene()))
                    .or_else(|| self.activity.clone())
            }
            Phase::Ready => self.title.clone(),
            Phase::Stopped => None,
        }
    }

    /// What the user is asked first.
    fn asked(&self) -> Option<String> {
        let Some(waiting) = self.permissions.first() else {
            return self.elicitations.first().map(Asking::gist);
        };
        let entry = self.said().find_tool(&waiting.tool_call)?;
        Some(format!("may it {}?", card::deed(&entry.call, &self.scene())))
    }

    fn waiting(&self, waiting: &Waiting) -> WaitingPermission {
        let entry = self.said().find_tool(&waiting.tool_call);
        WaitingPermission {
            id: waiting.id,
            tool_call: waiting.tool_call.to_string(),
            title: entry
                .map(|entry| card::tool_title(entry, &self.scene()).text)
                .unwrap_or_default(),
            kind: entry.map_or("tool", |entry| card::kind(entry.call.kind)),
            command: entry
                .and_then(|entry| entry.call.input.as_ref())
                .and_then(|input| input.command.clone()),
            asks: entry.map(|entry| ask::summary(&entry.call, &self.scene())).unwrap_or_default(),
            revision: waiting.revision,
            options: waiting.options.clone(),
            diffs: entry.map_or(0, |entry| entry.call.diffs().count()),
        }
    }

    /// The mode's name, from the options where there are any (ACP session config options).
    fn mode(&self) -> Option<String> {
        use crate::session::update::OptionValue;
        let option = self
            .options
            .iter()
            .find(|option| option.category.as_deref() == Some("mode"))
            .map(|option| &option.value);
        if let Some(OptionValue::Select { current, choices }) = option {
            let choice = choices.iter().find(|choice| choice.value == *current);
            return Some(choice.map_or(current, |choice| &choice.name).clone());
        }
        let modes = self.modes.as_ref().filter(|_| self.options.is_empty())?;
        let choice = modes.available.iter().find(|choice| choice.value == modes.current);
        Some(choice.map_or(&modes.current, |choice| &choice.name).clone())
    }

    fn plan(&self) -> Option<(usize, usize)> {
        let plan = self.transcript.entries().iter().rev().find_map(|entry| match entry {
            Entry::Plan(plan) => Some(plan),
            _ => None,
        })?;
        let done = plan.iter().filter(|step| step.status == PlanStatus::Completed).count();
        (!plan.is_empty()).then_some((done, plan.len()))
    }
}
