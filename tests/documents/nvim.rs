//! A Neovim of its own for each test, with documents connected to it. Every wait has a deadline.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rat_nvim::bridge::editor::NvimEditor;
use rat_nvim::core::messages::files::Consent;
use rat_nvim::core::messages::policy::WriteDirty;
use rat_nvim::documents::disks::Disks;
use rat_nvim::documents::editor::Editor;
use rat_nvim::documents::{AgentChange, DocumentError, Documents, ReadRequest, WriteRequest};
use rat_nvim::nvim::client::{Client, NvimEvent};
use rat_nvim::session::author::{Author, ChatId, SessionKey};
use rmpv::Value;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

const DEADLINE: Duration = Duration::from_secs(20);

/// What is told to the binary is kept in `_G.told`; `_G.seen` has what other plugins see of a buffer.
const PRELUDE: &str = r#"
_G.told, _G.seen = {}, {}
package.loaded["rat.rpc"] = {
  notify = function(name, fact) table.insert(_G.told, { name, fact }) end,
  on_lost = function() end,
}
require("rat.util.private_file").root = function() return vim.fn.getcwd() .. "/state" end
function _G.listen()
  _G.seen = {}
  vim.api.nvim_buf_attach(0, false, {
    on_lines = function(_, _, _, first, last, new_last)
      table.insert(_G.seen, string.format("%d-%d>%d", first, last, new_last))
    end,
    on_reload = function() table.insert(_G.seen, "reload") end,
  })
end
function _G.text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") end
"#;

pub(crate) struct Nvim {
    pub(crate) files: Arc<Documents>,
    pub(crate) editor: Arc<NvimEditor>,
    client: Client,
    child: Child,
    folder: PathBuf,
    owns_folder: bool,
    _inbox: mpsc::UnboundedReceiver<NvimEvent>,
}

pub(crate) fn session() -> SessionKey {
    session_of("agent")
}

/// A session of this name, of one agent.
pub(crate) fn session_of(name: &str) -> SessionKey {
    SessionKey { chat: ChatId(1), session: name.into() }
}

pub(crate) fn author() -> Author {
    Author { session: session(), turn: 1, tool_call: None }
}

/// `line 0` and so on.
pub(crate) fn lines(count: usize) -> String {
    let mut text: Vec<String> = (0..count).map(|i| format!("line {i}")).collect();
    text.push(String::new());
    text.join("\n")
}

impl Nvim {
    pub(crate) async fn start(name: &str) -> Self {
        Self::start_under(&std::env::temp_dir(), name).await
    }

    /// With its files in a new folder below `above`.
    pub(crate) async fn start_under(above: &Path, name: &str) -> Self {
        let folder = above.canonicalize().unwrap();
        let folder = folder.join(format!("rat-documents-{name}-{}", std::process::id()));
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        let mut nvim = Self::start_in(folder, &["-n"]).await;
        nvim.owns_folder = true;
        nvim
    }

    /// Another one in the same folder, which has to end first.
    pub(crate) async fn beside(&self, args: &[&str]) -> Self {
        Self::start_in(self.folder.clone(), args).await
    }

    async fn start_in(folder: PathBuf, args: &[&str]) -> Self {
        let program = std::env::var("NVIM_BIN").unwrap_or_else(|_| "nvim".to_owned());
        let lua = format!("set runtimepath^={}", env!("CARGO_MANIFEST_DIR"));
        let mut child = Command::new(program)
            .args(["--headless", "--clean", "--embed", "--cmd", &lua])
            .args(args)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Neovim starts: set NVIM_BIN");
        let (sender, inbox) = mpsc::unbounded_channel();
        let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = Client::connect(stdout, stdin, sender);
        let editor = Arc::new(NvimEditor::new(client.clone()));
        let files = Arc::new(Documents::with_disks(
            Arc::clone(&editor) as Arc<dyn Editor>,
            Disks::default().without_settling(),
        ));
        let nvim = Self { files, editor, client, child, folder, owns_folder: false, _inbox: inbox };
        nvim.lua(PRELUDE).await;
        nvim
    }

    /// A path in the folder of this test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Puts a file there, as if by someone else.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Puts a file there and opens it.
    pub(crate) async fn edit(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.put(name, content);
        self.open(name).await;
        path
    }

    pub(crate) async fn open(&self, name: &str) {
        let name = self.path(name).to_str().unwrap().to_owned();
        let code = "vim.cmd.edit({ ..., magic = { file = false, bar = false } })";
        self.lua_with(code, vec![name.into()]).await;
    }

