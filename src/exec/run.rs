//! The event loop of one run: like that for Neovim, it passes events to `State` and effects to the `Runner`.

use super::arguments::Format;
use super::last_frames::LastFrames;
use super::no_editor::NoEditor;
use super::output::{self, Output};
use super::plan::{Plan, Task};
use super::policy::{By, Call, Policy};
use super::questions::{Questions, Said};
use super::signals::{Signals, Wanted};
use super::stdout::{self, Stdout};
use super::{End, Exit};
use crate::acp::transport::any::AnyTransport;
use crate::acp::transport::child::ChildProcesses;
use crate::acp::{Agents, Batch, GracePeriods};
use crate::app::runner::Runner;
use crate::core::messages::agent::AgentEvent;
use crate::core::messages::editor::{Asked, EditorMessage, SessionItem, UserAutocmd};
use crate::core::messages::event::Event;
use crate::core::messages::failure::{Failure, Origin};
use crate::core::messages::notice::Notice;
use crate::core::messages::policy::{ChatPolicy, Outside, ReviewMode, Unsaved};
use crate::core::messages::status::{ChatState, ChatStatus, WaitingPermission};
use crate::core::messages::terminal::TerminalEvent;
use crate::core::messages::user::{PermissionChoice, SessionAction, SessionTarget, UserAction};
use crate::core::state::State;
use crate::host::checkpoints::Checkpoints;
use crate::host::checkpoints::limits::Limits;
use crate::host::store::Store;
use crate::host::terminals::Terminals;
use crate::process::confine::Launcher;
use crate::process::group::Watchdog;
use crate::secrets::Secrets;
use crate::session::ids::TerminalId;
use crate::session::label;
use crate::session::permission::OptionKind;
use crate::session::prompt::Prompt;
use std::collections::HashMap;
use std::io::{ErrorKind, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Capacity of the channels from agents, in batches, and from terminals, in pieces of output.
const CHANNEL_CAPACITY: usize = 16;

/// How long the list of commands is waited for once the session is open.
const COMMANDS_LIMIT: Duration = Duration::from_secs(10);

/// How long a cancelled turn may take to end when timed out.
const CANCEL_LIMIT: Duration = Duration::from_secs(2);

pub(super) fn run(plan: Plan) -> End {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return End::new(Exit::Failed, error.to_string()),
    };
    let (stdout, writer) = Stdout::new(std::io::stdout());
    let secrets = Secrets::of_environment();
    let mut end = runtime.block_on(async { Run::new(plan, stdout, secrets.clone()).run().await });
    // An agent's error may repeat what it was started with.
    end.why = end.why.map(|why| secrets.hide(&why).into_owned());
    // Does not wait for blocking file operations, which may never return.
    runtime.shutdown_background();
    match writer.finish(!matches!(end.exit, Exit::TimedOut | Exit::Cancelled)) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::OutputClosed.into(),
        Err(error) => End::new(Exit::Failed, format!("stdout: {error}")),
        Ok(()) => end,
    }
}

/// What the run is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// For the session to be open.
    Starting,
    /// For the agent's commands, or its sessions, until that time.
    Listing(Instant),
    /// For the end of the turn.
    InTurn,
    /// For the end of a cancelled turn, until that time; then it ends like this.
    Cancelling(Option<Instant>, Exit),
}

struct Run {
    state: State,
    runner: Runner,
    from_agents: mpsc::Receiver<Batch>,
    from_terminals: mpsc::Receiver<(TerminalId, TerminalEvent)>,
    from_effects: mpsc::UnboundedReceiver<Event>,
    plan: Plan,
    stage: Stage,
    stdout: Stdout,
    secrets: Secrets,
    /// Whether stderr can be seen where stdout can.
    is_shared: bool,
    output: Output,
    /// The permission requests that were answered, or are asked about on the terminal.
    decided: HashMap<u64, u64>,
    questions: Questions,
    /// What failed last.
    failure: Option<Failure>,
    last_frames: LastFrames,
    /// Whether the agent is gone.
    has_failed: bool,
    session: Option<String>,
}

