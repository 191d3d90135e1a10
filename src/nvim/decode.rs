//! From msgpack to our words: what `require("rat.rpc").notify` sends. What makes no sense is an error in words; it
//! never panics.

use crate::core::content::{ContentAct, Export};
use crate::core::effect::View;
use crate::core::event::{BufferFact, ChatId, PermissionChoice, SessionAct, UserAction, Wish};
use crate::core::policy::{Policy, Unsaved, WriteDirty};
use crate::session::agent::{AgentConfig, McpServer, Timeouts};
use crate::session::content::ContentId;
use crate::session::prompt::{Attachment, Body, Prompt};
use rmpv::Value;
use std::path::PathBuf;
use std::time::Duration;

/// What the editor said.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// The user did something.
    User(UserAction),
    /// A setting changed.
    Configure {
        /// How much is logged: `error` to `trace`.
        log_level: Option<String>,
    },
    /// A fact about a buffer (`lua/rat/track.lua`).
    Buffer(PathBuf, BufferFact),
    /// Something broke there: for the log.
    Problem(String),
}

/// Reads a notification. The error says what is wrong with it.
pub fn notification(name: &str, args: &[Value]) -> Result<Said, String> {
    let empty = Value::Map(Vec::new());
    let fields = Fields { value: args.first().unwrap_or(&empty), name };
    let chat = || fields.number("chat").and_then(|id| u32::try_from(id).ok()).map(ChatId);
    let index = || {
        // Lua counts from 1.
        fields.number("index").and_then(|index| usize::try_from(index).ok()?.checked_sub(1))
    };
    let action = match name {
        "start" => UserAction::Start {
            config: Box::new(agent(&fields.sub("agent")?)?),
            cwd: PathBuf::from(fields.text("cwd")?),
            directories: fields.texts("directories").into_iter().map(PathBuf::from).collect(),
            policy: policy(&fields),
            wish: wish(&fields)?,
            focus: fields.flag("focus"),
        },
        "sessions" => UserAction::ListSessions {
            act: session_act(&fields.text("act")?)?,
            cwd: fields.text("cwd")?.into(),
        },
        "sessions_more" => UserAction::MoreSessions,
        "session_close" => {
            UserAction::CloseSession(fields.text("agent")?.into(), fields.text("session")?.into())
        }
        "session_delete" => UserAction::DeleteSession {
            agent: fields.text("agent")?.into(),
            session: fields.text("session")?.into(),
            cwd: fields.text("cwd")?.into(),
        },
        "prompt" => UserAction::Prompt { chat: chat(), prompt: prompt(&fields) },
        "cancel" => UserAction::Cancel(chat()),
        "stop" => UserAction::Stop(chat()),
        "restart" => UserAction::Restart(chat()),
        "option" => UserAction::SetOption {
            chat: chat(),
            option: fields.text("option")?,
            value: fields.text("value")?,
        },
        "login" => UserAction::Login { chat: chat(), method: fields.text("method").ok() },
        "login_ended" => UserAction::LoginEnded {
            chat: chat().ok_or("login_ended: no chat")?,
            status: fields.number("status").and_then(|status| i32::try_from(status).ok()),
        },
        "logout" => UserAction::Logout(chat()),
        "queue_take" => UserAction::TakeQueued { chat: chat(), index: index().unwrap_or_default() },
        "queue_go" => UserAction::ResumeQueue(chat()),
        "permission" => UserAction::Permission {
            chat: chat(),
            id: fields.number("id"),
            revision: fields.number("revision"),
            choice: permission_choice(&fields),
        },
        "elicitation" => super::form::action(&fields)?,
        "diff" => UserAction::ShowDiff { chat: chat(), id: fields.number("id") },
        "output" => {
            UserAction::ShowOutput { chat: chat(), tool_call: fields.text("tool_call")?.into() }
        }
        "terminal" => UserAction::ShowTerminal {
            chat: chat(),
            terminal: fields.text("terminal")?.into(),
            show: fields.flag("show"),
        },
        "answer" => {
            UserAction::Answer { id: fields.number("id").ok_or("answer: no id")?, index: index() }
        }
        "content" => UserAction::Content {
            chat: chat(),
            id: ContentId::decode(&fields.text("id")?).ok_or("content: no such id")?,
            act: content_act(&fields)?,
        },
        "show" => match fields.text("what")?.as_str() {
            "trace" => UserAction::ShowTrace(chat()),
            _ => UserAction::ShowInfo(chat()),
        },
        "redraw" => {
            UserAction::Redraw(chat().ok_or("redraw: no chat")?, view(&fields.text("view")?)?)
        }
        "configure" => {
            return Ok(Said::Configure { log_level: fields.text("log_level").ok() });
        }
        "problem" => return Ok(Said::Problem(fields.text("text")?)),
        "buffer" => return buffer(&fields),
        _ => return Err(format!("{name}: no such notification")),
    };
    Ok(Said::User(action))
}

