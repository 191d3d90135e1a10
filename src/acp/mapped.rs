//! A dialect for agents that know our folders by other paths: converts every path of the messages that another dialect encodes
//! and decodes.

use super::dialect::{CallKind, Dialect, EncodeError, IncomingRequest, Method, Refusal};
use crate::core::messages::agent::{AgentEvent, AgentRequest, CallError, Reply};
use crate::core::messages::call::{Call, SessionParams};
use crate::core::messages::effect::Answer;
use crate::session::agent::McpServer;
use crate::session::content::Content;
use crate::session::ids::{AgentName, SessionId};
use crate::session::paths::PathMap;
use crate::session::terminal::request::TerminalRequest;
use crate::session::tool_call::{ToolCallPatch, ToolContent};
use crate::session::update::{Patch, Update};
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::time::Duration;
use url::Url;

/// A dialect with the paths of one agent.
#[derive(Debug)]
pub(super) struct Mapped {
    dialect: Box<dyn Dialect>,
    paths: PathMap,
    agent: AgentName,
    /// What `paths` is called where the agent is configured.
    setting: String,
}

impl Mapped {
    /// Returns `dialect` as the agent with this configuration needs it.
    pub(super) fn wrap(
        dialect: Box<dyn Dialect>,
        paths: &PathMap,
        agent: &AgentName,
        setting: &str,
    ) -> Box<dyn Dialect> {
        if paths.is_empty() {
            return dialect;
        }
        Box::new(Self {
            dialect,
            paths: paths.clone(),
            agent: agent.clone(),
            setting: setting.to_owned(),
        })
    }

    fn to_theirs(&self, path: &Path) -> Result<PathBuf, EncodeError> {
        self.paths.to_theirs(path).ok_or_else(|| EncodeError::NotMapped {
            path: path.to_owned(),
            setting: self.setting.clone(),
        })
    }

    /// Returns a path for display. One in no folder of ours is named after the agent, since here it would be another file.
    fn shown(&self, theirs: PathBuf) -> PathBuf {
        if !theirs.is_absolute() {
            return theirs;
        }
        let ours = self.paths.to_ours(&theirs);
        ours.unwrap_or_else(|| PathBuf::from(format!("{}:{}", self.agent, theirs.display())))
    }

    fn show(&self, path: &mut PathBuf) {
        *path = self.shown(std::mem::take(path));
    }

    fn required(&self, path: &mut PathBuf) -> Result<(), Refusal> {
        if !path.is_absolute() {
            // Refused elsewhere.
            return Ok(());
        }
        let ours = self.paths.to_ours(path).ok_or_else(|| {
            let path = path.display();
            Refusal::invalid_params(format!("{path} is in no folder that the editor shares"))
        })?;
        *path = ours;
        Ok(())
    }

    fn params(&self, place: &SessionParams) -> Result<SessionParams, EncodeError> {
        let text = |text: &String| self.argument(text);
        let server = |server: &McpServer| match server {
            McpServer::Stdio { name, command, args, env } => McpServer::Stdio {
                name: name.clone(),
                command: text(command),
                args: args.iter().map(text).collect(),
                env: env.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            },
            other => other.clone(),
        };
        Ok(SessionParams {
            cwd: self.to_theirs(&place.cwd)?,
            directories: place
                .directories
                .iter()
                .filter_map(|it| self.paths.to_theirs(it))
                .collect(),
            mcp_servers: place.mcp_servers.iter().map(server).collect(),
        })
    }

    /// Converts a text that is a path in a folder of the map.
    fn argument(&self, text: &str) -> String {
        let theirs = self.paths.to_theirs(Path::new(text));
        theirs.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or(text.to_owned())
    }

    fn call(&self, call: &Call) -> Result<Call, EncodeError> {
        Ok(match call {
            Call::NewSession(place) => Call::NewSession(self.params(place)?),
            Call::Load(id, place) => Call::Load(id.clone(), self.params(place)?),
            Call::Resume(id, place) => Call::Resume(id.clone(), self.params(place)?),
            Call::Fork(id, place) => Call::Fork(id.clone(), self.params(place)?),
            Call::List(cwd, cursor) => Call::List(self.to_theirs(cwd)?, cursor.clone()),
            Call::Prompt { session, blocks } => {
                let blocks = blocks.iter().map(|block| self.block(block));
                Call::Prompt { session: session.clone(), blocks: blocks.collect::<Result<_, _>>()? }
            }
            other => other.clone(),
        })
    }

    /// Converts a block of a prompt. The agent could not open a link to a file that it does not have.
    fn block(&self, block: &Content) -> Result<Content, EncodeError> {
        let mut block = block.clone();
        let is_link = matches!(block, Content::ResourceLink { .. });
        let Some(address) = address_of(&mut block) else { return Ok(block) };
        if let Some(path) = local_path(address) {
            match self.to_theirs(&path) {
                Ok(theirs) => replace_path(address, &theirs),
                Err(error) if is_link => return Err(error),
                // Its content goes with it.
                Err(_) => {}
            }
        }
        Ok(block)
    }

    fn show_content(&self, content: &mut Content) {
        let Some(address) = address_of(content) else { return };
        if let Some(ours) = local_path(address).and_then(|path| self.paths.to_ours(&path)) {
            replace_path(address, &ours);
        }
    }

