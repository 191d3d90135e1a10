//! Rules that the user makes from a request or writes into a list. They hold for one session, one project or everywhere; the
//! store saves the latter two.

use crate::core::chat::PermissionStage;
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::{Effect, StoreCommand};
use crate::core::messages::notice::Notice;
use crate::core::messages::rules::{
    ListedRule, RuleProblem, RuleSuggestion, RulesList, RulesPage, ThenTell,
};
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::label;
use crate::session::paths::{other_reading, plain_path};
use crate::trust::kept::{
    self, Extent, KeptRule, KeptRules, RulesChange, RulesFailure, without_allowing,
};
use crate::trust::rule::Rule;
use crate::trust::suggest::suggest;
use std::path::Path;

/// Longest title of a request that is kept with a rule, in characters.
const MAX_TITLE: usize = 120;

impl State {
    /// Takes over the saved rules, or that they cannot be read. Then no rule allows anything: one of them may deny it.
    pub fn set_kept_rules(&mut self, rules: Result<KeptRules, RulesFailure>) {
        let problem = match rules {
            Ok(rules) => {
                self.kept_rules = rules;
                None
            }
            Err(RulesFailure::Unreadable(why)) => Some(why),
            Err(RulesFailure::Unsaved(why)) => {
                let text = format!("Your rules could not be saved: {why}. They are as before.");
                return self.notify(Level::Error, text);
            }
        };
        if let Some(why) = problem.as_ref().filter(|_| self.rules_problem.is_none()) {
            let text = format!("Your saved rules cannot be read: {why}.");
            let advice = "Until they can, no rule allows anything.";
            self.notify(Level::Error, Notice::from(text).advise(advice));
        }
        self.rules_problem = problem;
        self.rules_changed();
    }

    /// Has all chats follow the rules as they are now, also for requests that wait for the user.
    pub(in crate::core) fn rules_changed(&mut self) {
        for id in self.chats.keys().copied().collect::<Vec<_>>() {
            self.update_rules(id);
            self.judge_waiting(id);
        }
    }

    /// Puts the rules for a chat together.
    pub(super) fn update_rules(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let saved = self.kept_rules.of(None).iter().chain(self.kept_rules.of(Some(chat.project())));
        let made = saved.chain(&chat.access.session_rules).map(|kept| kept.rule.clone());
        let mut rules: Vec<Rule> = chat.access.policy.rules.iter().cloned().chain(made).collect();
        if self.rules_problem.is_some() {
            rules = without_allowing(rules);
        }
        if *chat.access.rules != *rules {
            chat.access.rules = rules.into();
            chat.access.rules_version += 1;
            let waiting = chat.awaiting_user.permissions.iter_mut();
            waiting.for_each(|it| it.stage = PermissionStage::New);
        }
    }

    /// Reads the rules in order to show them.
    pub(in crate::core) fn rules_requested(&mut self, id: ChatId) {
        let read = StoreCommand::Rules(RulesChange::Nothing, ThenTell::Rules(id));
        self.effects.push(Effect::Store(read));
    }

    /// Offers the user rules that would decide a request from now on.
    pub(in crate::core) fn suggest_rule(&mut self, id: ChatId, request: u64) {
        let Some((_, waiting)) = self.find_permission(Some(id), Some(request)) else { return };
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(case) = chat.case(&waiting) else { return };
        if case.files.iter().any(|file| other_reading(file, &case.root).is_some()) {
            let text = "No rule can be made of this request: its path may lead elsewhere.";
            return self.notify(Level::Info, text);
        }
        let call = case.call(&|path| Some(plain_path(path)));
        match suggest(call) {
            Ok(lines) => {
                let cwd = chat.project().to_owned();
                let suggestion = RuleSuggestion { chat: id, request, cwd, lines };
                self.after_draw.push(EditorMessage::RuleSuggestion(suggestion));
            }
            Err(why) => {
                let text = format!("No rule can be made of this request: {why}.");
                self.notify(Level::Info, text);
            }
        }
    }

    /// Keeps rules that the user has made of a request. What is wrong with them is told, and they are offered again.
    pub(in crate::core) fn keep_rules(
        &mut self,
        id: ChatId,
        request: u64,
        extent: Extent,
        lines: Vec<String>,
    ) {
        let Some(chat) = self.chats.get(&id) else { return };
        let title = self.find_permission(Some(id), Some(request)).and_then(|(_, waiting)| {
            let title = &chat.incoming().find_tool(&waiting.tool_call)?.call.title;
            Some(label::short(title, MAX_TITLE))
        });
        let cwd = chat.project().to_owned();
        let rules = match kept::parse(&lines, title.as_deref()) {
            Ok(rules) if rules.is_empty() => return,
            Ok(rules) => rules,
            Err(problems) => {
                let why = problems.into_iter().next().map(|(_, why)| why).unwrap_or_default();
                self.notify(Level::Error, format!("The rule was not kept: {why}."));
                let suggestion = RuleSuggestion { chat: id, request, cwd, lines };
                return self.after_draw.push(EditorMessage::RuleSuggestion(suggestion));
            }
        };
        let what = match &rules[..] {
            [one] => one.rule.to_string(),
            several => format!("{} rules", several.len()),
        };
        let holds = match extent {
            Extent::Session => "until this session ends".to_owned(),
            Extent::Project => format!("for {}", cwd.display()),
            Extent::Everywhere => "for all projects".to_owned(),
        };
        self.add_rules(id, extent, rules, format!("Kept {holds}: {what}."));
    }

