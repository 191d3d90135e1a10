--- The types of the options of |rat.setup()|, made by tests/support/option_types.lua.
---@meta _

---@class (exact) rat.Options
---@field agents? table<string, rat.Options.Agent> Agents by name. The name of a preset (`rat-presets`) changes that preset, any other name adds an agent.
---@field default_agent? string The agent that `:RatStart` starts when none is named.
---@field settings_file? string A JSON file with `agent_servers` and `mcp_servers`, in the format of other clients. Unset: `rat.json` in `stdpath()` "config". See `rat-json`.
---@field registry_file? string A file on disk in the format of the ACP agent registry (`registry.json`), whose agents can then be started by their ids. Agents on npm and PyPI are run by `npx` and `uvx`.
---@field mcp_servers? table<string, rat.Options.McpServer> MCP servers to pass to every session.
---@field directories? string[] Folders outside the working folder that agents may read and write without asking.
---@field resume? "last"|"never" What `:RatStart` does when no chat is open. `last`: resume the session you used last in this folder, if the agent can. `never`: start a new one.
---@field unsaved? "note"|"embed"|"save"|"ask"|"ignore" What to do with unsaved changes when you send a prompt to an agent that reads files from disk. `note`: add a diff of them to the prompt (at most 16 KiB). `embed`: add the whole text. `save`: save the buffers first. `ask`: ask you. `ignore`: nothing. Unless this is `ignore`, a prompt also tells the agent what you or others changed in files it wrote, and what of its changes you accepted, rejected or undid.
---@field during_turn? "queue"|"interrupt" What sending a prompt does while the agent works. `queue`: it is sent when the turn ends. `interrupt`: the turn is cancelled for it.
---@field follow? boolean Whether a window shows the places where the agent works. It is never the one you are in: see `:RatFollow`, by which you choose it.
---@field write_dirty? "separate"|"save"|"ask" What to do when an agent writes to a file with unsaved changes in its buffer. `separate`: write only the agent's changes, yours stay unsaved. `save`: save the whole buffer. Where the agent edits text you have not saved, the changes cannot be separated: `separate` then saves the buffer and tells you, `ask` asks first.
---@field review? "after"|"before"|"off" What happens to what agents change in files. `after`: signs show it until you accept or reject it, and each turn can be undone with `:RatUndo`. `before`: in addition, you are asked before an agent writes a file through Neovim, and can edit what it writes (`rat-review-before`); what you allow there counts as accepted. `off`: no signs, and turns cannot be undone.
---@field permission? rat.Options.Permission Permission requests.
---@field files? rat.Options.Files Files that functions of yours read or write for agents.
---@field complete? "typed"|"key" When the prompt completes `/commands` and `@files`. `typed`: as you type, unless a completion plugin offers the same (`rat-plugins`). `key`: only on <C-x><C-u>.
---@field keys? table<string, (string|false)> Keys of our buffers (`rat-keys`) by the names they have there, with what you want in their place or false for none, as in `{ ga = "<leader>y", ["g-"] = false }`. It does not change the keys of choosers and single-line inputs.
---@field start_insert? boolean Whether a command that takes you to the prompt, such as `:RatStart`, also starts Insert mode. Nothing else changes the mode: a prompt is sent, and a window entered, in the mode you are in.
---@field icons? "unicode"|"ascii"|table<string, string> The signs before lines. `"ascii"` for fonts and terminals that lack them, or a table with some of `pending`, `running`, `done`, `failed`, `cancelled`, `bar`, `branch`, `corner`, `speaker`, `thought`, `queued`, `fold`, each a character of one cell.
---@field text_mode? boolean Whether who speaks and the state of each step are text in the buffers of a chat, in words, as screen readers need it. See `rat-text-mode`.
---@field notify? rat.Options.Notify Notifications about requests that are waiting and turns that have ended.
---@field diff? "inline"|"tab" Where to show the changes of a permission request. `inline`: in its card. `tab`: in a tab page in native diff mode, as soon as it arrives.
---@field layout? rat.Options.Layout Where the chat opens.
---@field binary? string The path of `rat-nvim`. Unset: the one built in the plugin's folder, else the one on PATH.
---@field log_level? "info"|"error"|"warn"|"debug"|"trace" The least severe messages to write to the log (`:RatLog`).

