--- Opens what the text under the cursor refers to: a file that an agent cites, a link or a URL.
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local text_of = require("rat.util.text")

local M = {}

--- How many bytes on each side of the cursor are searched for a link, since a line may have any length.
local MAX_DISTANCE = 1000

--- Returns the text around the cursor, and the cursor's column in it.
---@return string text
---@return integer column from 1
local function around_cursor()
  local column = vim.api.nvim_win_get_cursor(0)[2] + 1
  local start = math.max(1, column - MAX_DISTANCE)
  return vim.api.nvim_get_current_line():sub(start, column + MAX_DISTANCE), column - start + 1
end

--- Returns the target of the Markdown link at a column as it is written, such as `src/main.rs#L7 "title"`.
---@param text string
---@param column integer
---@return string?
local function link_target(text, column)
  for first, inside, after in text:gmatch("()%[[^%[%]]*%](%b())()") do
    if first <= column and column < after then
      return inside:sub(2, -2)
    end
  end
end

--- Returns the code in backticks at a column, which may be a path with blanks.
---@param text string
---@param column integer
---@return string?
local function code_at(text, column)
  for first, inside, after in text:gmatch("()`([^`]+)`()") do
    if first <= column and column < after then
      return inside
    end
  end
end

--- Returns the longest run of certain characters around a column.
---@param text string
---@param column integer
---@param characters string Lua pattern of one character
---@return string?
local function word_at(text, column, characters)
  for first, found, after in text:gmatch("()(" .. characters .. "+)()") do
    if first <= column and column < after then
      return found
    end
  end
end

--- Decodes a `file:` URI to a path; returns anything else as it is.
---@param cited string
---@return string
local function decode_file_uri(cited)
  local path = cited:match("^file://(/.*)$") or cited:match("^file://localhost(/.*)$")
  return path and vim.uri_decode(path) or cited
end

--- Lua patterns of the ways agents cite lines: `main.rs:7:2`, `main.rs:7-9`, `main.rs#L7`, `main.rs#L7-L9`.
local LINE_SUFFIXES = { ":(%d+).*$", "#L(%d+).*$" }

--- Returns the files that a citation may mean. The whole text comes first, since a file name may contain anything.
---@param cited string
---@return {path: string, line: integer?}[]
local function possible_places(cited)
  local found = {}
  for _, path in ipairs({ cited, decode_file_uri(cited) }) do
    found[#found + 1] = { path = path }
    for _, pattern in ipairs(LINE_SUFFIXES) do
      local line = path:match(pattern)
      if line then
        found[#found + 1] = { path = (path:gsub(pattern, "")), line = tonumber(line) }
      end
    end
    found[#found + 1] = { path = (path:gsub("[.:!?]+$", "")) }
    found[#found + 1] = { path = (path:gsub("#[^/#]*$", "")) }
  end
  return found
end

--- Returns the file under the cursor and its line: that of a link, or a path in the text.
---@param cwd string
---@return rat.Place?
local function file_under_cursor(cwd)
  local text, column = around_cursor()
  local linked = link_target(text, column)
  local bare = linked and vim.trim(linked:gsub('%s+"[^"]*"%s*$', "")):gsub("^<(.*)>$", "%1")
  local word = word_at(text, column, "[^%s\"'`()<>|,;]")
  for _, cited in ipairs({ bare or "", code_at(text, column) or "", word or "" }) do
    for _, place in ipairs(cited ~= "" and possible_places(cited) or {}) do
      if place.path ~= "" and location.resolve(place.path, cwd) then
        return { path = place.path, line = place.line, cwd = cwd }
      end
    end
  end
end

--- Opens the file under the cursor.
---@param cwd? string base of a relative path; by default Neovim's current folder
---@param quietly? boolean whether nothing is said if there is none
function M.open_file(cwd, quietly)
  local place = file_under_cursor(cwd or vim.fn.getcwd())
  if place then
    location.open(place)
  elseif not quietly then
    notify.info("No file under the cursor")
  end
end

--- Returns the URL under the cursor: that of a link, or one in the text.
---@return string?
local function address_under_cursor()
  local text, column = around_cursor()
  local linked = link_target(text, column)
  if linked then
    return linked:match("^%s*<?([^%s<>]+)")
  end
  local found = word_at(text, column, "%S")
  if found then
    local address = (found:gsub("^[^%w]+", ""):match("^[^<>\"'`|]*") --[[@as string]]):gsub(
      "[.,;:!?]+$",
      ""
    )
    return address:find("(", 1, true) and address or (address:gsub("%)+$", ""))
  end
end

--- Opens the URL under the cursor in the browser and tells the user which one, since the text of a link may name
--- another. A link to a file opens the file.
---@param cwd? string base of a relative path; by default Neovim's current folder
function M.open_address(cwd)
  local address = address_under_cursor() or ""
  local is_web = address:find("^https?://.") or address:find("^mailto:.")
  if is_web and text_of.one_line(address) == address then
    notify.info("Opening " .. address)
    return location.open_externally(address)
  end
  local text, column = around_cursor()
  local place = link_target(text, column) and file_under_cursor(cwd or vim.fn.getcwd())
  if place then
    return location.open(place)
  end
  notify.info("No link under the cursor")
end

--- Neovim's keys that open the file under the cursor, |gf|.
M.FILE_KEYS = { "gf", "gF", "<C-w>f", "<C-w><C-f>", "<C-w>F", "<C-w>gf", "<C-w>gF" }

--- Maps FILE_KEYS in a buffer that may contain an agent's text. Neovim's own commands would also open names such as
--- `term://..`.
---@param buf integer
function M.guard_keys(buf)
  for _, lhs in ipairs(M.FILE_KEYS) do
    vim.keymap.set({ "n", "x" }, lhs, function()
      M.open_file()
    end, { buffer = buf, desc = "rat: open the file under the cursor" })
  end
end

return M
