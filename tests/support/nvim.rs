//! One real Neovim with a user interface attached, in folders of its own, with the plugin on its runtimepath.
//! It must not reach the user's configuration, and nothing it has started may outlive it.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmpv::Value;
use serde_json::{Value as Json, json};

use super::processes::MARK;
use super::rpc::{CallError, Notification, Rpc};
use super::tty::Tty;
use super::values::{to_json, to_msgpack};
use super::{
    Agent, DEADLINE, LAST_GLANCE, Processes, Screen, TempFolder, binary, poll_for, repository,
    write_file,
};

/// How many Neovims were started.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// How a Neovim is started; `..Options::default()` fills in the rest.
pub struct Options {
    /// Width of the screen.
    pub columns: u16,
    /// Height of the screen.
    pub lines: u16,
    /// Arguments after the harness's own: files to open, `-c command` ..
    pub args: Vec<String>,
    /// Working folder; without one, a fresh folder `project`.
    pub cwd: Option<PathBuf>,
    /// Whether it has a terminal of its own, to which its own TUI draws; [`Nvim::terminal_bytes`] gives all of that.
    pub terminal: bool,
    /// Variables added to the few the harness sets.
    pub env: Vec<(String, String)>,
    /// How long after the end of Neovim something it has started may live on.
    pub farewell: Duration,
    /// Lua run before plugins are loaded, after the settings that keep screens the same everywhere.
    pub init: String,
}

impl Options {
    /// At 120x40, which most tests of a chat use.
    pub fn wide() -> Self {
        Self { columns: 120, lines: 40, ..Self::default() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            columns: 80,
            lines: 24,
            args: Vec::new(),
            cwd: None,
            terminal: false,
            env: Vec::new(),
            farewell: DEADLINE,
            init: String::new(),
        }
    }
}

/// What differs between versions of Neovim and has nothing to do with the plugin.
const INIT: &str = r#"
vim.cmd.colorscheme("vim")
vim.o.background = "dark"
vim.o.statusline = "%<%f %h%w%m%r%=%-14.(%l,%c%V%) %P"
vim.o.fillchars = "vert:│,fold:·,eob:~"
vim.opt.shortmess:append("I")
-- Looking for a provider starts programs: seconds for each file that a file type plugin asks for one.
vim.g.loaded_python3_provider = 0
"#;

/// Keeps what the plugin tells by `User` autocommands, for [`Nvim::events`].
const RECORD: &str = r#"
_G.recorded = {}
vim.api.nvim_create_autocmd("User", {
  pattern = "Rat*",
  callback = function(args)
    table.insert(_G.recorded, { args.match, args.data or vim.NIL })
  end,
})
"#;

/// A running Neovim. Dropping it ends it and fails the test when something it has started still lives.
pub struct Nvim {
    child: Child,
    rpc: Rpc,
    screen: Arc<Mutex<Screen>>,
    processes: Processes,
    tty: Option<Tty>,
    folder: Arc<TempFolder>,
    cwd: PathBuf,
    size: (u16, u16),
    farewell: Duration,
}

impl Nvim {
    /// Starts `$NVIM_BIN`, or `nvim`, and attaches a user interface to it.
    pub fn start(options: Options) -> Self {
        Self::start_in(Arc::new(TempFolder::new()), options)
    }

    /// Starts another one that has the same home, state and project as this one, which may have ended.
    pub fn beside(&self, options: Options) -> Self {
        Self::start_in(Arc::clone(&self.folder), options)
    }

    fn start_in(folder: Arc<TempFolder>, options: Options) -> Self {
        let cwd = options.cwd.clone().unwrap_or_else(|| folder.folder("project"));
        // Whoever looks for what one of several has started must not find what another one has.
        let mark =
            format!("{}#{}", folder.path().display(), STARTED.fetch_add(1, Ordering::Relaxed));
        let processes = Processes::marked(mark.as_str());
        let mut command = command(&options, &folder, &cwd, &mark);
        let screen = Arc::new(Mutex::new(Screen::default()));
        let (child, rpc, tty) = if options.terminal {
            let socket = folder.path().join(format!("nvim{}", STARTED.load(Ordering::Relaxed)));
            spawn_in_terminal(&mut command, &options, &socket, redraw(Arc::clone(&screen)))
        } else {
            spawn_embedded(&mut command, redraw(Arc::clone(&screen)))
        };
        let size = (options.columns, options.lines);
        let mut nvim = Self {
            child,
            rpc,
            screen,
            processes,
            tty,
            folder,
            cwd,
            size,
            farewell: options.farewell,
        };
        let features = json!({"rgb": true, "ext_linegrid": true, "ext_hlstate": true});
        nvim.call("nvim_ui_attach", json!([size.0, size.1, features]));
        nvim.poll("the first screen", |nvim| !nvim.screen().mode().is_empty());
        nvim
    }

