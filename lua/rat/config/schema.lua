--- Describes every option. Data only: `config` checks options against it, and the help is generated from it.

---@class rat.Option
---@field name? string key in the enclosing table
---@field type "string"|"boolean"|"number"|"integer"|"function"|"list"|"map"|"table"|"confine"|"key"|"icons"|"icon"
---@field default? any nil if the option is unset by default
---@field choices? string[] the only values a string may have; the first is the default
---@field range? integer[] smallest and, optionally, largest number
---@field items? rat.Option description of a list's items or a map's values
---@field fields? rat.Option[] keys of a table, in the order of the help
---@field doc? string text for the help, in a sentence or two

---@type rat.Option
local text = { type = "string" }

---@type rat.Option[]
local mcp_server = {
  {
    name = "type",
    type = "string",
    doc = "`stdio`, `http` or `sse`. Unset: taken from the other keys.",
  },
  { name = "command", type = "string", doc = "The program of a stdio server." },
  { name = "args", type = "list", items = text, doc = "Its arguments." },
  { name = "env", type = "map", items = text, doc = "Environment variables to set for it." },
  { name = "url", type = "string", doc = "The URL of an HTTP or SSE server." },
  { name = "headers", type = "map", items = text, doc = "Headers to send with each request." },
}

---@param name string
---@param default integer milliseconds
---@param doc string
---@return rat.Option
local function timeout(name, default, doc)
  return { name = name, type = "integer", range = { 0 }, default = default, doc = doc }
end

