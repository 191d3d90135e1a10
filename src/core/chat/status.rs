//! The status of a chat as the editor receives it.

use super::Chat;
use super::pending::{PendingElicitation, PendingPermission, PermissionStage};
use super::phase::Phase;
use crate::core::messages::status::{ChatState, ChatStatus, WaitingPermission};
use crate::session::entry::Entry;
use crate::session::label;
use crate::session::tool_call::{ToolCall, ToolStatus};
use crate::session::update::PlanStatus;
use crate::view::{permission, title};

/// Maximum length of a title taken from a prompt, in characters.
const MAX_TITLE_CHARS: usize = 80;

/// The editor is sent the running prompt with each status, so that it is not lost with this process.
const MAX_PROMPT_BYTES: usize = 16 * 1024;

impl Chat {
    /// The name of the state, for the editor and for scripts.
    pub(in crate::core) fn state(&self) -> ChatState {
        match &self.phase {
            Phase::Stopped => ChatState::Stopped,
            Phase::Starting(_) => ChatState::Starting,
            Phase::Ready if !self.awaiting_user.permissions.is_empty() => ChatState::Waiting,
            Phase::Ready if self.late_call().is_some() => ChatState::Running,
            Phase::Ready => ChatState::Ready,
            Phase::Running(turn) if turn.cancelled => ChatState::Cancelling,
            Phase::Running(_) if self.awaiting_user.holds_turn() => ChatState::Waiting,
            Phase::Running(_) => ChatState::Running,
            Phase::Failed(_) => ChatState::Failed,
        }
    }

    /// Returns the complete status.
    pub(in crate::core) fn status(&self) -> ChatStatus {
        ChatStatus {
            chat: self.id,
            agent: self.name().to_owned(),
            title: self.agent_title(),
            session: self.session.as_ref().map(ToString::to_string),
            session_title: self.session_title(),
            state: self.state(),
            detail: self.detail(),
            stop_reason: self.last_stop.clone().filter(|_| self.turn().is_none()),
            is_between_turns: self.phase == Phase::Ready,
            prompt: self.turn().filter(|turn| !turn.cancelled).and_then(|turn| {
                let text = &turn.prompt.text;
                let is_kept = text.len() <= MAX_PROMPT_BYTES && turn.prompt.is_returned();
                is_kept.then(|| text.clone())
            }),
            queued: self.queue.texts().map(str::to_owned).collect(),
            queue_numbers: self.queue.numbers().collect(),
            queue_paused: self.queue.is_paused(),
            permissions: self
                .awaiting_user
                .permissions
                .iter()
                .filter(|it| matches!(it.stage, PermissionStage::Provider | PermissionStage::User))
                .map(|it| self.permission_status(it))
                .collect(),
            elicitations: self
                .awaiting_user
                .elicitations
                .iter()
                .map(PendingElicitation::status)
                .collect(),
            usage: self.usage.clone(),
            mode: self.mode(),
            plan: self.plan(),
        }
    }

    /// Returns the title of the session: that of its agent, else the beginning of the first prompt.
    pub(in crate::core) fn session_title(&self) -> Option<String> {
        let opening = || self.transcript.opening().map(str::trim);
        let beginning = || Some(opening()?.chars().take(MAX_TITLE_CHARS).collect());
        self.title.clone().or_else(beginning)
    }

