//! Error messages for the user: each is one line that says what happened and what to do.

use crate::core::messages::agent::{
    AUTH_REQUIRED, CallError, Exit, ExitCause, NOT_FOUND, Obstacle, Reply,
};
use crate::core::messages::failure::Failure;
use crate::core::messages::notice::Notice;
use crate::session::agent::{AgentConfig, RemoteAgent};
use crate::session::confinement::DeniedPath;
use crate::session::ids::SessionId;
use crate::session::keys;
use crate::session::label;
use crate::session::protocol::Protocol;
use crate::session::signs::{self, ELLIPSIS};
use crate::session::update::Severity;
use std::path::{Path, PathBuf};

/// Maximum number of an agent's lines shown below an error, and the maximum length of each in characters. The log has
/// the rest.
const MAX_DETAIL_LINES: usize = 5;
const MAX_LINE_CHARS: usize = 200;

/// Maximum length of each line of an error's `data`, in characters. Most agents put everything on one line.
const MAX_DATA_LINE_CHARS: usize = 400;

/// How to get a dead agent back.
pub(super) const RESTART: &str = "Send a prompt or :RatRestart to restart.";

/// Says where the prompt of a turn that failed is.
pub(super) const PROMPT_IS_BACK: &str = "Your prompt is in the prompt buffer again.";

/// Says that there is no chat a command could act on.
pub(super) fn no_chat() -> Notice {
    Notice::from("No chat is open.").advise(":RatStart starts one.")
}

/// Says what an agent without our files can do with them.
pub(super) fn separate_disk(title: &str, protocol: Option<Protocol>) -> (Severity, String) {
    match protocol.filter(|protocol| !protocol.has_files()) {
        Some(protocol) => {
            let protocol = protocol.title();
            let note = format!(
                "{title} is on another disk and cannot read or write your files: {protocol} has no way to do so through Neovim."
            );
            (Severity::Warning, note)
        }
        None => {
            let note = format!(
                "{title} is on another disk: it reads and writes your files through Neovim. What its commands change there is not seen here."
            );
            (Severity::Info, note)
        }
    }
}

/// A text that begins like a sentence.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Begins a question that was answered already, if it is one.
pub(super) fn changed_meanwhile(is_again: bool) -> &'static str {
    if is_again { "Files have changed. " } else { "" }
}

/// A text of others in quotes: those in it do not end it.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "'"))
}

/// Names one thing or two, or the first and how many others there are. `None` if there are none.
pub(super) fn names(all: &[String]) -> Option<String> {
    Some(match all {
        [] => return None,
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [first, others @ ..] => format!("{first} and {} others", others.len()),
    })
}

/// For how many different reasons files are named that were left as they are.
const MAX_REASONS: usize = 3;

/// Names files that were left as they are, and says why, in the order of what is said first. `None` if there are none.
pub(super) fn left_alone(
    files: &[(PathBuf, String)],
    shorten: impl Fn(&Path) -> String,
) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (path, why) in files {
        match reasons.iter_mut().find(|(other, _)| other == why) {
            Some((_, paths)) => paths.push(shorten(path)),
            None => reasons.push((why, vec![shorten(path)])),
        }
    }
    let part = |(why, paths): &(&str, Vec<String>)| {
        let names = names(paths)?;
        Some(match paths.len() {
            1 => format!("left {names} as it is: {why}"),
            // It is said of one file.
            _ if why.starts_with("it ") || why.starts_with("its ") => {
                format!("left {names} as they are, each because {why}")
            }
            _ => format!("left {names} as they are: {why}"),
        })
    };
    let mut parts: Vec<String> = reasons.iter().take(MAX_REASONS).filter_map(part).collect();
    let more: usize = reasons.iter().skip(MAX_REASONS).map(|(_, paths)| paths.len()).sum();
    parts.extend((more > 0).then(|| format!("left {} more", count(more, "file"))));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Says why the agent has ended.
