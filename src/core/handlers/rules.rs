//! The user's rules: they decide on permission requests before the user is asked, and deny what agents do through us without
//! asking.

use crate::core::chat::{Chat, PendingPermission, PermissionStage};
use crate::core::messages::agent::INVALID_PARAMS;
use crate::core::messages::effect::{Answer, Effect};
use crate::core::messages::ids::RequestToken;
use crate::core::messages::judgement::{Case, Judgement, RequestVersion};
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::entry::Note;
use crate::session::ids::ToolCallId;
use crate::session::paths::plain_path;
use crate::session::permission::{DecidedBy, OptionKind};
use crate::session::tool_call::{ToolInput, ToolKind, ToolStatus};
use crate::session::update::Severity;
use crate::trust::rule::Decision;
use crate::trust::rules::{self, Call, Restriction, Verdict};
use crate::trust::shell::Unclear;
use std::path::Path;
use std::sync::Arc;

impl State {
    /// Lets the user's rules decide on the requests of a chat that wait for them.
    pub(super) fn judge_waiting(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let cases = chat.take_new_cases();
        self.effects.extend(cases.into_iter().map(|case| Effect::Judge(Box::new(case))));
    }

    /// The user's rules have decided on a request, or leave it to the user.
    pub(in crate::core) fn permission_judged(&mut self, judged: RequestVersion, how: Judgement) {
        let found = self.find_permission(Some(judged.chat), Some(judged.request));
        let Some((id, mut waiting)) = found else { return };
        if waiting.stage != PermissionStage::Rules {
            return;
        }
        let rules = self.chats.get(&id).map(|chat| chat.access.rules_version);
        if waiting.revision != judged.revision || rules != Some(judged.rules) {
            // The rules are deciding on what it is now, or as they are now.
            return;
        }
        waiting.real_files = how.real_files;
        // A rule that denies a file may be about one that is not kept.
        let call =
            self.chats.get(&id).and_then(|chat| chat.incoming().find_tool(&waiting.tool_call));
        let is_cut = call.is_some_and(|entry| entry.call.is_cut());
        let kinds: &[OptionKind] = match how.decision {
            // It may be one of another session, with other rules.
            Decision::Allow if is_cut || self.is_of_unclear_call(waiting.token) => &[],
            Decision::Allow => &[OptionKind::AllowOnce],
            Decision::Deny => &[OptionKind::RejectOnce, OptionKind::RejectAlways],
            Decision::Ask => &[],
        };
        let offered = |kind: &OptionKind| waiting.options.iter().find(|it| it.kind == *kind);
        let option = kinds.iter().find_map(offered).map(|option| option.id.clone());
        if option.is_some() || how.decision == Decision::Deny {
            self.count_decided(id, &how.by);
            waiting.by = DecidedBy::Rules(how.by);
            return self.answer_permission(id, &waiting, option.as_ref());
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let all = chat.awaiting_user.permissions.iter_mut();
        let is_for_user = how.decision == Decision::Ask && !how.by.is_empty();
        let stage = if is_for_user { PermissionStage::User } else { PermissionStage::Provider };
        all.filter(|it| it.id == waiting.id).for_each(|it| {
            it.stage = stage;
            it.real_files.clone_from(&waiting.real_files);
        });
        let why = how
            .unclear
            .map(|why| format!("No rule decides: it is not clear what would run, since {why}."));
        chat.incoming_mut().leave_undecided(&waiting.tool_call, waiting.id, why);
        chat.redraw.status = true;
        self.allow_own_tool(id, waiting.id);
    }

    /// Tells the agent and the user that a rule denies what the agent wants to do. What it tries again and again is shown once.
    pub(super) fn denied_by_rule(
        &mut self,
        id: ChatId,
        token: RequestToken,
        what: &str,
        rule: &str,
        unclear: Option<Unclear>,
    ) {
        let (ours, agents) = match unclear {
            None => ("your rule denies it".to_owned(), String::new()),
            Some(why) => (
                format!("{why}, so your rule may deny it"),
                format!(": it is not clear what would run, since {why}"),
            ),
        };
        if let Some(chat) = self.chats.get_mut(&id) {
            let title = format!("Did not {what}: {ours}: {rule}");
            let key = Some(title.clone());
            chat.transcript.keyed_note(Note { key, ..Note::new(Severity::Warning, title) });
        }
        self.count_decided(id, &[rule.to_owned()]);
        self.refused_by_rule(id);
        let message = format!("the user does not allow this, by the rule \"{rule}\"{agents}");
        self.respond(token, Answer::Error { code: INVALID_PARAMS, message });
    }
}

impl State {
    /// A rule has refused something that one of the open tool calls wanted.
    pub(super) fn refused_by_rule(&mut self, id: ChatId) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.incoming_mut().refuse_open();
        }
    }
}