impl Run {
    /// Must be called inside a tokio runtime.
    fn new(plan: Plan, stdout: Stdout, secrets: Secrets) -> Self {
        let (agents_sender, from_agents) = mpsc::channel(CHANNEL_CAPACITY);
        let (terminals_sender, from_terminals) = mpsc::channel(CHANNEL_CAPACITY);
        let (effects_sender, from_effects) = mpsc::unbounded_channel();
        let watchdog = Watchdog::of_this_program().ok();
        let launcher = Launcher::of_this_program();
        let children = ChildProcesses::new(launcher.clone(), watchdog.clone());
        let transport = Arc::new(AnyTransport::new(children));
        let grace = GracePeriods::default();
        let agents = Agents::new(agents_sender, transport, grace, secrets.clone());
        let (last_frames, tap) = LastFrames::of(plan.format, &stdout);
        let agents = agents.with_tap(tap);
        let terminals = Terminals::new(terminals_sender, launcher, watchdog);
        let checkpoints = Checkpoints::open(None, secrets.clone(), Limits::default());
        let store = Store::open(None, secrets.clone());
        let editor = Arc::new(NoEditor);
        let runner = Runner::new(editor, agents, terminals, store, checkpoints, effects_sender);
        let output = Output::new(plan.format, std::io::stdout().is_terminal());
        Self {
            state: State::without_views(),
            runner,
            from_agents,
            from_terminals,
            from_effects,
            plan,
            stage: Stage::Starting,
            stdout,
            secrets,
            is_shared: stdout::is_shared_with_stderr(),
            output,
            decided: HashMap::new(),
            questions: Questions::new(),
            failure: None,
            last_frames,
            has_failed: false,
            session: None,
        }
    }

    async fn run(mut self) -> End {
        let mut signals = Signals::listen();
        let over = self.plan.timeout.map(|timeout| Instant::now() + timeout);
        self.start();
        let end = loop {
            if let Some(end) = self.take_frames() {
                break end;
            }
            if self.stdout.is_closed() {
                break Exit::OutputClosed.into();
            }
            let wake = [over.filter(|_| !self.is_cancelling()), self.limit()];
            let wake = wake.into_iter().flatten().min();
            tokio::select! {
                biased;
                wanted = signals.next() => {
                    if wanted == Wanted::End || self.is_cancelling() || !self.cancel(None, Exit::Cancelled) {
                        break Exit::Cancelled.into();
                    }
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    if let Some(end) = self.time_is_over() {
                        break end;
                    }
                }
                () = self.stdout.changed() => {}
                (waiting, said) = self.questions.answer() => {
                    match said {
                        Said::YesToEarlier => {
                            self.tell("the request has changed since you were asked");
                            self.decide(waiting);
                        }
                        said => self.answer(&waiting, said == Said::Yes, By::Person),
                    }
                    self.end_line();
                    self.questions.ask_next(self.plan.config.name.as_str(), &self.stdout);
                }
                Some(event) = self.from_effects.recv() => self.handle(event),
                Some((agent, batch)) = self.from_agents.recv(), if !self.stdout.is_full() => {
                    for from in batch {
                        self.print(&from);
                        self.handle(Event::Agent(agent, from));
                    }
                }
                Some((terminal, event)) = self.from_terminals.recv() => {
                    self.handle(Event::Terminal(terminal, event));
                }
            }
        };
        self.stdout.write(self.output.end().into_bytes());
        for effect in self.state.prepare_exit() {
            self.runner.run(effect);
        }
        self.runner.shutdown().await;
        end
    }

    fn start(&mut self) {
        if self.plan.format == Format::Jsonl {
            let params = serde_json::json!({
                "name": self.plan.config.name.as_str(),
                "command": self.plan.config.command,
            });
            let line = serde_json::json!({
                "jsonrpc": "2.0", "method": "client/selected_agent", "params": params,
            });
            self.stdout.write(format!("{line}\n").into());
        }
        let policy = ChatPolicy {
            unsaved: Unsaved::Ignore,
            review: ReviewMode::Off,
            real_roots: vec![self.plan.policy.root.clone()],
            outside: if self.plan.policy.all { Outside::Read } else { Outside::Refuse },
            ..ChatPolicy::default()
        };
        let session = self.plan.resume.clone();
        self.handle(Event::User(UserAction::Start {
            config: Box::new(self.plan.config.clone()),
            problems: Vec::new(),
            cwd: self.plan.policy.root.clone(),
            directories: Vec::new(),
            policy,
            target: session.map_or(SessionTarget::New, SessionTarget::Only),
            focus: false,
        }));
    }

    fn handle(&mut self, event: Event) {
        for effect in self.state.handle(event) {
            self.runner.run(effect);
        }
    }

    fn print(&mut self, event: &AgentEvent) {
        if let (Stage::InTurn | Stage::Cancelling(..), AgentEvent::Update { update, .. }) =
            (self.stage, event)
        {
            let text = self.output.update(update);
            if !text.is_empty() {
                self.stdout.write(text.into());
            }
        }
    }