    fn show_patch(&self, patch: &mut ToolCallPatch) {
        let locations = patch.locations.iter_mut().flatten();
        locations.for_each(|location| self.show(&mut location.path));
        patch.content.iter_mut().flatten().for_each(|item| self.show_item(item));
        if let Some(cwd) = patch.input.as_mut().and_then(|input| input.cwd.as_mut()) {
            *cwd = self.shown(PathBuf::from(&*cwd)).to_string_lossy().into_owned();
        }
    }

    fn show_item(&self, item: &mut ToolContent) {
        match item {
            ToolContent::Content(content) => self.show_content(content),
            ToolContent::Diff(diff) => self.show(&mut diff.path),
            ToolContent::Change(change) => {
                self.show(&mut change.path);
                change.from.iter_mut().for_each(|from| self.show(from));
            }
            ToolContent::Terminal(_) | ToolContent::Unknown { .. } => {}
        }
    }

    fn show_update(&self, update: &mut Update) {
        match update {
            Update::Chunk { content, .. } | Update::CompactionChunk { content, .. } => {
                self.show_content(content);
            }
            Update::Message { content, .. }
            | Update::Compaction { summary: Patch::Set(content), .. } => {
                for block in content {
                    self.show_content(block);
                }
            }
            Update::ToolCall { patch, .. } => self.show_patch(patch),
            Update::ToolContent { content, .. } => self.show_item(content),
            _ => {}
        }
    }

    fn show_events(&self, events: &mut [AgentEvent]) {
        for event in events {
            if let AgentEvent::Update { update, .. } = event {
                self.show_update(update);
            }
        }
    }
}

/// Returns the URL of content that has one.
fn address_of(content: &mut Content) -> Option<&mut String> {
    match content {
        Content::Image { uri, .. } => uri.as_mut(),
        Content::ResourceLink { uri, .. }
        | Content::Resource { uri, .. }
        | Content::Blob { uri, .. } => Some(uri),
        Content::Text(_)
        | Content::Marked { .. }
        | Content::Audio { .. }
        | Content::Unknown { .. } => None,
    }
}

/// Returns the path of a URL of a file.
fn local_path(address: &str) -> Option<PathBuf> {
    let url = Url::parse(address).ok().filter(|url| url.scheme() == "file")?;
    url.to_file_path().ok()
}

/// Replaces the path of a URL. The lines in its fragment stay.
fn replace_path(address: &mut String, path: &Path) {
    let (Ok(old), Ok(mut new)) = (Url::parse(address), Url::from_file_path(path)) else { return };
    new.set_fragment(old.fragment());
    *address = new.into();
}

impl Dialect for Mapped {
    fn call(&mut self, id: i64, call: &Call) -> Result<String, EncodeError> {
        let call = Mapped::call(self, call)?;
        self.dialect.call(id, &call)
    }

    fn cancel(&self, id: i64, session: &SessionId) -> Result<String, EncodeError> {
        self.dialect.cancel(id, session)
    }

    fn withdraw(&self, id: i64) -> Result<Option<String>, EncodeError> {
        self.dialect.withdraw(id)
    }

    fn answer(&self, id: &RawValue, answer: &Answer) -> Result<String, EncodeError> {
        self.dialect.answer(id, answer)
    }

    fn request(
        &mut self,
        method: &str,
        params: Option<&str>,
    ) -> Result<(Method, IncomingRequest), Refusal> {
        let (method, mut request) = self.dialect.request(method, params)?;
        if let IncomingRequest::Session(_, request) = &mut request {
            match request {
                AgentRequest::Read { path, .. } | AgentRequest::Write { path, .. } => {
                    self.required(path)?;
                }
                AgentRequest::Terminal(TerminalRequest::Create(create)) => {
                    create.cwd.iter_mut().try_for_each(|cwd| self.required(cwd))?;
                }
                AgentRequest::Permission(asked) => self.show_patch(&mut asked.patch),
                AgentRequest::Terminal(_) => {}
            }
        }
        Ok((method, request))
    }

    fn notification(&mut self, method: &str, params: &str, events: &mut Vec<AgentEvent>) {
        let first = events.len();
        self.dialect.notification(method, params, events);
        self.show_events(&mut events[first..]);
    }

    fn result(
        &mut self,
        call: CallKind,
        session: Option<&SessionId>,
        result: &str,
    ) -> Result<Reply, CallError> {
        let mut reply = self.dialect.result(call, session, result)?;
        if let Reply::Sessions(sessions, _) = &mut reply {
            for session in sessions {
                self.show(&mut session.cwd);
            }
        }
        Ok(reply)
    }

    fn error(&self, error: &str) -> CallError {
        self.dialect.error(error)
    }

    fn after_result(&self, method: &str, result: &str) -> (Option<SessionId>, Vec<Update>) {
        let (session, mut updates) = self.dialect.after_result(method, result);
        for update in &mut updates {
            self.show_update(update);
        }
        (session, updates)
    }

    fn goodbye(&self, id: i64) -> Option<String> {
        self.dialect.goodbye(id)
    }

    fn silence(&self) -> Option<Duration> {
        self.dialect.silence()
    }

    fn fell_silent(&mut self, events: &mut Vec<AgentEvent>) {
        let first = events.len();
        self.dialect.fell_silent(events);
        self.show_events(&mut events[first..]);
    }
}