---@type rat.Option[]
local agent = {
  { name = "command", type = "string", doc = "The program: a path, or a name on PATH." },
  {
    name = "args",
    type = "list",
    items = text,
    doc = "Its arguments. Unset: those of the preset, if `command` is its program.",
  },
  {
    name = "url",
    type = "string",
    doc = "Where an agent that runs elsewhere is reached, in place of `command`: `unix:///path`, `ws://`,"
      .. " `wss://`, `http://` or `https://`. See |rat-remote|.",
  },
  {
    name = "headers",
    type = "map",
    items = text,
    doc = "Headers to send to `url` with each request. `${NAME}` is a variable of `env` or of Neovim's"
      .. " environment.",
  },
  {
    name = "ca_file",
    type = "string",
    doc = "A file with certificates (PEM) of authorities to trust at `url`, besides those of the system.",
  },
  {
    name = "env",
    type = "map",
    items = text,
    doc = "Environment variables to set, on top of Neovim's own.",
  },
  {
    name = "env_from",
    type = "map",
    items = { type = "list", items = text },
    doc = "Environment variables that commands print when the agent starts, as in"
      .. ' `{ ANTHROPIC_API_KEY = { "pass", "show", "anthropic" } }`. The values are kept nowhere.',
  },
  {
    name = "cwd",
    type = "string",
    doc = "The folder its sessions work in. Unset: |getcwd()| of the current window.",
  },
  {
    name = "editor_tools",
    type = "boolean",
    doc = "Whether it gets the editor's own tools. Unset: |rat-option-editor_tools|.",
  },
  {
    name = "mcp_servers",
    type = "map",
    items = { type = "table", fields = mcp_server },
    doc = "MCP servers for this agent, in addition to those for all agents.",
  },
  {
    name = "options",
    type = "map",
    items = text,
    doc = "Options to set in new sessions: the id, category or name of an option (`mode`, `model`)"
      .. " and a value or its name, or `on` or `off`.",
  },
  {
    name = "auth_method",
    type = "string",
    doc = "The authentication method to use without asking.",
  },
  { name = "install_hint", type = "string", doc = "Shown when the program is not found." },
  {
    name = "paths",
    type = "map",
    items = text,
    doc = "Folders that the agent knows by other paths, as in a container: your path, and the agent's."
      .. " See |rat-elsewhere|.",
  },
  {
    name = "shared",
    type = "boolean",
    doc = "Whether the agent has the same files as you. If not, it reads and writes them through Neovim.",
  },
  {
    name = "dialect",
    type = "string",
    doc = "The protocol it speaks: `1` or `2` (that version of ACP), `0.1.1` (ACP of that release), `go`"
      .. " (the Go package) or `openoxide`. Unset: taken from its answers. See |rat-dialects|.",
  },
  {
    name = "reconnect",
    type = "string",
    choices = { "now", "prompt" },
    doc = "When to get it back after it crashed or its connection was lost. `now`: at once and with its"
      .. " session, a program at most three times in a row. `prompt`: when you send a prompt; then an agent"
      .. " at a `url` is not waited for at its start either.",
  },
  {
    name = "on_cancel_timeout",
    type = "string",
    choices = { "ask", "restart" },
    doc = "What to do when it has not stopped after a cancel. `ask`: offer to end it. `restart`: end it, start"
      .. " it again and resume the session. Unset: `restart` for the dialects `go` and `openoxide`, which may"
      .. " not read a cancel during a turn, otherwise `ask`.",
  },
  {
    name = "confine",
    type = "confine",
    default = false,
    doc = "Whether the kernel keeps the agent, and all it starts, from changing files outside of its folders (Linux)."
      .. ' `"write"`: it may write to the folders of its sessions, to temporary folders and where it keeps its'
      .. " state. A table does the same and has `write` (more paths), `hide` (folders whose files it cannot read,"
      .. " or true for `~/.ssh`, `~/.aws` and `~/.gnupg`) and `net` (the only TCP ports that it can use)."
      .. " See |rat-confine|.",
  },
  {
    name = "capabilities",
    type = "table",
    doc = "What it may ask of Neovim. What is off is not offered to it, and refused if it asks anyway."
      .. " The agent may have tools of its own that do the same.",
    fields = {
      { name = "read", type = "boolean", default = true, doc = "Reading files." },
      { name = "write", type = "boolean", default = true, doc = "Writing files." },
      { name = "terminal", type = "boolean", default = true, doc = "Running commands." },
      {
        name = "elicitation",
        type = "boolean",
        default = true,
        doc = "Forms for you to fill in, and URLs to open.",
      },
    },
  },
  {
    name = "timeouts",
    type = "table",
    doc = "How long to wait for the agent's answers, in milliseconds; 0 waits forever.",
    fields = {
      timeout("initialize", 60000, "The first request."),
      timeout("authenticate", 0, "A login, often in a browser."),
      timeout("session", 120000, "Starting or loading a session."),
      timeout("request", 30000, "Any other request that should be answered at once."),
      timeout("prompt", 0, "A turn, which is then cancelled; never while you are asked something."),
      timeout("permission", 0, "Your answer to a permission request, which is then cancelled."),
      timeout("cancel", 10000, "From a cancel until |rat-option-agents.name.on_cancel_timeout|."),
    },
  },
}

