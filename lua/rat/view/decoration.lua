--- How view buffers look: keeps one short string a line (made by `src/view/line.rs`) and marks only the lines that
--- are drawn, from a decoration provider (`:help nvim_set_decoration_provider()`). It never changes text.

local api = vim.api

local M = {}

local EPHEMERAL = api.nvim_create_namespace("rat.look")

---@class rat.Action
---@field kind "location"|"output"|"permission"|"terminal"|"content"|"form"
---@field path? string
---@field line? integer
---@field tool_call? string
---@field content? string
---@field id? integer

---@class rat.Look
---@field class string
---@field spans integer[][] {start, end, letter}
---@field action string
---@field argument string

--- Highlight groups and what they link to, by the letter of `Look` or the name of the class.
local GROUPS = {
  RatStrong = "@markup.strong",
  RatEmphasis = "@markup.italic",
  RatStrike = "@markup.strikethrough",
  RatCode = "@markup.raw",
  RatLink = "@markup.link.label",
  RatUrl = "@markup.link.url",
  RatMarker = "@markup.list",
  RatUnchecked = "@markup.list.unchecked",
  RatChecked = "@markup.list.checked",
  RatHtml = "@tag",
  RatLocation = "Directory",
  RatActive = "DiagnosticInfo",
  RatGood = "DiagnosticOk",
  RatBad = "DiagnosticError",
  RatDim = "NonText",
  RatKey = "Special",
  RatHeading1 = "@markup.heading.1",
  RatHeading2 = "@markup.heading.2",
  RatHeading3 = "@markup.heading.3",
  RatHeading4 = "@markup.heading.4",
  RatHeading5 = "@markup.heading.5",
  RatHeading6 = "@markup.heading.6",
  RatFence = "NonText",
  RatCodeBlock = "@markup.raw.block",
  RatQuote = "@markup.quote",
  RatTable = "Normal",
  RatTableHead = "@markup.heading",
  RatRule = "NonText",
  RatHeaderUser = "Title",
  RatHeaderAgent = "Special",
  RatThought = "Comment",
  RatTitle = "Normal",
  RatBody = "Normal",
  RatAdded = "DiffAdd",
  RatDeleted = "DiffDelete",
  RatDiffHead = "Directory",
  RatNote = "Comment",
  RatWarning = "DiagnosticWarn",
  RatError = "DiagnosticError",
  RatChoice = "Normal",
}

local LETTERS = {
  B = "RatStrong",
  I = "RatEmphasis",
  S = "RatStrike",
  C = "RatCode",
  L = "RatLink",
  U = "RatUrl",
  M = "RatMarker",
  T = "RatUnchecked",
  K = "RatChecked",
  H = "RatHtml",
  P = "RatLocation",
  A = "RatActive",
  G = "RatGood",
  E = "RatBad",
  N = "RatDim",
  Y = "RatKey",
}

--- Groups of whole lines; the second value says that the colour goes to the edge of the window.
local CLASSES = {
  ["1"] = { "RatHeading1" },
  ["2"] = { "RatHeading2" },
  ["3"] = { "RatHeading3" },
  ["4"] = { "RatHeading4" },
  ["5"] = { "RatHeading5" },
  ["6"] = { "RatHeading6" },
  f = { "RatFence" },
  c = { "RatCodeBlock" },
  q = { "RatQuote" },
  t = { "RatTable" },
  T = { "RatTableHead" },
  h = { "RatHtml" },
  w = { "RatThought" },
  x = { "RatTitle" },
  y = { "RatBody" },
  a = { "RatAdded", true },
  d = { "RatDeleted", true },
  D = { "RatDiffHead" },
  n = { "RatNote" },
  W = { "RatWarning" },
  E = { "RatError" },
  o = { "RatChoice" },
}

---@type table<integer, string[]> looks by buffer, row 0 at index 1
local looks = {}

---@type table<string, rat.Look> what the strings mean; many lines share one
local read, read_count = {}, 0