    fn detail(&self) -> Option<String> {
        match &self.phase {
            Phase::Failed(why) => Some(why.clone()),
            Phase::Ready if !self.awaiting_user.permissions.is_empty() => self.first_request(),
            Phase::Starting(_) | Phase::Ready if !self.awaiting_user.elicitations.is_empty() => {
                self.first_request()
            }
            Phase::Starting(step) => Some(step.words().to_owned()),
            Phase::Running(_) if self.state() == ChatState::Waiting => self.first_request(),
            Phase::Running(turn) if turn.is_unsent() && self.scanned_files.is_some() => {
                self.scan_progress()
            }
            Phase::Running(turn) => {
                let tool = self.transcript.tools().next_back();
                let running = tool.filter(|tool| tool.call.status == ToolStatus::InProgress);
                running
                    .map(|tool| title::in_sentence(&tool.call, &self.scene()))
                    .or_else(|| turn.activity.map(str::to_owned))
            }
            Phase::Ready if self.late_call().is_some() => {
                self.late_call().map(|call| title::in_sentence(call, &self.scene()))
            }
            Phase::Ready => self.scan_progress().or_else(|| self.title.clone()),
            Phase::Stopped => None,
        }
    }

    /// Returns the newest tool call that an agent goes on with after the end of its turn, which has ended all that it had then.
    fn late_call(&self) -> Option<&ToolCall> {
        let open = self.transcript.tools().rev().find(|tool| tool.call.status.is_open());
        open.map(|tool| &tool.call)
    }

    /// Describes how far the first scan of the folders is.
    fn scan_progress(&self) -> Option<String> {
        self.scanned_files
            .map(|files| format!("reading the folder, so that turns can be undone: {files} files"))
    }

    /// Describes the first request that waits for the user.
    fn first_request(&self) -> Option<String> {
        let Some(waiting) = self.awaiting_user.permissions.first() else {
            return self.awaiting_user.elicitations.first().map(PendingElicitation::first_line);
        };
        let entry = self.incoming().find_tool(&waiting.tool_call)?;
        Some(format!("needs approval: {}", title::request(&entry.call, &self.scene())))
    }

    /// Returns what the status says of the request with this number, while it waits.
    pub(in crate::core) fn waiting_permission(&self, id: u64) -> Option<WaitingPermission> {
        let waiting = self.awaiting_user.permissions.iter().find(|waiting| waiting.id == id)?;
        Some(self.permission_status(waiting))
    }

    fn permission_status(&self, waiting: &PendingPermission) -> WaitingPermission {
        let entry = self.incoming().find_tool(&waiting.tool_call);
        let input = entry.and_then(|entry| entry.call.input.as_ref());
        WaitingPermission {
            id: waiting.id,
            tool_call: waiting.tool_call.to_string(),
            title: entry
                .map(|entry| {
                    label::line(&title::request_heading(&entry.call, &self.scene())).into_owned()
                })
                .unwrap_or_default(),
            kind: entry.map_or("tool", |entry| title::kind(entry.call.kind)),
            tool_kind: entry.map(|entry| entry.call.kind).unwrap_or_default(),
            // Some agents send paths relative to the session's working directory.
            files: entry.map_or_else(Vec::new, |entry| {
                entry.call.paths().map(|path| self.cwd.join(path)).collect()
            }),
            commands: input.map_or_else(Vec::new, |input| input.commands().cloned().collect()),
            command_cwds: input.map_or_else(Vec::new, |input| {
                input.cwds().map(|cwd| self.cwd.join(cwd)).collect()
            }),
            asks: entry.map(|entry| permission::summary(entry, &self.scene())).unwrap_or_default(),
            revision: waiting.revision,
            options: waiting.options.clone(),
            diffs: entry.map_or(0, |entry| entry.call.diffs().count()),
            for_user: waiting.stage == PermissionStage::User,
        }
    }

    /// The name of the current mode. Options take precedence over modes (ACP session config options).
    fn mode(&self) -> Option<String> {
        use crate::session::update::OptionValue;
        let option = self
            .settings
            .options
            .iter()
            .find(|option| option.category.as_deref() == Some("mode"))
            .map(|option| &option.value);
        if let Some(OptionValue::Select { current, choices }) = option {
            let choice = choices.iter().find(|choice| choice.value == *current);
            return Some(choice.map_or(current, |choice| &choice.name).clone());
        }
        let modes = self.settings.modes.as_ref().filter(|_| self.settings.options.is_empty())?;
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
