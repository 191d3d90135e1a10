//! Options and modes of a session (ACP session config options, session modes): told to the editor, set, and believed as the
//! agent's answers have them.

use super::chat::{Chat, Phase};
use super::effect::{Call, Level, ToEditor};
use super::event::ChatId;
use super::event::agent::CallError;
use super::state::{Expected, State};
use super::words;
use crate::session::update::{ConfigOption, OptionValue};

/// The id of what stands for modes where an agent has no options.
const MODE: &str = "mode";

impl Chat {
    /// What can be set: the options, or the modes as one where there are none (ACP session config options).
    pub(super) fn settings(&self) -> Vec<ConfigOption> {
        if !self.options.is_empty() {
            return self.options.clone();
        }
        let modes = self.modes.iter().map(|modes| ConfigOption {
            id: MODE.to_owned(),
            name: "Mode".to_owned(),
            description: None,
            category: Some(MODE.to_owned()),
            value: OptionValue::Select {
                current: modes.current.clone(),
                choices: modes.available.clone(),
            },
        });
        modes.collect()
    }

    /// The option of this id, else the first of this category, else the one of this name.
    fn setting(&self, word: &str) -> Option<ConfigOption> {
        let all = self.settings();
        let by = |fits: &dyn Fn(&ConfigOption) -> bool| all.iter().find(|it| fits(it)).cloned();
        by(&|it| it.id == word)
            .or_else(|| by(&|it| it.category.as_deref() == Some(word)))
            .or_else(|| by(&|it| it.name.eq_ignore_ascii_case(word)))
    }
}

/// What a word means as the value of an option; else what is wrong with it.
fn value_of(option: &ConfigOption, word: &str) -> Result<OptionValue, String> {
    match &option.value {
        OptionValue::Boolean(_) => match word {
            "on" | "true" | "yes" => Ok(OptionValue::Boolean(true)),
            "off" | "false" | "no" => Ok(OptionValue::Boolean(false)),
            _ => Err(format!("{} is on or off, not \"{word}\"", option.name)),
        },
        OptionValue::Select { choices, .. } => {
            let by_value = choices.iter().find(|choice| choice.value == word);
            let named = || choices.iter().find(|choice| choice.name.eq_ignore_ascii_case(word));
            let Some(choice) = by_value.or_else(named) else {
                let known: Vec<_> = choices.iter().map(|choice| choice.value.as_str()).collect();
                return Err(format!(
                    "{} has no \"{word}\", only {}",
                    option.name,
                    known.join(", ")
                ));
            };
            Ok(OptionValue::Select { current: choice.value.clone(), choices: Vec::new() })
        }
    }
}

fn is_set(option: &ConfigOption, value: &OptionValue) -> bool {
    match (&option.value, value) {
        (OptionValue::Select { current, .. }, OptionValue::Select { current: wanted, .. }) => {
            current == wanted
        }
        (is, wanted) => is == wanted,
    }
}

impl State {
    /// Tells the editor what can be set.
    pub(super) fn tell_options(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.changed = true;
        self.after.push(ToEditor::Options(id, chat.settings()));
    }

    /// The user sets an option.
    pub(super) fn set_option(&mut self, id: ChatId, option: &str, word: &str) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(option) = chat.setting(option) else {
            let known: Vec<_> = chat.settings().into_iter().map(|option| option.id).collect();
            let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
            let title = chat.agent_title();
            return self
                .notify(Level::Error, format!("{title} has no option \"{option}\", only {known}"));
        };
        match value_of(&option, word) {
            Ok(value) => self.ask_for_option(id, &option, value),
            Err(problem) => self.notify(Level::Error, problem),
        }
    }

    fn ask_for_option(&mut self, id: ChatId, option: &ConfigOption, value: OptionValue) {
        let Some(chat) = self.chats.get(&id).filter(|chat| chat.live) else {
            return self.notify(Level::Warn, "the session is not open: :RatRestart");
        };
        let Some(session) = chat.session.clone() else { return };
        let timeout = chat.config.timeouts.request;
        let name = option.name.clone();
        let (call, expected) = match value {
            OptionValue::Select { current, .. } if chat.options.is_empty() => {
                let expected = Expected::Mode(current.clone());
                (Call::SetMode { session, mode: current }, expected)
            }
            value => (
                Call::SetOption { session, option: option.id.clone(), value },
                Expected::Option(name),
            ),
        };
        self.call(id, call, expected, timeout);
    }

    /// A new session begins with what the user has configured. Gives whether answers are to be waited for.
    pub(super) fn set_defaults(&mut self, id: ChatId) -> bool {
        let Some(chat) = self.chats.get(&id) else { return false };
        let name = chat.name().to_owned();
        let mut asked = 0;
        for (word, wanted) in chat.config.options.clone() {
            let Some(option) = self.chats.get(&id).and_then(|chat| chat.setting(&word)) else {
                let text = format!("agents.{name}.options.{word}: the agent has no such option");
                self.notify(Level::Warn, text);
                continue;
            };
            match value_of(&option, &wanted) {
                Ok(value) if is_set(&option, &value) => {}
                Ok(value) => {
                    self.ask_for_option(id, &option, value);
                    asked += 1;
                }
                Err(problem) => {
                    self.notify(Level::Warn, format!("agents.{name}.options.{word}: {problem}"));
                }
            }
        }
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.unset = asked;
        }
        asked > 0
    }

    /// The agent has set an option: its answer is what counts.
    pub(super) fn option_set(&mut self, id: ChatId, options: Vec<ConfigOption>) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.options = options;
        }
        self.tell_options(id);
        self.default_answered(id);
    }

    pub(super) fn mode_set(&mut self, id: ChatId, mode: String) {
        if let Some(modes) = self.chats.get_mut(&id).and_then(|chat| chat.modes.as_mut()) {
            modes.current = mode;
        }
        self.tell_options(id);
        self.default_answered(id);
    }

    pub(super) fn option_refused(&mut self, id: ChatId, what: &str, error: &CallError) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (title, why) = (chat.agent_title(), words::reason(error));
        self.notify(Level::Error, format!("{title} did not change {what} ({why})"));
        self.default_answered(id);
    }

    /// With the last of the configured options the new session is ready.
    fn default_answered(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.unset == 0 {
            return;
        }
        chat.unset -= 1;
        if chat.unset == 0 && matches!(chat.phase, Phase::Starting(_)) {
            self.enter(id, Phase::Ready);
            self.pump(id);
        }
    }
}