    /// Starts one at 80x24 with nothing opened.
    pub fn plain() -> Self {
        Self::start(Options::default())
    }

    /// Starts one at 120x40 with nothing opened.
    pub fn wide() -> Self {
        Self::start(Options::wide())
    }

    /// Calls a function of the API by name with its arguments in an array, and fails the test on an error.
    pub fn call(&mut self, method: &str, params: Json) -> Json {
        self.try_call(method, params)
            .unwrap_or_else(|error| self.fail(&format!("{method}: {error}")))
    }

    /// Like [`Nvim::call`], with the error's text.
    pub fn try_call(&mut self, method: &str, params: Json) -> Result<Json, String> {
        let params = params.as_array().into_iter().flatten().map(to_msgpack).collect();
        match self.rpc.call(method, params, DEADLINE) {
            Ok(value) => Ok(to_json(&value)),
            Err(CallError::Refused(text)) => Err(text),
            Err(CallError::Silent) => Err(format!("no answer, {}", self.state())),
            Err(CallError::Gone) => Err("Neovim is gone".to_owned()),
        }
    }

    /// Runs Lua with `args` (an array) as `...` and gives what it returns.
    pub fn lua(&mut self, code: &str, args: Json) -> Json {
        self.call("nvim_exec_lua", json!([code, args]))
    }

    /// The value of a Lua expression.
    pub fn eval(&mut self, expression: &str) -> Json {
        self.lua(&format!("return {expression}"), json!([]))
    }

    /// Runs Lua as [`Nvim::lua`] does where keys are still to be read. What waits for one more key after them is ended by
    /// one `<Esc>`.
    pub fn lua_past_keys(&mut self, code: &str, args: Json) -> Json {
        let params = [json!(code), args].iter().map(to_msgpack).collect();
        let Ok(id) = self.rpc.send("nvim_exec_lua", params) else { self.fail("Neovim is gone") };
        let answer = |nvim: &mut Self, deadline| match nvim.rpc.wait(id, deadline) {
            Ok(value) => Some(to_json(&value)),
            Err(CallError::Silent) => None,
            Err(error) => nvim.fail(&format!("nvim_exec_lua: {error:?}")),
        };
        let first = poll_for(DEADLINE, || match answer(self, LAST_GLANCE) {
            Some(value) => Some(Some(value)),
            None => self.mode_is_blocked().then_some(None),
        });
        match first {
            Some(Some(value)) => value,
            Some(None) => {
                self.input("<Esc>");
                answer(self, DEADLINE).unwrap_or_else(|| self.fail("Neovim waits for a key"))
            }
            None => self.fail("nvim_exec_lua: no answer"),
        }
    }

    /// Runs an Ex command.
    pub fn command(&mut self, command: &str) {
        self.call("nvim_command", json!([command]));
    }

    /// Runs an Ex command that is expected to fail and gives its error.
    pub fn command_error(&mut self, command: &str) -> String {
        match self.try_call("nvim_command", json!([command])) {
            Ok(_) => self.fail(&format!(":{command} did not fail")),
            Err(error) => error,
        }
    }

