//! Plays the script of one prompt. Version 0.1.1 has no terminals, so that commands are run here.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use agent_client_protocol::{self as acp, Client as _};
use futures::future::join_all;
use serde_json::{Value as Json, json};

use crate::script::{self, Step};
use crate::{Session, Shared, store};

/// How long a model would think between two calls, in which the client finds what the first one did on disk.
const MODEL_TIME: Duration = Duration::from_millis(100);

/// How a tool call ended.
enum Outcome {
    Completed(String, Vec<acp::ToolCallContent>),
    Failed(String),
    Cancelled,
}

struct Turn<'a> {
    shared: &'a Shared,
    session: &'a Session,
    said: RefCell<String>,
    calls: Cell<usize>,
}

/// Plays a prompt to its end.
pub(crate) async fn play(
    shared: &Shared,
    session: &Session,
    prompt: Vec<acp::ContentBlock>,
) -> Result<acp::StopReason, acp::Error> {
    store::remember(session, json!({"user": prompt}));
    store::log(session);
    let text: Vec<&str> = prompt
        .iter()
        .filter_map(|block| match block {
            acp::ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    let turn = Turn { shared, session, said: RefCell::default(), calls: Cell::new(0) };
    let end = turn.play(&text.join("\n")).await;
    store::remember(session, json!({"agent": turn.said.take()}));
    end
}

impl Turn<'_> {
    async fn play(&self, text: &str) -> Result<acp::StopReason, acp::Error> {
        let groups = script::parse(text);
        if groups.is_empty() {
            self.say(&format!("Mock reply to: {text}")).await?;
        }
        let mut last = None;
        for group in &groups {
            let step = &group[0];
            last = None;
            match step.name.as_str() {
                "say" => self.say(&step.argument).await?,
                "think" => self.think(&step.argument).await?,
                "slow" => {
                    for number in 1..=step.argument.parse().unwrap_or(5) {
                        self.say(&format!("tick {number} ")).await?;
                        let cancelled = self.cancelled();
                        if tokio::time::timeout(Duration::from_millis(200), cancelled).await.is_ok()
                        {
                            return Ok(acp::StopReason::Cancelled);
                        }
                    }
                }
                "hang" => {
                    self.cancelled().await;
                    return Ok(acp::StopReason::Cancelled);
                }
                "todo" => self.plan(step.argument.parse().unwrap_or(0)).await?,
                "error" => {
                    let code = step.argument.parse().unwrap_or(-32603);
                    let message = format!("mock error {code}");
                    return Err(acp::Error { code, message, data: None });
                }
                _ => {
                    for outcome in join_all(group.iter().map(|step| self.call(step))).await {
                        last = Some(match outcome? {
                            Outcome::Completed(result, _) | Outcome::Failed(result) => result,
                            Outcome::Cancelled => return Ok(acp::StopReason::Cancelled),
                        });
                    }
                    if tokio::time::timeout(MODEL_TIME, self.cancelled()).await.is_ok() {
                        return Ok(acp::StopReason::Cancelled);
                    }
                }
            }
        }
        if let Some(result) = last {
            let result = result.split_whitespace().collect::<Vec<_>>().join(" ");
            let calls = self.calls.get();
            self.say(&format!("All {calls} steps done. Last tool result: {result}")).await?;
        }
        Ok(acp::StopReason::EndTurn)
    }

    async fn cancelled(&self) {
        // Fails only where the session is gone.
        let _ = self.session.cancelled.subscribe().wait_for(|cancelled| *cancelled).await;
    }

    async fn update(&self, update: acp::SessionUpdate) -> Result<(), acp::Error> {
        let session_id = self.session.id.clone();
        let notification = acp::SessionNotification { session_id, update };
        self.shared.client().session_notification(notification).await
    }

    async fn say(&self, text: &str) -> Result<(), acp::Error> {
        self.said.borrow_mut().push_str(text);
        for word in text.split_inclusive(' ') {
            self.update(acp::SessionUpdate::AgentMessageChunk { content: word.into() }).await?;
        }
        Ok(())
    }

    async fn think(&self, text: &str) -> Result<(), acp::Error> {
        for word in text.split_inclusive(' ') {
            self.update(acp::SessionUpdate::AgentThoughtChunk { content: word.into() }).await?;
        }
        Ok(())
    }

    async fn plan(&self, done: usize) -> Result<(), acp::Error> {
        let steps = ["Look at the file", "Change the file", "Tell the user"];
        let entries = steps.into_iter().enumerate().map(|(number, step)| acp::PlanEntry {
            content: step.to_owned(),
            priority: acp::PlanEntryPriority::Medium,
            status: if number < done {
                acp::PlanEntryStatus::Completed
            } else {
                acp::PlanEntryStatus::Pending
            },
        });
        self.update(acp::SessionUpdate::Plan(acp::Plan { entries: entries.collect() })).await
    }

    /// Announces a tool call, makes it and tells how it ended.
    async fn call(&self, step: &Step) -> Result<Outcome, acp::Error> {
        self.calls.set(self.calls.get() + 1);
        let (path, content) = step.argument.split_once('|').unwrap_or((&step.argument, ""));
        let (title, kind, raw_input) = match step.name.as_str() {
            "read" => (format!("Read {path}"), acp::ToolKind::Read, json!({"path": path})),
            "edit" => (format!("Edit {path}"), acp::ToolKind::Edit, json!({"path": path})),
            "write" => (format!("Write {path}"), acp::ToolKind::Edit, json!({"path": path})),
            "shell" => {
                let command = &step.argument;
                (command.clone(), acp::ToolKind::Execute, json!({"command": command}))
            }
            name => {
                return Err(acp::Error::invalid_params().with_data(format!("no step {name}")));
            }
        };
        let locations = (kind != acp::ToolKind::Execute)
            .then(|| acp::ToolCallLocation { path: self.session.cwd.join(path), line: None });
        let call = acp::ToolCall {
            id: acp::ToolCallId(self.shared.new_id("call").into()),
            title,
            kind,
            status: acp::ToolCallStatus::Pending,
            content: Vec::new(),
            locations: locations.into_iter().collect(),
            raw_input: Some(raw_input),
            raw_output: None,
        };
        self.update(acp::SessionUpdate::ToolCall(call.clone())).await?;
        let made = match step.name.as_str() {
            "read" => self.read(path).await.map(|text| Outcome::Completed(text, Vec::new())),
            "edit" => self.edit(&call, path, content).await,
            "write" => self.write(&call, path, None, content).await,
            _ => self.shell(&call, &step.argument).await,
        };
        // What the client refuses is the tool's failure, of which the model is told.
        let outcome = made.unwrap_or_else(|error| {
            let said = error.data.as_ref().map(Json::to_string).unwrap_or_default();
            Outcome::Failed(format!("{} {said}", error.message))
        });
        let (status, content) = match &outcome {
            Outcome::Completed(_, content) => (acp::ToolCallStatus::Completed, content.clone()),
            Outcome::Failed(why) => (acp::ToolCallStatus::Failed, vec![why.as_str().into()]),
            Outcome::Cancelled => (acp::ToolCallStatus::Failed, Vec::new()),
        };
        let content = (!content.is_empty()).then_some(content);
        let fields =
            acp::ToolCallUpdateFields { status: Some(status), content, ..Default::default() };
        let update = acp::ToolCallUpdate { id: call.id, fields };
        self.update(acp::SessionUpdate::ToolCallUpdate(update)).await?;
        Ok(outcome)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.session.cwd.join(name)
    }

    async fn read(&self, name: &str) -> Result<String, acp::Error> {
        let request = acp::ReadTextFileRequest {
            session_id: self.session.id.clone(),
            path: self.path(name),
            line: None,
            limit: None,
        };
        Ok(self.shared.client().read_text_file(request).await?.content)
    }

    async fn edit(
        &self,
        call: &acp::ToolCall,
        name: &str,
        change: &str,
    ) -> Result<Outcome, acp::Error> {
        let (old, new) = change.split_once('|').unwrap_or((change, ""));
        let text = self.read(name).await?;
        if !text.contains(old) {
            return Ok(Outcome::Failed(format!("{old} is not in {name}")));
        }
        let edited = text.replacen(old, new, 1);
        self.write(call, name, Some(text), &edited).await
    }

    async fn write(
        &self,
        call: &acp::ToolCall,
        name: &str,
        old_text: Option<String>,
        content: &str,
    ) -> Result<Outcome, acp::Error> {
        let (path, new_text) = (self.path(name), content.to_owned());
        let diff = vec![acp::Diff { path: path.clone(), old_text, new_text }.into()];
        if let Err(outcome) = self.permission(call, diff.clone()).await? {
            return Ok(outcome);
        }
        let (session_id, content) = (self.session.id.clone(), content.to_owned());
        let request = acp::WriteTextFileRequest { session_id, path, content };
        self.shared.client().write_text_file(request).await?;
        Ok(Outcome::Completed(format!("{name} was written"), diff))
    }

    async fn shell(&self, call: &acp::ToolCall, command: &str) -> Result<Outcome, acp::Error> {
        if let Err(outcome) = self.permission(call, Vec::new()).await? {
            return Ok(outcome);
        }
        let running = tokio::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(&self.session.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(acp::Error::into_internal_error)?
            .wait_with_output();
        let output = tokio::select! {
            output = running => output.map_err(acp::Error::into_internal_error)?,
            () = self.cancelled() => return Ok(Outcome::Cancelled),
        };
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Ok(match output.status.success() {
            true => Outcome::Completed(text.clone(), vec![text.into()]),
            false => Outcome::Failed(text),
        })
    }

    /// Asks the user, whose answer to a turn that was cancelled is that.
    async fn permission(
        &self,
        call: &acp::ToolCall,
        content: Vec<acp::ToolCallContent>,
    ) -> Result<Result<(), Outcome>, acp::Error> {
        let option = |id: &str, name: &str, kind| acp::PermissionOption {
            id: acp::PermissionOptionId(id.into()),
            name: name.to_owned(),
            kind,
        };
        let options = vec![
            option("yes", "Allow", acp::PermissionOptionKind::AllowOnce),
            option("no", "Reject", acp::PermissionOptionKind::RejectOnce),
        ];
        let mut call = call.clone();
        call.content = content;
        let (session_id, tool_call) = (self.session.id.clone(), call.into());
        let request = acp::RequestPermissionRequest { session_id, tool_call, options };
        let answer = self.shared.client().request_permission(request).await?;
        Ok(match answer.outcome {
            acp::RequestPermissionOutcome::Cancelled => Err(Outcome::Cancelled),
            acp::RequestPermissionOutcome::Selected { option_id } if &*option_id.0 == "yes" => {
                Ok(())
            }
            acp::RequestPermissionOutcome::Selected { .. } => {
                Err(Outcome::Failed("the user rejected it".to_owned()))
            }
        })
    }
}