    /// Replaces the lists of rules that the user has edited, all or none of them.
    pub(in crate::core) fn set_rules(
        &mut self,
        id: ChatId,
        cwd: &Path,
        lists: Vec<(Extent, Vec<String>)>,
    ) {
        // After a restart, another chat may have this number.
        if self.chats.get(&id).is_none_or(|chat| chat.project() != cwd) {
            let text = format!("The chat in {} is gone. Nothing was changed.", cwd.display());
            let text = Notice::from(text).advise(":e! shows the rules of another chat.");
            return self.notify(Level::Error, text);
        }
        let (mut parsed, mut problems) = (Vec::new(), Vec::new());
        for (extent, lines) in lists {
            match kept::parse(&lines, None) {
                Ok(rules) => parsed.push((extent, rules)),
                Err(wrong) => problems.extend(wrong.into_iter().map(|(index, why)| RuleProblem {
                    extent,
                    index,
                    why,
                })),
            }
        }
        if !problems.is_empty() {
            return self.after_draw.push(EditorMessage::RuleProblems(problems));
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let mut saved = Vec::new();
        for (extent, rules) in parsed {
            match extent {
                Extent::Session => kept::set(&mut chat.access.session_rules, rules),
                Extent::Project => saved.push((Some(chat.project().to_owned()), rules)),
                Extent::Everywhere => saved.push((None, rules)),
            }
        }
        let change = StoreCommand::Rules(RulesChange::Set(saved), ThenTell::Applied(id));
        self.effects.push(Effect::Store(change));
    }

    /// Adds rules, and tells the user so once they are saved.
    pub(super) fn add_rules(
        &mut self,
        id: ChatId,
        extent: Extent,
        rules: Vec<KeptRule>,
        told: String,
    ) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let project = match extent {
            Extent::Session => {
                kept::add(&mut chat.access.session_rules, rules);
                self.rules_changed();
                return self.tell_kept(told);
            }
            Extent::Project => Some(chat.project().to_owned()),
            Extent::Everywhere => None,
        };
        let change = StoreCommand::Rules(RulesChange::Add(project, rules), ThenTell::Kept(told));
        self.effects.push(Effect::Store(change));
    }

    fn tell_kept(&mut self, told: String) {
        self.notify(Level::Info, Notice::from(told).advise(":RatRules lists your rules."));
    }

    /// The saved rules were read or changed, or could not be.
    pub(in crate::core) fn rules_saved(
        &mut self,
        rules: Result<KeptRules, RulesFailure>,
        then: ThenTell,
    ) {
        let is_saved = !matches!(rules, Err(RulesFailure::Unsaved(_)));
        self.set_kept_rules(rules);
        match then {
            ThenTell::Rules(id) => self.show_rules(id),
            ThenTell::Applied(id) if is_saved => {
                self.after_draw.push(EditorMessage::RuleProblems(Vec::new()));
                self.show_rules(id);
            }
            ThenTell::Kept(told) if is_saved => self.tell_kept(told),
            ThenTell::Nothing | ThenTell::Kept(_) | ThenTell::Applied(_) => {}
        }
    }

    fn show_rules(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let list = |extent| {
            let rules = match extent {
                Extent::Everywhere => self.kept_rules.of(None),
                Extent::Project => self.kept_rules.of(Some(chat.project())),
                Extent::Session => &chat.access.session_rules,
            };
            RulesList { extent, rules: rules.iter().map(listed).collect() }
        };
        let policy = &chat.access.policy;
        let rules = policy.rules.iter().map(ToString::to_string);
        let configured = policy.rule_problems.iter().cloned().chain(rules).collect();
        let page = RulesPage {
            chat: id,
            agent: chat.agent_title(),
            cwd: chat.project().to_owned(),
            lists: Extent::ALL.into_iter().map(list).collect(),
            configured,
        };
        self.after_draw.push(EditorMessage::Rules(Box::new(page)));
    }

    /// Counts a request that rules have decided.
    pub(super) fn count_decided(&mut self, id: ChatId, lines: &[String]) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        kept::count(&mut chat.access.session_rules, lines);
        let saved = self.kept_rules.of(None).iter().chain(self.kept_rules.of(Some(chat.project())));
        let lines: Vec<String> =
            saved.map(|kept| kept.rule.to_string()).filter(|line| lines.contains(line)).collect();
        if !lines.is_empty() {
            let change = RulesChange::Decided(chat.project().to_owned(), lines);
            self.effects.push(Effect::Store(StoreCommand::Rules(change, ThenTell::Nothing)));
        }
    }
}

fn listed(kept: &KeptRule) -> ListedRule {
    ListedRule {
        line: kept.rule.to_string(),
        since: (kept.since > 0).then_some(kept.since),
        from: kept.from.clone(),
        decided: kept.decided,
    }
}