    /// Types keys as a user does (`<CR>` notation) and does not wait for what they do.
    ///
    /// A `<C-c>` goes to the typeahead: where it arrives while Neovim is busy, as after a request, it would interrupt what
    /// Neovim does, drop the keys before it, and be mapped to nothing. Source: `:help nvim_input()`, `:help map-CTRL-C`.
    pub fn input(&mut self, keys: &str) {
        if keys.contains("<C-c>") && !self.mode_is_blocked() {
            self.lua(r#"vim.api.nvim_feedkeys(vim.keycode(...), "t", false)"#, json!([keys]));
        } else {
            self.call("nvim_input", json!([keys]));
        }
    }

    /// Types keys and runs them to their end, Insert mode left. Source: `:help nvim_feedkeys()`, mode `tx`.
    pub fn feed(&mut self, keys: &str) {
        let code = r#"vim.api.nvim_feedkeys(vim.keycode(...), "tx", false)"#;
        self.lua(code, json!([keys]));
    }

    /// Runs Lua as [`Nvim::lua`] does, with the buffer of that full name as the current one.
    pub fn lua_in(&mut self, name: &str, code: &str, args: Json) -> Json {
        let find = "
            local name, code, args = ...
            for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              if vim.api.nvim_buf_get_name(buf) == name then
                return vim.api.nvim_buf_call(buf, function() return assert(loadstring(code))(unpack(args)) end)
              end
            end
            error('no buffer ' .. name)";
        self.lua(find, json!([name, code, args]))
    }

    /// The lines of the buffer of that full name.
    pub fn buffer_lines(&mut self, name: &str) -> Vec<String> {
        let lines =
            self.lua_in(name, "return vim.api.nvim_buf_get_lines(0, 0, -1, true)", json!([]));
        let text = |line: &Json| line.as_str().unwrap_or_default().to_owned();
        lines.as_array().into_iter().flatten().map(text).collect()
    }

    /// What `:messages` shows.
    pub fn messages(&mut self) -> String {
        let shown = self.call("nvim_exec2", json!(["messages", {"output": true}]));
        shown["output"].as_str().unwrap_or_default().to_owned()
    }

    /// The screen as of the last complete redraw.
    pub fn screen(&self) -> Screen {
        lock(&self.screen).clone()
    }

    /// Waits until `look` says yes; `what` is the end of the sentence "never came:".
    pub fn poll(&mut self, what: &str, mut look: impl FnMut(&mut Self) -> bool) {
        self.poll_for(what, |nvim| look(nvim).then_some(()));
    }

    /// Waits until `look` gives a value.
    pub fn poll_for<T>(&mut self, what: &str, mut look: impl FnMut(&mut Self) -> Option<T>) -> T {
        poll_for(DEADLINE, || look(self))
            .unwrap_or_else(|| self.fail(&format!("never came: {what}")))
    }

    /// Waits until a row of the screen holds the text.
    pub fn poll_screen(&mut self, text: &str) {
        self.poll(&format!("{text:?} on the screen"), |nvim| nvim.screen().contains(text));
    }

    /// Waits until no row of the screen holds the text.
    pub fn poll_no(&mut self, text: &str) {
        self.poll(&format!("no {text:?} on the screen"), |nvim| !nvim.screen().contains(text));
    }

    /// Goes to the window of the buffer of that full name.
    pub fn enter(&mut self, name: &str) {
        self.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([name]));
    }

    /// The windows, their sizes, the current one and the number of tab pages.
    pub fn layout(&mut self) -> Json {
        let code = "return { vim.fn.winlayout(), vim.fn.winrestcmd(), vim.fn.win_getid(), vim.fn.tabpagenr('$') }";
        self.lua(code, json!([]))
    }

    /// Whether Neovim waits for a key and holds calls back. Source: `:help nvim_get_mode()`.
    pub fn mode_is_blocked(&mut self) -> bool {
        self.call("nvim_get_mode", json!([]))["blocking"] == json!(true)
    }

    /// All that its TUI has written to its terminal so far; nothing without [`Options::terminal`].
    pub fn terminal_bytes(&self) -> Vec<u8> {
        self.tty.as_ref().map(Tty::written).unwrap_or_default()
    }

    /// Changes the size of the screen.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        self.size = (columns, lines);
        self.call("nvim_ui_try_resize", json!([columns, lines]));
    }

    /// The size of the screen: columns, lines.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// An agent this test plays, listening, but neither configured nor started.
    pub fn listen(&self) -> Agent {
        Agent::listen(self.folder.path(), Arc::clone(&self.screen))
    }

    /// The working folder Neovim was started in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Writes a file below the working folder and gives its path.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        write_file(&self.cwd, name, text)
    }

    /// The folder that holds everything of this Neovim: `home`, `state`, `cache` .., `project`.
    pub fn folder(&self) -> &TempFolder {
        &self.folder
    }

    /// All processes that this Neovim has started and itself.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Neovim's pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends Neovim with SIGKILL, so that nothing of it can clean up.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends Neovim with `:qa!`, by force only where that does nothing.
    pub fn quit(&mut self) {
        let _ = self.rpc.send("nvim_command", vec!["qall!".into()]);
        let child = &mut self.child;
        if poll_for(Duration::from_secs(5), || child.try_wait().ok().flatten()).is_none() {
            self.kill();
        }
    }

    /// Fails the test with what the user would see.
    pub fn fail(&mut self, what: &str) -> ! {
        panic!("{what}\n--- {}\n{}\n---", self.state(), self.screen().text());
    }

    fn state(&mut self) -> String {
        let mode = self.rpc.call("nvim_get_mode", Vec::new(), Duration::from_secs(1));
        mode.map_or_else(
            |_| "Neovim is deaf".to_owned(),
            |mode| format!("Neovim's mode: {}", to_json(&mode)),
        )
    }
}