pub(super) fn ended(config: &AgentConfig, cause: &ExitCause) -> Notice {
    let (name, command) = (&config.name, &config.command);
    if let (ExitCause::NotStarted { .. }, Some(problem)) = (cause, &config.problem) {
        return format!("{name} cannot be started: {problem}").into();
    }
    let text = match cause {
        ExitCause::NotStarted { not_found: true, error } => match &config.install_hint {
            Some(hint) => format!("{name}: {error}. Install it: {hint}"),
            None => {
                format!("{name}: {error}. Install it, or set {}.", config.setting("command"))
            }
        },
        ExitCause::NotStarted { error, .. } => {
            let setting = config.setting("command");
            format!("{name}: could not start {command} ({error}). Check {setting}.")
        }
        ExitCause::Status(status) => format!("{name} exited with status {status}."),
        ExitCause::Signal(signal) => format!("{name} was killed by {signal}."),
        ExitCause::ClosedPipe => format!("{name} closed its stdout and was stopped."),
        ExitCause::ReadsNothing => format!("{name} did not read what it was sent and was stopped."),
        ExitCause::Unreachable { obstacle, detail } => {
            return unreachable(config, *obstacle, detail);
        }
        ExitCause::Lost(detail) => format!("The connection to {name} was lost: {detail}."),
        ExitCause::HungUp(reason) if reason.is_empty() => format!("{name} closed the connection."),
        ExitCause::HungUp(reason) => format!("{name} closed the connection ({reason})."),
    };
    let is_started = !matches!(cause, ExitCause::NotStarted { .. });
    if is_started { Notice::from(text).advise(RESTART) } else { text.into() }
}

/// Says why an agent that runs elsewhere cannot be used, and what to do about it.
fn unreachable(config: &AgentConfig, obstacle: Obstacle, detail: &str) -> Notice {
    let (name, url) = (&config.name, config.remote.as_ref().map_or("", RemoteAgent::shown));
    let reason = format!("{name} could not be reached: {detail}.");
    let advice = match obstacle {
        Obstacle::NoAnswer => {
            let text = format!("{reason} Check that it is running at {url}.");
            return Notice::from(text).advise("Send a prompt or :RatRestart to try again.");
        }
        Obstacle::Configuration => return Notice::from(reason).advise("See :help rat-remote"),
        Obstacle::Certificate => "Whoever runs it has to renew it.".to_owned(),
        Obstacle::UnknownAuthority => {
            let setting = config.setting("ca_file");
            format!("If you trust it, set {setting} to a file with its authority's certificate.")
        }
        Obstacle::Credentials => format!("Check {}.", config.setting("headers")),
        Obstacle::NotFound | Obstacle::NoAgent => {
            format!("Check {} ({url}).", config.setting("url"))
        }
        Obstacle::Redirect => {
            format!("If you trust that server, set {} to it.", config.setting("url"))
        }
    };
    format!("{reason} {advice}").into()
}

/// Says that the agent could not be reached, and for how long that is tried.
pub(super) fn not_there_yet(config: &AgentConfig, detail: &str) -> Notice {
    let time = config.timeouts.initialize.map(|limit| format!(" for up to {} s", limit.as_secs()));
    let (name, time) = (&config.name, time.unwrap_or_default());
    let text = format!("{name} could not be reached: {detail}. Trying again{time}.");
    Notice::from(text).advise(":RatStop stops it.")
}

/// Says what an agent seems to have been kept from writing because it is confined, and how to allow it.
pub(super) fn confined(config: &AgentConfig, denied: &DeniedPath) -> String {
    let (name, path, allow) = (&config.name, denied.path.display(), denied.allow.display());
    let setting = config.setting("confine.write");
    let what = format!("{name} reports that it could not write {path}: it is confined.");
    match keys::now("<CR>") {
        Some(key) => format!(
            "{what} {key} here allows {allow} until you stop the agent. To allow it for good, add it to {setting}."
        ),
        None => format!("{what} To allow {allow}, add it to {setting}."),
    }
}

/// Says that an agent could be confined.
pub(super) fn could_be_confined(title: &str, config: &AgentConfig) -> String {
    let setting = config.setting("confine");
    format!(
        "{title} did not ask before it acted. {setting} = \"write\" limits where it can write, and false hides this note: see \
         :help rat-confine"
    )
}