impl Chat {
    /// Marks a tool call that has ended although a rule denies it: its agent did not ask.
    pub(super) fn mark_against_rule(&mut self, id: &ToolCallId) {
        if self.access.rules.is_empty() || self.replay.loading().is_some() {
            return;
        }
        let Some(tool) = self.incoming().find_tool(id) else { return };
        let has_ended = matches!(tool.call.status, ToolStatus::Completed | ToolStatus::Failed);
        let is_known = tool.asked.is_some() || tool.was_refused || tool.against_rule.is_some();
        if !has_ended || is_known || tool.call.is_cut() {
            return;
        }
        let files = self.paths_of_call(id);
        let commands: Vec<String> = tool.call.commands().cloned().collect();
        let cwds = tool.call.input.iter().flat_map(ToolInput::cwds);
        let cwds: Vec<_> = cwds.map(|cwd| self.cwd.join(cwd)).collect();
        let call = Call {
            agent: self.name(),
            kind: tool.call.kind,
            tool: tool.call.name.as_deref(),
            files: &files,
            commands: &commands,
            root: &self.cwd,
            cwds: &cwds,
            real_path: &|path| Some(plain_path(path)),
        };
        let Verdict::Decided(Decision::Deny, by) = rules::decide(&self.access.rules, call) else {
            return;
        };
        if let Some(rule) = by.first().map(ToString::to_string) {
            self.incoming_mut().mark_against_rule(id, rule);
        }
    }

    /// Returns the stage that a request begins in.
    pub(super) fn first_stage(&self) -> PermissionStage {
        if self.access.rules.is_empty() { PermissionStage::Provider } else { PermissionStage::New }
    }

    /// Returns what the user's rules have to decide about and were not asked about yet.
    fn take_new_cases(&mut self) -> Vec<Case> {
        let mut all = std::mem::take(&mut self.awaiting_user.permissions);
        let mut cases = Vec::new();
        for waiting in all.iter_mut().filter(|it| it.stage == PermissionStage::New) {
            let case = self.case(waiting);
            // Without its tool call there is nothing that rules could decide about.
            waiting.stage =
                if case.is_some() { PermissionStage::Rules } else { PermissionStage::Provider };
            cases.extend(case);
        }
        self.awaiting_user.permissions = all;
        cases
    }

    pub(super) fn case(&self, waiting: &PendingPermission) -> Option<Case> {
        let request = waiting.id;
        let call = &self.incoming().find_tool(&waiting.tool_call)?.call;
        let cwds = call.input.iter().flat_map(ToolInput::cwds);
        Some(Case {
            version: RequestVersion {
                chat: self.id,
                request,
                revision: waiting.revision,
                rules: self.access.rules_version,
            },
            agent: self.name().to_owned(),
            kind: call.kind,
            tool: call.name.clone(),
            // Some agents send paths relative to the session's working directory.
            files: call.paths().map(|path| self.cwd.join(path)).collect(),
            commands: call.commands().cloned().collect(),
            root: self.cwd.clone(),
            cwds: cwds.map(|cwd| self.cwd.join(cwd)).collect(),
            rules: Arc::clone(&self.access.rules),
        })
    }

    /// Returns the rule that denies a command line in a folder, or says to ask about it.
    pub(super) fn restriction(&self, line: &str, cwd: &Path) -> Option<Restriction<'_>> {
        let call = Call {
            agent: self.name(),
            kind: ToolKind::Execute,
            tool: None,
            files: &[],
            commands: &[line.to_owned()],
            root: &self.cwd,
            cwds: &[cwd.to_owned()],
            // Links are not followed here, where no disk is used. What is redirected by one is not noticed.
            real_path: &|path| Some(plain_path(path)),
        };
        rules::restriction(&self.access.rules, call)
    }
}