impl Drop for Nvim {
    fn drop(&mut self) {
        self.quit();
        if let Err(left) = self.processes.wait_until_gone(self.farewell) {
            self.processes.kill();
            assert!(std::thread::panicking(), "still alive after the end of Neovim:\n{left}");
        }
    }
}

fn command(options: &Options, folder: &TempFolder, cwd: &Path, mark: &str) -> Command {
    let program = std::env::var("NVIM_BIN").unwrap_or_else(|_| "nvim".to_owned());
    let mut command = Command::new(program);
    if !options.terminal {
        command.arg("--embed");
    }
    command.args(["--clean", "-u"]).arg(write_init(options, folder)).args(&options.args);
    command
        .current_dir(cwd)
        .env_clear()
        .env(MARK, mark)
        .env("LANG", "C.UTF-8")
        .env("SHELL", "/bin/sh");
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let folders = [
        ("HOME", "home"),
        ("TMPDIR", "tmp"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_RUNTIME_DIR", "run"),
        ("XDG_STATE_HOME", "state"),
    ];
    command.envs(folders.map(|(name, path)| (name, folder.folder(path))));
    command.envs(options.env.iter().map(|(name, value)| (name, value)));
    command
}

fn spawn_embedded(
    command: &mut Command,
    notify: impl FnMut(Notification) + Send + 'static,
) -> (Child, Rpc, Option<Tty>) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().expect("start Neovim: set NVIM_BIN");
    let stdin = child.stdin.take().expect("a pipe");
    let stdout = child.stdout.take().expect("a pipe");
    (child, Rpc::new(stdin, stdout, notify), None)
}

/// As a user starts it; the test speaks with it over a socket.
fn spawn_in_terminal(
    command: &mut Command,
    options: &Options,
    socket: &Path,
    notify: impl FnMut(Notification) + Send + 'static,
) -> (Child, Rpc, Option<Tty>) {
    let tty = Tty::attach(command, options.columns, options.lines);
    command.env("TERM", "xterm-256color").arg("--listen").arg(socket);
    let child = command.spawn().expect("start Neovim: set NVIM_BIN");
    let stream = poll_for(DEADLINE, || UnixStream::connect(socket).ok());
    let stream = stream.expect("Neovim listens");
    let reading = stream.try_clone().expect("a second handle");
    (child, Rpc::new(stream, reading, notify), Some(tty))
}

fn write_init(options: &Options, folder: &TempFolder) -> PathBuf {
    let paths = json!({"repository": repository(), "binary": binary()}).to_string();
    let text = format!(
        "local paths = vim.json.decode([==[{paths}]==])\n\
         vim.opt.runtimepath:prepend(paths.repository)\n\
         vim.g.rat_binary = paths.binary\n{INIT}\n{RECORD}\n{}\n",
        options.init
    );
    folder.file("init.lua", text)
}

/// Draws on a screen of its own and shows complete frames only.
fn redraw(shown: Arc<Mutex<Screen>>) -> impl FnMut(Notification) {
    let mut drawn = Screen::default();
    move |notification| {
        if notification.method != "redraw" {
            return;
        }
        for batch in notification.params.iter().filter_map(Value::as_array) {
            let event = batch[0].as_str().unwrap_or_default();
            for args in batch[1..].iter().filter_map(Value::as_array) {
                if drawn.apply(event, args) {
                    lock(&shown).clone_from(&drawn);
                }
            }
        }
    }
}

/// A test that fails while it holds the screen must not make the others' messages unreadable.
fn lock(screen: &Mutex<Screen>) -> MutexGuard<'_, Screen> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}