/// Says that a restart would end turns of other chats.
pub(super) fn busy_elsewhere(name: &str, chats: usize) -> Notice {
    let text = format!("{name} is also working in {}.", count(chats, "other chat"));
    let turns = if chats == 1 { "that turn" } else { "those turns" };
    Notice::from(text).advise(&format!(":RatRestart! ends {turns} and restarts it."))
}

/// Says that the agent was lost, and is going to be reached again.
pub(super) fn lost(config: &AgentConfig, cause: &ExitCause) -> Notice {
    let why = ended(config, cause).text;
    let again = if config.remote.is_some() { "Connecting again" } else { "Starting it again" };
    format!("{why} {again}.").into()
}

/// Returns what the agent said last, to be shown below the reason for its end.
pub(super) fn details(failure: &Failure) -> Vec<String> {
    let mut details: Vec<_> = failure.details.iter().map(Notice::to_string).collect();
    if !failure.last_messages.is_empty() {
        let last = signs::joined(&failure.last_messages);
        details.push(format!("Last messages: {last} (see :RatTrace)"));
    }
    details
}

/// Returns the last lines the agent wrote to stderr, and where to find the rest.
pub(super) fn stderr_tail(exit: &Exit) -> Vec<Notice> {
    if matches!(exit.cause, ExitCause::NotStarted { .. } | ExitCause::Unreachable { .. }) {
        return Vec::new();
    }
    let lines = &exit.stderr[exit.stderr.len().saturating_sub(MAX_DETAIL_LINES)..];
    let earlier = exit.stderr_lines.saturating_sub(lines.len());
    let rest = || {
        Notice::from(format!("{ELLIPSIS} {}", count(earlier, "earlier line"))).advise("in :RatLog")
    };
    let lines = lines.iter().map(|line| label::short(line, MAX_LINE_CHARS).into());
    (earlier > 0).then(rest).into_iter().chain(lines).collect()
}

/// Formats a number with a noun.
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Says why a step of starting failed.
pub(super) fn start(config: &AgentConfig, step: &str, error: &CallError) -> Notice {
    let name = &config.name;
    match error {
        CallError::Timeout(after) => {
            let (after, setting) = (after.as_secs_f64(), config.setting("timeouts"));
            let text = format!("{name} did not answer {step} within {after} s, see {setting}.");
            Notice::from(text).advise(":RatLog may say why.")
        }
        CallError::Rpc { code: AUTH_REQUIRED, .. } => {
            let text = format!(
                "{name} requires a login but offers no method. Log in with its own program."
            );
            Notice::from(text).advise("Then :RatRestart.")
        }
        CallError::UnknownProtocol(answered) => {
            let spoken: Vec<_> = Protocol::ALL.into_iter().map(Protocol::title).collect();
            format!(
                "{name} answered initialize with {answered}, but rat.nvim speaks {}. Install a version of {name} that matches.",
                spoken.join(", ")
            )
            .into()
        }
        error => {
            let text = format!("{name} failed at {step}: {}.", reason(error));
            Notice::from(text).advise("See :RatTrace.")
        }
    }
}

/// Says why a turn failed.
pub(super) fn turn(name: &str, error: &CallError) -> Notice {
    match error {
        CallError::Rpc { code: NOT_FOUND, .. } => {
            let text = format!("{name} no longer knows this session.");
            Notice::from(text).advise(":RatStart! starts a new one.")
        }
        CallError::NotSent(why) => format!("The prompt could not be sent to {name}: {why}.").into(),
        error => format!("{name} could not answer: {}.", reason(error)).into(),
    }
}

