//! Options, modes and models of a session (ACP session config options, session modes): setting them, and reporting them
//! to the editor. The agent's replies are authoritative.

use crate::core::calls::ExpectedReply;
use crate::core::chat::StartupStep;
use crate::core::chat::{Chat, Phase};
use crate::core::messages::agent::CallError;
use crate::core::messages::call::Call;
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::notice::Notice;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::author::ChatId;
use crate::session::update::{ConfigOption, OptionValue, Selection};

/// Ids of the options that stand for the modes and models of an agent without options.
const MODE: &str = "mode";
const MODEL: &str = "model";

impl Chat {
    /// Returns what can be set: the options, or if there are none, the modes and the models as two options (ACP session
    /// config options).
    pub(in crate::core) fn settings(&self) -> Vec<ConfigOption> {
        if !self.settings.options.is_empty() {
            return self.settings.options.clone();
        }
        let older = [(MODE, "Mode", &self.settings.modes), (MODEL, "Model", &self.settings.models)];
        let option = |(id, name, selection): (&str, &str, &Option<Selection>)| {
            let selection = selection.as_ref()?;
            Some(ConfigOption {
                id: id.to_owned(),
                name: name.to_owned(),
                description: None,
                category: Some(id.to_owned()),
                value: OptionValue::Select {
                    current: selection.current.clone(),
                    choices: selection.available.clone(),
                },
            })
        };
        older.into_iter().filter_map(option).collect()
    }

    /// Finds an option by its id, else by its category, else by its name.
    fn setting(&self, word: &str) -> Option<ConfigOption> {
        let all = self.settings();
        let by = |fits: &dyn Fn(&ConfigOption) -> bool| all.iter().find(|it| fits(it)).cloned();
        by(&|it| it.id == word)
            .or_else(|| by(&|it| it.category.as_deref() == Some(word)))
            .or_else(|| by(&|it| it.name.eq_ignore_ascii_case(word)))
    }
}

/// Converts a word to a value of the option. The error is a message for the user.
fn value_of(option: &ConfigOption, word: &str) -> Result<OptionValue, String> {
    match &option.value {
        OptionValue::Boolean(_) => match word {
            "on" | "true" | "yes" => Ok(OptionValue::Boolean(true)),
            "off" | "false" | "no" => Ok(OptionValue::Boolean(false)),
            _ => Err(format!("{} must be on or off, not \"{word}\"", option.name)),
        },
        OptionValue::Select { choices, .. } => {
            let by_value = choices.iter().find(|choice| choice.value == word);
            let named = || choices.iter().find(|choice| choice.name.eq_ignore_ascii_case(word));
            let Some(choice) = by_value.or_else(named) else {
                let known: Vec<_> = choices.iter().map(|choice| choice.value.as_str()).collect();
                return Err(format!(
                    "{} has no value \"{word}\" (available: {})",
                    option.name,
                    known.join(", ")
                ));
            };
            Ok(OptionValue::Select { current: choice.value.clone(), choices: Vec::new() })
        }
    }
}