---@class (exact) rat.Options.Agent
---@field command? string The program: a path, or a name on PATH.
---@field args? string[] Its arguments. Unset: those of the preset, if `command` is its program.
---@field url? string Where an agent that runs elsewhere is reached, in place of `command`: `unix:///path`, `ws://`, `wss://`, `http://` or `https://`. See `rat-remote`.
---@field headers? table<string, string> Headers to send to `url` with each request. `${NAME}` is a variable of `env` or of Neovim's environment.
---@field ca_file? string A file with certificates (PEM) of authorities to trust at `url`, besides those of the system.
---@field env? table<string, string> Environment variables to set, on top of Neovim's own.
---@field env_from? table<string, string[]> Environment variables that commands print when the agent starts, as in `{ ANTHROPIC_API_KEY = { "pass", "show", "anthropic" } }`. The values are kept nowhere.
---@field cwd? string The folder its sessions work in. Unset: `getcwd()` of the current window.
---@field mcp_servers? table<string, rat.Options.McpServer> MCP servers for this agent, in addition to those for all agents.
---@field options? table<string, string> Options to set in new sessions: the id, category or name of an option (`mode`, `model`) and a value or its name, or `on` or `off`.
---@field auth_method? string The authentication method to use without asking.
---@field install_hint? string Shown when the program is not found.
---@field paths? table<string, string> Folders that the agent knows by other paths, as in a container: your path, and the agent's. See `rat-elsewhere`.
---@field shared? boolean Whether the agent has the same files as you. If not, it reads and writes them through Neovim.
---@field dialect? string The protocol it speaks: `1` or `2` (that version of ACP), `0.1.1` (ACP of that release), `go` (the Go package) or `openoxide`. Unset: taken from its answers. See `rat-dialects`.
---@field reconnect? "now"|"prompt" When to get it back after it crashed or its connection was lost. `now`: at once and with its session, a program at most three times in a row. `prompt`: when you send a prompt; then an agent at a `url` is not waited for at its start either.
---@field on_cancel_timeout? "ask"|"restart" What to do when it has not stopped after a cancel. `ask`: offer to end it. `restart`: end it, start it again and resume the session. Unset: `restart` for the dialects `go` and `openoxide`, which may not read a cancel during a turn, otherwise `ask`.
---@field confine? false|"write"|table Whether the kernel keeps the agent, and all it starts, from changing files outside of its folders (Linux). `"write"`: it may write to the folders of its sessions, to temporary folders and where it keeps its state. A table does the same and has `write` (more paths), `hide` (folders whose files it cannot read, or true for `~/.ssh`, `~/.aws` and `~/.gnupg`) and `net` (the only TCP ports that it can use). See `rat-confine`.
---@field capabilities? rat.Options.Agent.Capabilities What it may ask of Neovim. What is off is not offered to it, and refused if it asks anyway. The agent may have tools of its own that do the same.
---@field timeouts? rat.Options.Agent.Timeouts How long to wait for the agent's answers, in milliseconds; 0 waits forever.

---@class (exact) rat.Options.McpServer
---@field type? string `stdio`, `http` or `sse`. Unset: taken from the other keys.
---@field command? string The program of a stdio server.
---@field args? string[] Its arguments.
---@field env? table<string, string> Environment variables to set for it.
---@field url? string The URL of an HTTP or SSE server.
---@field headers? table<string, string> Headers to send with each request.

---@class (exact) rat.Options.Permission
---@field open? "chat"|"always"|"never" When the chooser or a form (`rat-forms`) opens by itself. `chat`: while you are in a window of the chat and not typing. `always`: whenever Normal mode is idle. `never`: only when you ask for it.
---@field rules? string[] Rules that decide on requests before you are asked. See `rat-rules`.
---@field mode? "agent"|"ask"|"read-only" What happens to what no rule decides on. `agent`: you are asked what the agent asks. `ask`: you are also asked about files and commands that it uses through Neovim without asking. `read-only`: what changes files and runs commands is denied, and calls of which it is not known what they do are asked about.
---@field default? table<string, ("allow"|"ask"|"deny")> The same for single kinds of tool calls, as in `{ fetch = "ask", execute = "deny" }`. It comes before `mode`.
---@field provider? function Called with each request and a function to answer it with, before you are asked. See `rat-provider`.

---@class (exact) rat.Options.Files
---@field read_provider? function Called before a file is read for an agent, with a request and a function to answer it with. See `rat-file-provider`.
---@field write_provider? function Called before a file is written for an agent, in the same way.

---@class (exact) rat.Options.Notify
---@field when? "unseen"|"never" When to call `vim.notify()`. `unseen`: if the current tab page does not show the chat.
---@field terminal? "none"|"bell"|"osc9" What to send to your terminal as well, also if it has lost the focus (`FocusLost`): nothing, a bell, or a desktop notification (OSC 9).

---@class (exact) rat.Options.Layout
---@field position? "right"|"left"|"bottom"|"top"|"tab" The side of the screen, or a tab page of its own.
---@field size? number The width of the chat, or its height at the top or bottom: below 1 a share of the screen, else columns or lines.

---@class (exact) rat.Options.Agent.Capabilities
---@field read? boolean Reading files.
---@field write? boolean Writing files.
---@field terminal? boolean Running commands.
---@field elicitation? boolean Forms for you to fill in, and URLs to open.

---@class (exact) rat.Options.Agent.Timeouts
---@field initialize? integer The first request.
---@field authenticate? integer A login, often in a browser.
---@field session? integer Starting or loading a session.
---@field request? integer Any other request that should be answered at once.
---@field cancel? integer From a cancel until `rat-option-agents.name.on_cancel_timeout`.