/// Returns the beginning of an error's `data`, and where to find the rest.
pub(super) fn data(error: &CallError) -> Vec<Notice> {
    let CallError::Rpc { data: Some(data), .. } = error else { return Vec::new() };
    let mut lines = data.lines().filter(|line| !line.trim().is_empty());
    let mut shown: Vec<Notice> = lines
        .by_ref()
        .take(MAX_DETAIL_LINES)
        .map(|line| label::short(line, MAX_DATA_LINE_CHARS).into())
        .collect();
    let more = lines.count();
    let rest =
        || Notice::from(format!("{ELLIPSIS} {}", count(more, "more line"))).advise("in :RatTrace");
    shown.extend((more > 0).then(rest));
    shown
}

/// Says why a session cannot be resumed.
pub(super) fn resume(name: &str, session: &SessionId, why: &str) -> Notice {
    let session = label::short(session.as_str(), MAX_LINE_CHARS);
    format!("{name} cannot resume the session {session}: {why}.").into()
}

/// The error for a reply of the wrong kind.
pub(super) fn wrong_reply(reply: &Reply) -> CallError {
    CallError::Malformed(format!("{reply:?}").chars().take(80).collect())
}

/// Describes an error, most specific part first. Distinguishes errors of the transport from errors the agent reported.
pub(super) fn reason(error: &CallError) -> String {
    match error {
        CallError::Rpc { code, message, detail, .. } => {
            let message = message.lines().next().unwrap_or_default().trim();
            match (detail.as_deref(), message) {
                (None, "") => format!("error {code}"),
                (Some(only), "") | (None, only) => format!("{only} (error {code})"),
                (Some(detail), message) => format!("{detail} ({message}, error {code})"),
            }
        }
        CallError::Timeout(after) => format!("no answer within {} s", after.as_secs_f64()),
        CallError::Closed => "the connection is closed".to_owned(),
        CallError::Malformed(what) => format!("malformed answer: {what}"),
        CallError::NotSent(why) => format!("not sent: {why}"),
        CallError::UnknownProtocol(answered) => format!("it answered with {answered}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_ends_where_it_ends() {
        assert_eq!(quoted("say \"hi\""), "\"say 'hi'\"");
    }

    #[test]
    fn what_is_left_alone_is_named_with_the_reason() {
        let told = |files: &[(&str, &str)]| {
            let own = |(path, why): &(&str, &str)| (PathBuf::from(path), (*why).to_owned());
            let files: Vec<_> = files.iter().map(own).collect();
            left_alone(&files, |path| path.display().to_string())
        };
        let gone = |path| (path, "deleted since");
        let all = ["a", "b", "c"].map(gone);
        assert_eq!(told(&[]), None);
        assert_eq!(told(&all[..1]).unwrap(), "left a as it is: deleted since");
        assert_eq!(told(&all[..2]).unwrap(), "left a and b as they are: deleted since");
        assert_eq!(told(&all).unwrap(), "left a and 2 others as they are: deleted since");
        let unsaved = |path| (path, "its buffer has unsaved changes: save it first");
        let told_of_several = "left a and 2 others as they are, each because its buffer has unsaved \
                               changes: save it first";
        assert_eq!(told(&["a", "b", "c"].map(unsaved)).unwrap(), told_of_several);
        let several = [all[0], ("b", "its content is not kept"), all[2]];
        let both =
            "left a and c as they are: deleted since; left b as it is: its content is not kept";
        assert_eq!(told(&several).unwrap(), both);
        let many = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")];
        assert!(told(&many).unwrap().ends_with("left c as it is: 3; left 2 files more"));
    }

    #[test]
    fn error_data_is_shortened() {
        let shown = |text: &str| {
            let (message, text) = (String::new(), text.to_owned());
            let error = CallError::Rpc { code: -32603, message, detail: None, data: Some(text) };
            data(&error).iter().map(Notice::to_string).collect::<Vec<_>>()
        };
        assert_eq!(shown("one\n\n  two\n"), ["one", "  two"]);
        let trace = (1..=6).map(|number| format!("at {number}\n")).collect::<String>();
        assert_eq!(shown(&trace)[4..], ["at 5", "… 1 more line in :RatTrace"]);
        assert_eq!(shown(&"{".repeat(9000)), [format!("{}…", "{".repeat(MAX_DATA_LINE_CHARS))]);
        assert_eq!(data(&CallError::Closed), []);
    }
}