---@param text string
---@return rat.Look
local function parse(text)
  local found = read[text]
  if found then
    return found
  end
  local class, spans, action, argument = text:match("^(.)|([^|]*)|([^|]*)|(.*)$")
  found = { class = class or "p", spans = {}, action = action or "", argument = argument or "" }
  for first, last, letter in (spans or ""):gmatch("(%d+),(%d+)(%a)") do
    found.spans[#found.spans + 1] = { tonumber(first), tonumber(last), letter }
  end
  if read_count > 4000 then
    read, read_count = {}, 0
  end
  read[text], read_count = found, read_count + 1
  return found
end

---@param buf integer
---@param row integer
---@return rat.Look?
local function look_of(buf, row)
  local text = looks[buf] and looks[buf][row + 1]
  if text and text ~= "" then
    return parse(text)
  end
end

--- Replaces the looks of the rows from `first` up to but without `last`.
---@param buf integer
---@param first integer
---@param last integer
---@param new string[]
function M.splice(buf, first, last, new)
  local rows = looks[buf]
  if not rows then
    rows = {}
    looks[buf] = rows
  end
  local count, gone, come = #rows, last - first, #new
  if gone ~= come and last < count then
    table.move(rows, last + 1, count, first + come + 1)
    for i = count, count + come - gone + 1, -1 do
      rows[i] = nil
    end
  end
  for i = 1, come do
    rows[first + i] = new[i]
  end
end

--- Forgets a buffer's looks.
---@param buf integer
function M.reset(buf)
  looks[buf] = {}
end

--- Has rows drawn again whose text did not change.
---@param buf integer
---@param first integer
---@param last integer
function M.redraw(buf, first, last)
  api.nvim__redraw({ buf = buf, range = { first, last }, valid = true })
end

---@param letter string
---@return string group
function M.group(letter)
  return LETTERS[letter] or "RatDim"
end

---@param buf integer
---@param row integer
---@return string class
function M.class(buf, row)
  local found = look_of(buf, row)
  return found and found.class or "p"
end

--- Who speaks from this row on.
---@param buf integer
---@param row integer
---@return string? role
---@return string? name
function M.header(buf, row)
  local found = look_of(buf, row)
  if found and found.class == "H" then
    return found.argument:match("^(.-)\t(.*)$")
  end
end

--- What pressing <CR> on a row means.
---@param buf integer
---@param row integer
---@return rat.Action?
function M.action(buf, row)
  local found = look_of(buf, row)
  if not found or found.action == "" then
    return nil
  end
  local kind, rest = found.action:sub(1, 1), found.action:sub(2):gsub("\1", "|")
  if kind == "L" then
    local line, path = rest:match("^(%d+):(.*)$")
    local number = tonumber(line)
    return { kind = "location", path = path, line = number ~= 0 and number or nil }
  elseif kind == "O" then
    return { kind = "output", tool_call = rest }
  elseif kind == "F" then
    return { kind = "form", id = tonumber(rest) }
  elseif kind == "T" then
    return { kind = "terminal", terminal = rest }
  elseif kind == "C" then
    return { kind = "content", content = rest }
  end
  return { kind = "permission", id = tonumber(rest) }
end

--- Classes of the lines of a card, its title first.
local CARD = "xyadDno"

--- The permission request of the card a row belongs to.
---@param buf integer
---@param row integer
---@return integer? id
function M.request(buf, row)
  for at = row, api.nvim_buf_line_count(buf) - 1 do
    local class = M.class(buf, at)
    if not CARD:find(class, 1, true) or (class == "x" and at > row) then
      return nil
    end
    local action = M.action(buf, at)
    if action and action.kind == "permission" then
      return action.id
    end
  end
end

--- The code block a row belongs to.
---@param buf integer
---@param row integer
---@return {block: string, index: integer, language: string}?
function M.code(buf, row)
  local found = look_of(buf, row)
  if found and found.class == "c" then
    local block, index, language = found.argument:match("^(%d+):(%d+):(.*)$")
    return { block = block, index = tonumber(index), language = language }
  end
end

local ROLES = { user = "RatHeaderUser", agent = "RatHeaderAgent", thought = "RatThought" }

---@param buf integer
---@param row integer
---@param found rat.Look
---@param win integer
local function virtual(buf, row, found, win)
  local text
  if found.class == "H" then
    local role, name = found.argument:match("^(.-)\t(.*)$")
    local group = ROLES[role] or "RatHeaderAgent"
    -- The overlay lies on the closed fold of a thought, too: its mark must fit both.
    text = { { role == "thought" and "◦ " or "▌ ", group }, { name or "", group } }
  else
    text = { { ("─"):rep(api.nvim_win_get_width(win)), "RatRule" } }
  end
  api.nvim_buf_set_extmark(buf, EPHEMERAL, row, 0, {
    ephemeral = true,
    virt_text = text,
    virt_text_pos = "overlay",
    hl_mode = "combine",
  })
end

---@param win integer
---@param buf integer
---@param row integer
local function draw_line(win, buf, row)
  local text = looks[buf][row + 1]
  if not text or text == "" then
    return
  end
  local found = parse(text)
  local class = CLASSES[found.class]
  if class then
    api.nvim_buf_set_extmark(buf, EPHEMERAL, row, 0, {
      ephemeral = true,
      end_row = row + 1,
      end_col = 0,
      hl_group = class[1],
      hl_eol = class[2],
      strict = false,
      priority = 90,
    })
  elseif found.class == "H" or found.class == "r" then
    virtual(buf, row, found, win)
  end
  for _, span in ipairs(found.spans) do
    local mark =
      { ephemeral = true, end_row = row, end_col = span[2], strict = false, priority = 100 }
    if span[3] == "X" then
      mark.conceal = ""
    else
      mark.hl_group = LETTERS[span[3]]
    end
    api.nvim_buf_set_extmark(buf, EPHEMERAL, row, span[1], mark)
  end
  if found.class == "c" then
    require("rat.code").draw(buf, row, M.code(buf, row))
  end
end

local function define_groups()
  for group, link in pairs(GROUPS) do
    api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

local ready = false

--- Begins to draw the looks of a buffer.
---@param buf integer
function M.attach(buf)
  looks[buf] = looks[buf] or {}
  if ready then
    return
  end
  ready = true
  define_groups()
  local group = api.nvim_create_augroup("rat.look", {})
  api.nvim_create_autocmd("ColorScheme", { group = group, callback = define_groups })
  api.nvim_create_autocmd("BufWipeout", {
    group = group,
    callback = function(event)
      looks[event.buf] = nil
      require("rat.code").forget(event.buf)
    end,
  })
  api.nvim_set_decoration_provider(EPHEMERAL, {
    on_win = function(_, _, shown)
      return looks[shown] ~= nil
    end,
    on_line = function(_, win, shown, row)
      draw_line(win, shown, row)
    end,
  })
end

return M