    /// Prints a line to stderr. Where that can be seen below the answer, it begins a line of its own.
    fn tell(&mut self, line: &str) {
        let line = self.secrets.hide(line).into_owned();
        if self.is_shared {
            self.stdout.write(self.output.end_line().into());
            self.stdout.then(move || output::tell(&line));
        } else {
            output::tell(&line);
        }
    }

    /// Ends the line of the answer before something else is shown on the terminal. What a pipe or a file gets stays exact.
    fn end_line(&mut self) {
        if std::io::stdout().is_terminal() {
            self.stdout.write(self.output.end_line().into());
        }
    }

    /// Takes what the core has to say. Returns how the run ends, if it does.
    fn take_frames(&mut self) -> Option<End> {
        while self.state.has_frame() {
            let frame = self.state.take_frame();
            for effect in frame.effects {
                self.runner.run(effect);
            }
            let mut end = None;
            for message in frame.messages {
                end = end.or(self.told(message));
            }
            if end.is_some() {
                return end;
            }
            if self.has_failed {
                return Some(self.failed().into());
            }
        }
        None
    }

    /// How the run ends if the agent is gone. Why was told.
    fn failed(&self) -> Exit {
        match &self.failure {
            Some(failure) if failure.origin != Origin::Agent && self.stage == Stage::Starting => {
                Exit::NoAgent
            }
            _ => Exit::Failed,
        }
    }

    fn told(&mut self, message: EditorMessage) -> Option<End> {
        match message {
            EditorMessage::Status(status) => return self.status_changed(*status),
            EditorMessage::Autocommand(UserAutocmd::TurnEnd(_, reason, _)) => {
                return Some(self.turn_ended(&reason));
            }
            EditorMessage::Autocommand(UserAutocmd::Error(_, failure)) => {
                self.tell(&failure.message.text);
                for detail in &failure.details {
                    self.tell(&format!("  {}", detail.text));
                }
                if self.stage != Stage::Starting && !failure.last_messages.is_empty() {
                    self.last_frames.lines().iter().for_each(|line| self.tell(line));
                }
                self.failure = Some(failure);
            }
            EditorMessage::Commands(_, commands) if self.plan.task == Task::ListCommands => {
                self.list(output::list_of_commands(&commands));
                return Some(Exit::Done.into());
            }
            EditorMessage::Sessions { items, more, .. } => {
                if more {
                    self.handle(Event::User(UserAction::MoreSessions));
                    return None;
                }
                if items.is_empty() {
                    let name = self.name().to_owned();
                    self.tell(&format!(
                        "{name} has no sessions in this folder, or cannot list them"
                    ));
                }
                self.list(items.iter().map(listed).collect());
                return Some(Exit::Done.into());
            }
            EditorMessage::Ask(Asked { id, title, .. }) => {
                self.tell(&title);
                self.handle(Event::User(UserAction::Answer { id, index: None }));
            }
            EditorMessage::Login { title, .. } => {
                let why = format!("{} needs a login ({title}); log in first", self.name());
                return Some(End::new(Exit::Failed, why));
            }
            EditorMessage::Notify(_, notice) if !self.is_told(&notice) => self.tell(&notice.text),
            _ => {}
        }
        None
    }