    pub(crate) fn disk(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub(crate) async fn lua(&self, code: &str) -> Value {
        self.lua_with(code, Vec::new()).await
    }

    pub(crate) async fn lua_with(&self, code: &str, args: Vec<Value>) -> Value {
        within(self.client.request("nvim_exec_lua", vec![code.into(), Value::Array(args)]))
            .await
            .unwrap_or_else(|error| panic!("{error}\nin {code}"))
    }

    /// The value of a Lua expression, as text.
    pub(crate) async fn eval(&self, expression: &str) -> String {
        match self.lua(&format!("return {expression}")).await {
            Value::String(text) => text.into_str().unwrap(),
            other => other.to_string(),
        }
    }

    pub(crate) async fn command(&self, command: &str) {
        self.lua_with("vim.cmd(...)", vec![command.into()]).await;
    }

    /// The text of the current buffer.
    pub(crate) async fn text(&self) -> String {
        self.eval("text()").await
    }

    /// Types keys as a user does.
    pub(crate) async fn keys(&self, keys: &str) {
        within(self.client.request("nvim_input", vec![keys.into()])).await.unwrap();
    }

    /// Types keys that end Neovim, perhaps before it has answered.
    pub(crate) async fn last_keys(&self, keys: &str) {
        let _ = within(self.client.request("nvim_input", vec![keys.into()])).await;
    }

    /// Types keys as a user does, and waits until an expression says `wanted`.
    pub(crate) async fn type_until(&self, keys: &str, expression: &str, wanted: &str) {
        self.keys(keys).await;
        self.wait_for(expression, wanted).await;
    }

    /// Waits until an expression says `wanted`.
    pub(crate) async fn wait_for(&self, expression: &str, wanted: &str) {
        let mut last = String::new();
        let end = tokio::time::Instant::now() + DEADLINE;
        while tokio::time::Instant::now() < end {
            last = self.eval(expression).await;
            if last == wanted {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{expression} is {last:?}, not {wanted:?}");
    }

    /// The mode, and whether Neovim holds calls back until the user has typed more.
    pub(crate) async fn mode(&self) -> (String, bool) {
        let mode = within(self.client.request("nvim_get_mode", Vec::new())).await.unwrap();
        let get = |key| {
            mode.as_map().unwrap().iter().find(|(name, _)| name.as_str() == Some(key)).unwrap()
        };
        (get("mode").1.as_str().unwrap().to_owned(), get("blocking").1 == Value::from(true))
    }

    /// Waits until Neovim has ended by itself.
    pub(crate) async fn ended(&mut self) {
        within(self.child.wait()).await.unwrap();
    }

    /// Neovim waits for no answer of the user.
    pub(crate) async fn asks_nothing(&self) {
        assert!(!self.mode().await.1);
    }

    pub(crate) async fn read(&self, path: &Path) -> Result<String, DocumentError> {
        self.read_part(path, None, None).await
    }

    pub(crate) async fn read_part(
        &self,
        path: &Path,
        line: Option<u32>,
        limit: Option<u32>,
    ) -> Result<String, DocumentError> {
        let request = ReadRequest { session: session(), path: path.to_owned(), line, limit };
        within(self.files.read(request)).await
    }

    pub(crate) async fn write(
        &self,
        path: &Path,
        content: &str,
    ) -> Result<AgentChange, DocumentError> {
        let (path, content) = (path.to_owned(), content.to_owned());
        let request = WriteRequest {
            by: author(),
            path,
            content,
            base: None,
            dirty: WriteDirty::default(),
            repeats: false,
            consent: Consent::NotNeeded,
        };
        self.write_request(request).await
    }

    /// The same for an agent that goes on to write it to the disk itself.
    pub(crate) async fn write_to_repeat(
        &self,
        path: &Path,
        content: &str,
    ) -> Result<AgentChange, DocumentError> {
        let (path, content, dirty) = (path.to_owned(), content.to_owned(), WriteDirty::default());
        let request = WriteRequest {
            by: author(),
            path,
            content,
            base: None,
            dirty,
            repeats: true,
            consent: Consent::NotNeeded,
        };
        self.write_request(request).await
    }

    pub(crate) async fn write_request(
        &self,
        request: WriteRequest,
    ) -> Result<AgentChange, DocumentError> {
        within(self.files.write(request)).await
    }

    pub(crate) async fn disk_changed(
        &self,
        path: &Path,
    ) -> Result<Option<AgentChange>, DocumentError> {
        within(self.files.disk_changed(path, &author())).await
    }
}

impl Drop for Nvim {
    fn drop(&mut self) {
        // The process ends with its handle; nothing is left to wait for.
        let _ = self.child.start_kill();
        if self.owns_folder {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work).await.expect("in time")
}