/// What came of a frame (`rat.ui.apply`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// Nothing can be changed just now: Neovim keeps the frame until it is asked to try again.
    Busy,
    /// All but these.
    Done {
        /// What failed, one line each.
        problems: Vec<String>,
        /// The views that do not show what they should.
        undrawn: Vec<(ChatId, View)>,
    },
    /// Neovim has no frame to try again.
    Lost,
}

/// Reads what came of a frame.
pub fn applied(value: &Value) -> Applied {
    let fields = Fields { value, name: "apply" };
    if fields.flag("busy") {
        return Applied::Busy;
    }
    if !value.is_map() || fields.flag("lost") {
        return Applied::Lost;
    }
    let undrawn = fields.list("undrawn").iter().filter_map(|one| {
        let one = Fields { value: one, name: "undrawn" };
        let chat = one.number("chat").and_then(|id| u32::try_from(id).ok())?;
        Some((ChatId(chat), view(&one.text("view").ok()?).ok()?))
    });
    Applied::Done { problems: fields.texts("problems"), undrawn: undrawn.collect() }
}

fn view(name: &str) -> Result<View, String> {
    match name {
        "chat" => Ok(View::Chat),
        "plan" => Ok(View::Plan),
        "tools" => Ok(View::Tools),
        other => Err(format!("no view is called {other}")),
    }
}

/// What has happened to a buffer.
fn buffer(fields: &Fields<'_>) -> Result<Said, String> {
    let fact = match fields.text("kind")?.as_str() {
        "read" => BufferFact::Read,
        "saved" => BufferFact::Saved,
        "clean" => BufferFact::Clean,
        other => return Err(format!("{}: no such fact: {other}", fields.name)),
    };
    Ok(Said::Buffer(fields.text("path")?.into(), fact))
}

/// Without a word, the session there is.
fn wish(fields: &Fields<'_>) -> Result<Wish, String> {
    let session = || fields.text("session").map(Into::into);
    Ok(match fields.text("wish").unwrap_or_default().as_str() {
        "last" => Wish::Last,
        "new" => Wish::New,
        "session" => Wish::Session(session()?),
        "fork" => Wish::Fork(session()?),
        _ => Wish::Open,
    })
}

fn permission_choice(fields: &Fields<'_>) -> PermissionChoice {
    match (fields.text("option"), fields.flag("allow")) {
        (Ok(option), _) => PermissionChoice::Option(option.into()),
        (Err(_), true) => PermissionChoice::Allow,
        (Err(_), false) => {
            PermissionChoice::Deny(fields.text("reason").ok().filter(|reason| !reason.is_empty()))
        }
    }
}

fn content_act(fields: &Fields<'_>) -> Result<ContentAct, String> {
    match fields.text("act")?.as_str() {
        "offer" => Ok(ContentAct::Offer),
        "show" => Ok(ContentAct::Show),
        "write" => Ok(ContentAct::Export(Export {
            path: fields.text("path")?.into(),
            replace: fields.flag("replace"),
            then: fields.text("use").ok(),
        })),
        other => Err(format!("content: nothing is called {other}")),
    }
}

fn session_act(word: &str) -> Result<SessionAct, String> {
    match word {
        "open" => Ok(SessionAct::Open),
        "fork" => Ok(SessionAct::Fork),
        "close" => Ok(SessionAct::Close),
        "delete" => Ok(SessionAct::Delete),
        other => Err(format!("sessions: nothing is called {other}")),
    }
}

