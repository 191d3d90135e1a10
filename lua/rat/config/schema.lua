--- The one description of every option. Data only: `config` checks with it, the help is made from it.

---@class rat.Option
---@field name? string key in its table
---@field type "string"|"boolean"|"number"|"integer"|"list"|"map"|"table"
---@field default? any `nil` leaves it unset
---@field choices? string[] the only values a string may have; the first is the default
---@field range? integer[] smallest and largest number
---@field items? rat.Option what a list holds, or the values of a map
---@field fields? rat.Option[] the keys of a table, in the order of the help
---@field doc? string what it does, in a sentence or two

---@type rat.Option
local text = { type = "string" }

---@type rat.Option[]
local mcp_server = {
  { name = "type", type = "string", doc = "`stdio`, `http` or `sse`; told from the other keys." },
  { name = "command", type = "string", doc = "Program of a server that speaks over stdio." },
  { name = "args", type = "list", items = text, doc = "Its arguments." },
  { name = "env", type = "map", items = text, doc = "What is added to its environment." },
  { name = "url", type = "string", doc = "Address of a server that speaks over HTTP." },
  { name = "headers", type = "map", items = text, doc = "Headers of each request to it." },
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
  { name = "args", type = "list", items = text, doc = "Its arguments." },
  { name = "env", type = "map", items = text, doc = "Laid over Neovim's environment." },
  {
    name = "cwd",
    type = "string",
    doc = "Folder the sessions work in. Unset: |getcwd()| of the current window.",
  },
  {
    name = "mcp_servers",
    type = "map",
    items = { type = "table", fields = mcp_server },
    doc = "MCP servers for this agent, beside those for all.",
  },
  {
    name = "options",
    type = "map",
    items = text,
    doc = "What new sessions are set to: an option's id, category or name (`mode`, `model`) and a"
      .. " choice's value or name, or `on` or `off`.",
  },
  { name = "auth_method", type = "string", doc = "Authentication method used without asking." },
  { name = "install_hint", type = "string", doc = "Shown where the program is not found." },
  {
    name = "timeouts",
    type = "table",
    doc = "How long to wait for the agent's answers, in milliseconds; 0 waits for ever.",
    fields = {
      timeout("initialize", 60000, "The first call."),
      timeout("authenticate", 0, "A login, often in a browser."),
      timeout("session", 120000, "Starting or loading a session."),
      timeout("request", 30000, "Everything else that is answered at once."),
      timeout("cancel", 10000, "From a cancel to the offer to end the agent."),
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
      doc = "Agents by name. A name of |rat-presets| changes that preset, any other adds an agent.",
    },
    {
      name = "default_agent",
      type = "string",
      doc = "The agent `:RatStart` starts when none is named.",
    },
    {
      name = "settings_file",
      type = "string",
      doc = "JSON file with `agent_servers` and `mcp_servers`, as other clients have it."
        .. ' Unset: `rat.json` in |stdpath()| "config". See |rat-json|.',
    },
    {
      name = "mcp_servers",
      type = "map",
      items = { type = "table", fields = mcp_server },
      default = {},
      doc = "MCP servers passed to every session.",
    },
    {
      name = "directories",
      type = "list",
      items = text,
      default = {},
      doc = "Folders beside the working folder that agents may read and write without asking.",
    },
    {
      name = "resume",
      type = "string",
      choices = { "last", "never" },
      doc = "What `:RatStart` begins with where no chat is open: the session you used last in this"
        .. " folder, if the agent can go on with it, or a new one.",
    },
    {
      name = "unsaved",
      type = "string",
      choices = { "note", "embed", "save", "ask", "ignore" },
      doc = "What becomes of unsaved changes when a prompt goes to an agent that reads files from"
        .. " the disk: the prompt carries a diff of them (at most 16 KiB), or the texts whole, or the"
        .. " buffers are saved first, or you are asked, or nothing. Unless it is `ignore`, a prompt"
        .. " also carries what others have changed in files the agent wrote.",
    },
    {
      name = "write_dirty",
      type = "string",
      choices = { "separate", "save", "ask" },
      doc = "How an agent writes to a file whose buffer has unsaved changes: yours stay unsaved"
        .. " beside the agent's, or the buffer is saved whole. Where the agent edits text you have"
        .. " not saved they cannot be kept apart: `separate` saves the buffer then and says so,"
        .. " `ask` asks.",
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
          doc = "When the chooser, or a form (|rat-forms|), opens by itself: while you are in a"
            .. " window of the chat and type nothing, whenever Normal mode is idle, or never.",
        },
      },
    },
    {
      name = "complete",
      type = "string",
      choices = { "typed", "key" },
      doc = "When `/commands` and `@files` are offered in the prompt: as they are typed, or only"
        .. " by <C-x><C-u>.",
    },
    {
      name = "notify",
      type = "table",
      doc = "Being told of requests that wait and turns that end.",
      fields = {
        {
          name = "when",
          type = "string",
          choices = { "unseen", "never" },
          doc = "Where the current tab page does not show the chat: by |vim.notify()|; or never.",
        },
        {
          name = "terminal",
          type = "string",
          choices = { "none", "bell", "osc9" },
          doc = "What your terminal gets besides, also where it has lost the focus"
            .. " (|FocusLost|): nothing, a bell, or a desktop notification by OSC 9.",
        },
      },
    },
    {
      name = "diff",
      type = "string",
      choices = { "inline", "tab" },
      doc = "Where the changes of a permission request show: in its card, or at once in a tab"
        .. " page in native diff mode.",
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
          range = { 0 },
          default = 0.42,
          doc = "Width, at the top or bottom the height: below 1 a share of the screen, else"
            .. " columns or lines.",
        },
      },
    },
    {
      name = "binary",
      type = "string",
      doc = "Path of `rat-nvim`. Unset: what the build made, else the one on PATH.",
    },
    {
      name = "log_level",
      type = "string",
      choices = { "info", "error", "warn", "debug", "trace" },
      doc = "What goes into the log.",
    },
  },
}