---@type rat.Option
return {
  type = "table",
  fields = {
    {
      name = "agents",
      type = "map",
      items = { type = "table", fields = agent },
      default = {},
      doc = "Agents by name. The name of a preset (|rat-presets|) changes that preset, any other name"
        .. " adds an agent.",
    },
    {
      name = "default_agent",
      type = "string",
      doc = "The agent that `:RatStart` starts when none is named.",
    },
    {
      name = "settings_file",
      type = "string",
      doc = "A JSON file with `agent_servers` and `mcp_servers`, in the format of other clients."
        .. ' Unset: `rat.json` in |stdpath()| "config". See |rat-json|.',
    },
    {
      name = "registry_file",
      type = "string",
      doc = "A file on disk in the format of the ACP agent registry (`registry.json`), whose agents can then be"
        .. " started by their ids. Agents on npm and PyPI are run by `npx` and `uvx`.",
    },
    {
      name = "mcp_servers",
      type = "map",
      items = { type = "table", fields = mcp_server },
      default = {},
      doc = "MCP servers to pass to every session.",
    },
    {
      name = "editor_tools",
      type = "boolean",
      default = true,
      doc = "Whether agents get the editor's own tools, through an MCP server named `rat`. See |rat-editor-tools|.",
    },
    {
      name = "diagnostics",
      type = "string",
      choices = { "off", "note" },
      doc = "Whether a prompt tells the agent which errors its last turn has brought into the files that it changed."
        .. " `note`: at most 20 of them, as language servers and linters report them; a prompt may wait five"
        .. " seconds for that. `off`: nothing.",
    },
    {
      name = "directories",
      type = "list",
      items = text,
      default = {},
      doc = "Folders outside the working folder that agents may read and write without asking.",
    },
    {
      name = "resume",
      type = "string",
      choices = { "last", "never" },
      doc = "What `:RatStart` does when no chat is open. `last`: resume the session you used last in"
        .. " this folder, if the agent can. `never`: start a new one.",
    },
    {
      name = "keep_sessions",
      type = "integer",
      range = { 1 },
      doc = "How many sessions of a folder to keep, with their transcripts: those used longest ago are deleted, but no"
        .. " open one. Unset: all are kept.",
    },
    {
      name = "unsaved",
      type = "string",
      choices = { "note", "embed", "save", "ask", "ignore" },
      doc = "What to do with unsaved changes when you send a prompt to an agent that reads files from"
        .. " disk. `note`: add a diff of them to the prompt (at most 16 KiB). `embed`: add the whole"
        .. " text. `save`: save the buffers first. `ask`: ask you. `ignore`: nothing. Unless this is"
        .. " `ignore`, a prompt also tells the agent what you or others changed in files it wrote, and"
        .. " what of its changes you accepted, rejected or undid.",
    },
    {
      name = "during_turn",
      type = "string",
      choices = { "queue", "interrupt" },
      doc = "What sending a prompt does while the agent works. `queue`: it is sent when the turn ends."
        .. " `interrupt`: the turn is cancelled for it.",
    },
    {
      name = "follow",
      type = "boolean",
      default = false,
      doc = "Whether a window shows the places where the agent works. It is never the one you are in:"
        .. " see |:RatFollow|, by which you choose it.",
    },
    {
      name = "write_dirty",
      type = "string",
      choices = { "separate", "save", "ask" },
      doc = "What to do when an agent writes to a file with unsaved changes in its buffer. `separate`:"
        .. " write only the agent's changes, yours stay unsaved. `save`: save the whole buffer. Where"
        .. " the agent edits text you have not saved, the changes cannot be separated: `separate`"
        .. " then saves the buffer and tells you, `ask` asks first.",
    },
    {
      name = "review",
      type = "string",
      choices = { "after", "before", "off" },
      doc = "What happens to what agents change in files. `after`: signs show it until you accept or"
        .. " reject it, and each turn can be undone with `:RatUndo`. `before`: in addition, you are"
        .. " asked before an agent writes a file through Neovim, and can edit what it writes"
        .. " (|rat-review-before|); what you allow there counts as accepted. `off`: no signs, and turns"
        .. " cannot be undone.",
    },
    {
      name = "permission",
      type = "table",
      doc = "Permission requests.",
      fields = {
        {
          name = "open",
          type = "string",
          choices = { "chat", "always", "never" },
          doc = "When the chooser or a form (|rat-forms|) opens by itself. `chat`: while you are in a"
            .. " window of the chat and not typing. `always`: whenever Normal mode is idle."
            .. " `never`: only when you ask for it.",
        },
        {
          name = "rules",
          type = "list",
          items = text,
          default = {},
          doc = "Rules that decide on requests before you are asked. See |rat-rules|.",
        },
        {
          name = "mode",
          type = "string",
          choices = { "agent", "ask", "read-only" },
          doc = "What happens to what no rule decides on. `agent`: you are asked what the agent asks."
            .. " `ask`: you are also asked about files and commands that it uses through Neovim without"
            .. " asking. `read-only`: what changes files and runs commands is denied, and calls of"
            .. " which it is not known what they do are asked about.",
        },
        {
          name = "default",
          type = "map",
          items = { type = "string", choices = { "allow", "ask", "deny" } },
          doc = 'The same for single kinds of tool calls, as in `{ fetch = "ask", execute = "deny" }`. It'
            .. " comes before `mode`.",
        },
        {
          name = "provider",
          type = "function",
          doc = "Called with each request and a function to answer it with, before you are asked. See"
            .. " |rat-provider|.",
        },
      },
    },
    {
      name = "files",
      type = "table",
      doc = "Files that functions of yours read or write for agents.",
      fields = {
        {
          name = "read_provider",
          type = "function",
          doc = "Called before a file is read for an agent, with a request and a function to answer it"
            .. " with. See |rat-file-provider|.",
        },
        {
          name = "write_provider",
          type = "function",
          doc = "Called before a file is written for an agent, in the same way.",
        },
      },
    },
    {
      name = "complete",
      type = "string",
      choices = { "typed", "key" },
      doc = "When the prompt completes `/commands` and `@files`. `typed`: as you type, unless"
        .. " a completion plugin offers the same (|rat-plugins|). `key`: only on <C-x><C-u>.",
    },
    {
      name = "keys",
      type = "map",
      items = { type = "key" },
      default = {},
      doc = "Keys of our buffers (|rat-keys|) by the names they have there, with what you want in their place or"
        .. ' false for none, as in `{ ga = "<leader>y", ["g-"] = false }`. It does not change the keys of choosers'
        .. " and single-line inputs.",
    },
    {
      name = "start_insert",
      type = "boolean",
      default = false,
      doc = "Whether a command that takes you to the prompt, such as `:RatStart`, also starts Insert mode."
        .. " Nothing else changes the mode: a prompt is sent, and a window entered, in the mode you are in.",
    },
    {
      name = "icons",
      type = "icons",
      default = "unicode",
      doc = 'The signs before lines. `"ascii"` for fonts and terminals that lack them: nothing of the plugin\'s is then'
        .. " drawn in other characters. Or a table with some of"
        .. " `pending`, `running`, `done`, `failed`, `cancelled`, `bar`, `branch`, `corner`, `speaker`, `thought`,"
        .. " `queued`, `fold`, each a character of one cell.",
    },
    {
      name = "text_mode",
      type = "boolean",
      default = false,
      doc = "Whether who speaks and the state of each step are text in the buffers of a chat, in words, as screen"
        .. " readers need it. See |rat-text-mode|.",
    },
    {
      name = "notify",
      type = "table",
      doc = "Notifications about requests that are waiting and turns that have ended.",
      fields = {
        {
          name = "when",
          type = "string",
          choices = { "unseen", "never" },
          doc = "When to call |vim.notify()|. `unseen`: if the current tab page does not show the"
            .. " chat.",
        },
        {
          name = "terminal",
          type = "string",
          choices = { "none", "bell", "osc9" },
          doc = "What to send to your terminal as well, also if it has lost the focus"
            .. " (|FocusLost|): nothing, a bell, or a desktop notification (OSC 9).",
        },
      },
    },
    {
      name = "diff",
      type = "string",
      choices = { "inline", "tab" },
      doc = "Where to show the changes of a permission request. `inline`: in its card. `tab`: in a tab"
        .. " page in native diff mode, as soon as it arrives.",
    },
    {
      name = "layout",
      type = "table",
      doc = "Where the chat opens.",
      fields = {
        {
          name = "position",
          type = "string",
          choices = { "right", "left", "bottom", "top", "tab" },
          doc = "The side of the screen, or a tab page of its own.",
        },
        {
          name = "size",
          type = "number",
          range = { 0.05 },
          default = 0.42,
          doc = "The width of the chat, or its height at the top or bottom: below 1 a share of the"
            .. " screen, else columns or lines.",
        },
      },
    },
    {
      name = "binary",
      type = "string",
      doc = "The path of `rat-nvim`. Unset: the one built in the plugin's folder, else the one on PATH.",
    },
    {
      name = "log_level",
      type = "string",
      choices = { "info", "error", "warn", "debug", "trace" },
      doc = "The least severe messages to write to the log (|:RatLog|).",
    },
  },
}
