//! An agent on the crate agent-client-protocol 0.1.1: the crate's types and its connection, and what they call. The turns
//! themselves are played by `turn`.

mod script;
mod store;
mod turn;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use agent_client_protocol::{self as acp, Client as _};
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

/// What all of this process share.
struct Shared {
    /// There is none before the agent is made that it calls.
    client: OnceCell<acp::AgentSideConnection>,
    sessions: RefCell<HashMap<acp::SessionId, Rc<Session>>>,
    /// Makes ids that no earlier process has given out.
    born: u128,
    count: Cell<u64>,
}

impl Shared {
    fn client(&self) -> &acp::AgentSideConnection {
        self.client.get().expect("the connection")
    }

    fn new_id(&self, what: &str) -> String {
        self.count.set(self.count.get() + 1);
        format!("{what}-{}-{}", self.born, self.count.get())
    }

    fn session(&self, id: &acp::SessionId) -> Result<Rc<Session>, acp::Error> {
        let unknown = || acp::Error::invalid_params().with_data(format!("no session {id}"));
        self.sessions.borrow().get(id).cloned().ok_or_else(unknown)
    }

    fn open(&self, id: acp::SessionId, cwd: PathBuf, history: Vec<Json>) -> Rc<Session> {
        let session = Session {
            id: id.clone(),
            cwd,
            history: RefCell::new(history),
            cancelled: watch::Sender::new(false),
        };
        let session = Rc::new(session);
        self.sessions.borrow_mut().insert(id, session.clone());
        session
    }
}

struct Session {
    id: acp::SessionId,
    cwd: PathBuf,
    history: RefCell<Vec<Json>>,
    cancelled: watch::Sender<bool>,
}

struct Agent(Rc<Shared>);

impl acp::Agent for Agent {
    async fn initialize(
        &self,
        _: acp::InitializeRequest,
    ) -> Result<acp::InitializeResponse, acp::Error> {
        Ok(acp::InitializeResponse {
            protocol_version: acp::V1,
            agent_capabilities: acp::AgentCapabilities {
                load_session: true,
                prompt_capabilities: acp::PromptCapabilities {
                    image: true,
                    ..acp::PromptCapabilities::default()
                },
            },
            auth_methods: Vec::new(),
        })
    }

    async fn authenticate(&self, _: acp::AuthenticateRequest) -> Result<(), acp::Error> {
        Ok(())
    }

    async fn new_session(
        &self,
        request: acp::NewSessionRequest,
    ) -> Result<acp::NewSessionResponse, acp::Error> {
        let session_id = acp::SessionId(self.0.new_id("session").into());
        self.0.open(session_id.clone(), request.cwd, Vec::new());
        Ok(acp::NewSessionResponse { session_id })
    }

    async fn load_session(&self, request: acp::LoadSessionRequest) -> Result<(), acp::Error> {
        let id = request.session_id;
        let history = store::load(&id).map_err(acp::Error::into_internal_error)?;
        let session = self.0.open(id, request.cwd, history);
        let updates: Vec<_> = session.history.borrow().iter().flat_map(store::updates).collect();
        for update in updates {
            let session_id = session.id.clone();
            let notification = acp::SessionNotification { session_id, update };
            self.0.client().session_notification(notification).await?;
        }
        Ok(())
    }

    async fn prompt(&self, request: acp::PromptRequest) -> Result<acp::PromptResponse, acp::Error> {
        let session = self.0.session(&request.session_id)?;
        session.cancelled.send_replace(false);
        let stop_reason = turn::play(&self.0, &session, request.prompt).await?;
        Ok(acp::PromptResponse { stop_reason })
    }

    async fn cancel(&self, request: acp::CancelNotification) -> Result<(), acp::Error> {
        self.0.session(&request.session_id)?.cancelled.send_replace(true);
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let born = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970").as_nanos();
    let shared = Rc::new(Shared {
        client: OnceCell::new(),
        sessions: RefCell::default(),
        born,
        count: Cell::new(0),
    });
    let serve = async {
        let (connection, serving) = acp::AgentSideConnection::new(
            Agent(shared.clone()),
            tokio::io::stdout().compat_write(),
            tokio::io::stdin().compat(),
            |future| drop(tokio::task::spawn_local(future)),
        );
        shared.client.set(connection).ok().expect("set once");
        serving.await
    };
    if let Err(error) = tokio::task::LocalSet::new().run_until(serve).await {
        eprintln!("{error}");
    }
}