/// Returns the name of the option's current value.
fn current(option: &ConfigOption) -> &str {
    match &option.value {
        OptionValue::Boolean(on) => {
            if *on {
                "on"
            } else {
                "off"
            }
        }
        OptionValue::Select { current, choices } => {
            let chosen = choices.iter().find(|choice| choice.value == *current);
            chosen.map_or(current, |choice| &choice.name)
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
    /// Sends the session's options to the editor.
    pub(in crate::core) fn send_options(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.redraw.status = true;
        self.after_draw.push(EditorMessage::Options(id, chat.settings()));
    }

    /// Sets an option for the user.
    pub(in crate::core) fn set_option(&mut self, id: ChatId, option: &str, word: &str) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(option) = chat.setting(option) else {
            let known: Vec<_> = chat.settings().into_iter().map(|option| option.id).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let title = chat.agent_title();
            return self.notify(
                Level::Error,
                format!("{title} has no option \"{option}\" (available: {known})"),
            );
        };
        match value_of(&option, word) {
            Ok(value) => self.ask_for_option(id, &option, value, true),
            Err(problem) => self.notify(Level::Error, problem),
        }
    }

    fn ask_for_option(
        &mut self,
        id: ChatId,
        option: &ConfigOption,
        value: OptionValue,
        by_user: bool,
    ) {
        let Some(chat) = self.chats.get(&id).filter(|chat| chat.phase.has_session()) else {
            let notice = Notice::from("The session is not open.").advise(":RatRestart opens it.");
            return self.notify(Level::Warn, notice);
        };
        let Some(session) = chat.session.clone() else { return };
        let timeout = chat.config.timeouts.request;
        let (option, name) = (option.id.clone(), option.name.clone());
        let (call, expected) = match value {
            OptionValue::Select { current: value, .. } if chat.settings.options.is_empty() => {
                let (setting, call) = if option == MODEL {
                    (MODEL, Call::SetModel { session, model: value.clone() })
                } else {
                    (MODE, Call::SetMode { session, mode: value.clone() })
                };
                (call, ExpectedReply::Selected { setting, value, by_user })
            }
            value => (
                Call::SetOption { session, option: option.clone(), value },
                ExpectedReply::Option { id: option, name, by_user },
            ),
        };
        self.call(id, call, expected, timeout);
    }

    /// Sets the configured options in a new session. Returns the number of replies to wait for.
    pub(in crate::core) fn set_defaults(&mut self, id: ChatId) -> usize {
        let Some(chat) = self.chats.get(&id) else { return 0 };
        let config = chat.config.clone();
        let mut asked = 0;
        for (word, wanted) in &config.options {
            let setting = || config.setting(&format!("options.{word}"));
            let Some(option) = self.chats.get(&id).and_then(|chat| chat.setting(word)) else {
                let text = format!("{}: the agent has no such option", setting());
                self.notify(Level::Warn, text);
                continue;
            };
            match value_of(&option, wanted) {
                Ok(value) if is_set(&option, &value) => {}
                Ok(value) => {
                    self.ask_for_option(id, &option, value, false);
                    asked += 1;
                }
                Err(problem) => {
                    self.notify(Level::Warn, format!("{}: {problem}", setting()));
                }
            }
        }
        asked
    }

    /// The agent has set an option. Its reply holds the new values of all options.
    pub(in crate::core) fn option_set(
        &mut self,
        id: ChatId,
        option: &str,
        by_user: bool,
        options: Vec<ConfigOption>,
    ) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.settings.options = options;
        }
        self.setting_answered(id, option, by_user);
    }

    /// The agent has set a mode or a model; `setting` is the id of the option that stands for it.
    pub(in crate::core) fn mode_or_model_set(
        &mut self,
        id: ChatId,
        setting: &'static str,
        by_user: bool,
        value: String,
    ) {
        if let Some(chat) = self.chats.get_mut(&id) {
            let selection =
                if setting == MODEL { &mut chat.settings.models } else { &mut chat.settings.modes };
            if let Some(selection) = selection {
                selection.current = value;
            }
        }
        self.setting_answered(id, setting, by_user);
    }

    /// Tells the user the new value of an option, which need not be the one they asked for.
    fn setting_answered(&mut self, id: ChatId, option: &str, by_user: bool) {
        self.send_options(id);
        let settings = self.chats.get(&id).filter(|_| by_user).map(Chat::settings);
        let set = settings.and_then(|all| all.into_iter().find(|it| it.id == option));
        if let Some(option) = set {
            let text = format!("{} is now {}", option.name, current(&option));
            self.notify(Level::Info, text);
        }
        self.default_answered(id);
    }

    pub(in crate::core) fn option_failed(&mut self, id: ChatId, what: &str, error: &CallError) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (title, why) = (chat.agent_title(), user_messages::reason(error));
        self.notify(Level::Error, format!("{title} could not change {what}: {why}"));
        self.default_answered(id);
    }

    /// Counts down the configured options of a new session; the session is ready after the last one.
    fn default_answered(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Phase::Starting(StartupStep::SettingOptions(unset)) = &mut chat.phase else { return };
        *unset = unset.saturating_sub(1);
        if *unset == 0 {
            self.enter_phase(id, Phase::Ready);
            self.send_next_prompt(id);
        }
    }
}