/// What is not there or not known is the default.
fn policy(fields: &Fields<'_>) -> Policy {
    let text = |key| fields.text(key).unwrap_or_default();
    Policy {
        unsaved: Unsaved::named(&text("unsaved")).unwrap_or_default(),
        write_dirty: WriteDirty::named(&text("write_dirty")).unwrap_or_default(),
    }
}

fn prompt(fields: &Fields<'_>) -> Prompt {
    let attachments = fields.list("attachments").iter().filter_map(|value| {
        let one = Fields { value, name: "attachment" };
        let line = |key| one.number(key).and_then(|line| u32::try_from(line).ok());
        Some(Attachment {
            uri: one.text("uri").ok()?,
            label: one.text("label").unwrap_or_default(),
            lines: line("first").zip(line("last")),
            mime: one.text("mime").ok(),
            body: match one.text("path") {
                Ok(path) => Body::File(path.into()),
                Err(_) => Body::Text(one.text("text").ok()?),
            },
        })
    });
    Prompt { text: fields.text("text").unwrap_or_default(), attachments: attachments.collect() }
}

fn agent(fields: &Fields<'_>) -> Result<AgentConfig, String> {
    Ok(AgentConfig {
        name: fields.text("name")?.into(),
        command: fields.text("command")?,
        args: fields.texts("args"),
        env: fields.pairs("env"),
        base_env: fields.pairs("base_env"),
        mcp_servers: fields.list("mcp_servers").iter().filter_map(mcp_server).collect(),
        options: fields.pairs("options"),
        auth_method: fields.text("auth_method").ok().map(Into::into),
        timeouts: fields.sub("timeouts").map_or_else(|_| Timeouts::default(), |it| timeouts(&it)),
        install_hint: fields.text("install_hint").ok(),
    })
}

fn mcp_server(value: &Value) -> Option<McpServer> {
    let fields = Fields { value, name: "mcp_server" };
    let name = fields.text("name").ok()?;
    let (url, headers) = (fields.text("url").ok(), fields.pairs("headers"));
    match fields.text("kind").unwrap_or_default().as_str() {
        "http" => Some(McpServer::Http { name, url: url?, headers }),
        "sse" => Some(McpServer::Sse { name, url: url?, headers }),
        _ => Some(McpServer::Stdio {
            name,
            command: fields.text("command").ok()?,
            args: fields.texts("args"),
            env: fields.pairs("env"),
        }),
    }
}

/// Milliseconds; 0 waits for ever.
fn timeouts(fields: &Fields<'_>) -> Timeouts {
    let default = Timeouts::default();
    let limit = |key, default: Option<Duration>| match fields.number(key) {
        Some(0) => None,
        Some(ms) => Some(Duration::from_millis(ms)),
        None => default,
    };
    Timeouts {
        initialize: limit("initialize", default.initialize),
        authenticate: limit("authenticate", default.authenticate),
        session: limit("session", default.session),
        request: limit("request", default.request),
        cancel: limit("cancel", Some(default.cancel)).unwrap_or(Duration::MAX),
    }
}

/// The fields of a Lua table.
pub(super) struct Fields<'a> {
    pub(super) value: &'a Value,
    pub(super) name: &'a str,
}

impl<'a> Fields<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        let fields = self.value.as_map()?;
        fields.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
    }

    pub(super) fn text(&self, key: &str) -> Result<String, String> {
        match self.get(key) {
            Some(Value::String(text)) => Ok(String::from_utf8_lossy(text.as_bytes()).into_owned()),
            Some(Value::Binary(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            _ => Err(format!("{}: {key} is not text", self.name)),
        }
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        let value = self.get(key)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "Lua's numbers")]
        value.as_u64().or_else(|| value.as_f64().filter(|it| *it >= 0.0).map(|it| it as u64))
    }

    fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn list(&self, key: &str) -> &'a [Value] {
        self.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        self.list(key).iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
    }

    fn pairs(&self, key: &str) -> Vec<(String, String)> {
        let pair = |value: &Value| {
            let pair = value.as_array()?;
            Some((pair.first()?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()))
        };
        self.list(key).iter().filter_map(pair).collect()
    }

    fn sub(&self, key: &'a str) -> Result<Fields<'a>, String> {
        match self.get(key) {
            Some(value) if value.is_map() => Ok(Fields { value, name: key }),
            _ => Err(format!("{}: {key} is not a table", self.name)),
        }
    }
}