    /// Whether this was told as a failure.
    fn is_told(&self, notice: &Notice) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.message == *notice)
    }

    fn list(&self, text: String) {
        if self.plan.format != Format::Jsonl {
            self.stdout.write(text.into());
        }
    }

    fn name(&self) -> &str {
        self.plan.config.name.as_str()
    }

    fn status_changed(&mut self, status: ChatStatus) -> Option<End> {
        for waiting in status.permissions {
            match self.decided.insert(waiting.id, waiting.revision) {
                Some(seen) if seen == waiting.revision => {}
                _ if self.questions.are_about(waiting.id) => self.questions.changed(waiting),
                // It is new, or has changed while it was answered.
                _ => self.decide(waiting),
            }
        }
        self.session = status.session;
        match status.state {
            ChatState::Ready if self.stage == Stage::Starting => self.begin(),
            ChatState::Failed | ChatState::Stopped => {
                self.has_failed = true;
                None
            }
            _ => None,
        }
    }

    /// The session is open.
    fn begin(&mut self) -> Option<End> {
        if let (Some(file), Some(session)) = (&self.plan.save_session, &self.session)
            && let Err(error) = std::fs::write(file, format!("{session}\n"))
        {
            return Some(End::new(Exit::Usage, format!("{}: {error}", file.display())));
        }
        match self.plan.task.clone() {
            Task::Prompt(text) => {
                self.stage = Stage::InTurn;
                let prompt = Prompt { text, ..Prompt::default() };
                self.handle(Event::User(UserAction::Prompt { chat: None, prompt, now: false }));
            }
            Task::ListCommands => self.stage = Stage::Listing(Instant::now() + COMMANDS_LIMIT),
            Task::ListSessions => {
                self.stage = Stage::Listing(Instant::now() + COMMANDS_LIMIT);
                let (act, cwd) = (SessionAction::Open, self.plan.policy.root.clone());
                self.handle(Event::User(UserAction::ListSessions { act, cwd }));
            }
        }
        None
    }

    fn turn_ended(&mut self, reason: &str) -> End {
        match (self.stage, reason) {
            (Stage::Cancelling(_, Exit::TimedOut), _) => self.timed_out(),
            (Stage::Cancelling(_, exit), _) => exit.into(),
            (_, "refusal") => {
                End::new(Exit::Refused, format!("{} refused the prompt", self.name()))
            }
            // The reason was told.
            (_, "error") => Exit::Failed.into(),
            (_, "end_turn") => Exit::Done.into(),
            (_, reason) => End::new(Exit::Done, format!("the turn ended: {reason}")),
        }
    }

    fn decide(&mut self, waiting: WaitingPermission) {
        let call = Call::of(&waiting);
        let allows = self.plan.policy.allows(call);
        if !allows && self.plan.policy.may_ask(call) && self.questions.can_be_asked() {
            self.end_line();
            return self.questions.ask(waiting, self.plan.config.name.as_str(), &self.stdout);
        }
        self.answer(&waiting, allows, By::Flags);
    }

    fn answer(&mut self, waiting: &WaitingPermission, allows: bool, by: By) {
        let options = &waiting.options;
        let option = Policy::option(options, allows, by);
        if option.is_none() || !allows {
            let what = waiting.title.trim_end_matches('?');
            let hint = self.plan.policy.hint(Call::of(waiting));
            self.tell(&format!("refused: {what}{hint}"));
        }
        let always = options.iter().find(|option| option.kind == OptionKind::RejectAlways);
        let choice = match option.or_else(|| Policy::option(options, false, by)).or(always) {
            Some(option) => PermissionChoice::Option(option.id.clone()),
            None => PermissionChoice::Deny(None),
        };
        let (id, revision) = (Some(waiting.id), Some(waiting.revision));
        self.handle(Event::User(UserAction::Permission { chat: None, id, revision, choice }));
    }

    fn is_cancelling(&self) -> bool {
        matches!(self.stage, Stage::Cancelling(..))
    }

    /// Cancels the turn. Returns `false` if there is none.
    fn cancel(&mut self, until: Option<Instant>, exit: Exit) -> bool {
        if self.stage != Stage::InTurn {
            return false;
        }
        self.stage = Stage::Cancelling(until, exit);
        self.handle(Event::User(UserAction::Cancel(None)));
        true
    }

    fn limit(&self) -> Option<Instant> {
        match self.stage {
            Stage::Listing(until) => Some(until),
            Stage::Cancelling(until, _) => until,
            Stage::Starting | Stage::InTurn => None,
        }
    }

    /// The next limit is reached. Returns how the run ends, if it does.
    fn time_is_over(&mut self) -> Option<End> {
        if let Stage::Listing(until) = self.stage
            && until <= Instant::now()
        {
            // An agent without commands says nothing about them.
            return Some(Exit::Done.into());
        }
        let until = Instant::now() + CANCEL_LIMIT;
        if self.is_cancelling() || !self.cancel(Some(until), Exit::TimedOut) {
            return Some(self.timed_out());
        }
        None
    }

    fn timed_out(&self) -> End {
        let after = self.plan.timeout.unwrap_or_default().as_secs();
        End::new(Exit::TimedOut, format!("timed out after {after} s (--timeout)"))
    }
}

/// Returns a line of the list of sessions: its id, a tab, when it last changed, a tab, its title.
fn listed(item: &SessionItem) -> String {
    let cleaned = |text: Option<&str>| label::line(text.unwrap_or_default()).into_owned();
    let updated = cleaned(item.updated_at.as_deref());
    format!("{}\t{updated}\t{}\n", label::line(item.id.as_str()), cleaned(item.title.as_deref()))
}
