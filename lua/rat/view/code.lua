--- Highlights code blocks of view buffers with treesitter, outside of redraws: a drawn line shows what is known, what
--- is not known is found out a little at a time. It never changes text.

local api, uv = vim.api, vim.uv

local M = {}

local EPHEMERAL = api.nvim_create_namespace("rat.code")

--- Longer blocks are highlighted up to here.
local MAX_LINES = 300
--- Rows whose captures are gathered in one go.
local BATCH = 8
--- Between two readings of a block that still grows, ms.
local AGAIN = 60
--- How long drawing has to be quiet before a query is compiled, which takes up to 20 ms once per language, ms.
local QUIET = 100

---@class rat.Block
---@field language string treesitter's name of it
---@field rows table<integer, any[][]> {start, end or -1 for the line's, group} by index; kept until known anew
---@field fresh table<integer, string> rows that are known, with the line they were known of
---@field wanted table<integer, true> rows that were drawn without being fresh
---@field text string what was parsed
---@field last integer index of its last line, which may have been a piece of one
---@field tree TSTree?
---@field parsed integer time of the last parse, ms

---@type table<integer, table<string, rat.Block>>
local blocks = {}

---@type table<string, vim.treesitter.Query|false> compiled and held
local queries = {}

---@type {buf: integer, block: string, row: integer}[] blocks with rows to find out
local queue = {}
local timer ---@type uv.uv_timer_t?
local last_draw = 0

--- What people write after the fence, where it is not treesitter's name.
local ALIASES = {
  ["c++"] = "cpp",
  cs = "c_sharp",
  csharp = "c_sharp",
  js = "javascript",
  jsx = "javascript",
  md = "markdown",
  py = "python",
  rb = "ruby",
  rs = "rust",
  sh = "bash",
  shell = "bash",
  ts = "typescript",
  viml = "vim",
  vimscript = "vim",
  yml = "yaml",
  zsh = "bash",
}

---@param name string
---@return string? language one there is a parser for
local function resolve(name)
  name = name:lower()
  local language = ALIASES[name] or vim.treesitter.language.get_lang(name) or name
  local ok, added = pcall(vim.treesitter.language.add, language)
  -- 0.10 answers nothing where it has a parser, later ones true.
  if ok and added ~= false and added ~= nil then
    return language
  elseif ok and vim.fn.has("nvim-0.11") == 0 then
    return language
  end
end

---@type table<string, string|false>
local resolved = {}

---@param name string
---@return string?
local function language_of(name)
  if resolved[name] == nil then
    resolved[name] = resolve(name) or false
  end
  return resolved[name] or nil
end

---@param language string
local function compile(language)
  local ok, query = pcall(vim.treesitter.query.get, language, "highlights")
  queries[language] = ok and query or false
end

local groups = {}

---@param capture string
---@param language string
---@return string
local function group_of(capture, language)
  local key = capture .. "." .. language
  local group = groups[key]
  if not group then
    group = "@" .. key
    groups[key] = group
  end
  return group
end

--- The text of a block, from the lines that belong to it now.
---@param buf integer
---@param first integer its first row
---@param id string
---@return string
local function text_of(buf, first, id)
  local look = require("rat.look")
  local last = math.min(first + MAX_LINES, api.nvim_buf_line_count(buf))
  local stop = first
  while stop < last do
    local code = look.code(buf, stop)
    if not code or code.block ~= id then
      break
    end
    stop = stop + 1
  end
  return table.concat(api.nvim_buf_get_lines(buf, first, stop, false), "\n")
end

--- Parses the block anew if it changed.
---@param block rat.Block
---@param buf integer
---@param first integer
---@param id string
local function parse(block, buf, first, id)
  local text = text_of(buf, first, id)
  block.parsed = uv.now()
  if text == block.text then
    return
  end
  local ok, parser = pcall(vim.treesitter.get_string_parser, text, block.language)
  local trees = ok and parser:parse() or {}
  -- What is above the lines that came since stays as it is: doing all again each time would be quadratic.
  for index in pairs(block.fresh) do
    if index >= block.last then
      block.fresh[index] = nil
    end
  end
  local _, breaks = text:gsub("\n", "")
  block.text, block.tree, block.last = text, trees[1], breaks
end

--- Gathers the captures of some rows.
---@param block rat.Block
---@param from integer
---@param to integer row after the last
---@param lines string[] the lines of these rows
local function gather(block, from, to, lines)
  local query = queries[block.language]
  local rows = {}
  for index = from, to - 1 do
    rows[index] = {}
    block.fresh[index] = lines[index - from + 1] or ""
  end
  if block.tree and query then
    for id, node in query:iter_captures(block.tree:root(), block.text, from, to) do
      local name = query.captures[id]
      if name:sub(1, 1) ~= "_" and name ~= "spell" and name ~= "nospell" then
        local r1, c1, r2, c2 = node:range()
        for row = math.max(r1, from), math.min(r2, to - 1) do
          local start, stop = row == r1 and c1 or 0, row == r2 and c2 or -1
          local list = rows[row]
          list[#list + 1] = { start, stop, group_of(name, block.language) }
        end
      end
    end
  end
  for index, found in pairs(rows) do
    block.rows[index] = found
  end
end

local step

---@param wait integer ms
local function arm(wait)
  timer = timer or assert(uv.new_timer())
  if not timer:is_active() then
    timer:start(wait, 0, vim.schedule_wrap(step))
  end
end

--- Finds out a few rows of one block, then lets the editor go on.
function step()
  local job = queue[1]
  if not job then
    return
  end
  local block = blocks[job.buf] and blocks[job.buf][job.id]
  if not block or not api.nvim_buf_is_loaded(job.buf) or not next(block.wanted) then
    table.remove(queue, 1)
    return arm(0)
  end
  if queries[block.language] == nil then
    if uv.now() - last_draw < QUIET then
      return arm(QUIET)
    end
    compile(block.language)
    return arm(0)
  end
  -- Rows move while text above them comes and goes; the looks know where the block is.
  local row = job.row
  local code = require("rat.look").code(job.buf, row)
  if not code or code.block ~= job.id then
    block.wanted = {}
    table.remove(queue, 1)
    return arm(0)
  end
  local first = row - code.index
  if not block.tree or uv.now() - block.parsed >= AGAIN then
    parse(block, job.buf, first, job.id)
  end
  local index = next(block.wanted)
  local from = math.floor(index / BATCH) * BATCH
  local rows = api.nvim_buf_get_lines(job.buf, first + from, first + from + BATCH, false)
  gather(block, from, from + BATCH, rows)
  for i = from, from + BATCH - 1 do
    block.wanted[i] = nil
  end
  require("rat.look").redraw(job.buf, first + from, first + from + BATCH)
  arm(1)
end

--- Marks a drawn line of code, and has found out what is missing. Called within a redraw.
---@param buf integer
---@param row integer
---@param code {block: string, index: integer, language: string}
function M.draw(buf, row, code)
  last_draw = uv.now()
  if code.language == "" or code.index >= MAX_LINES then
    return
  end
  local of_buffer = blocks[buf]
  if not of_buffer then
    of_buffer = {}
    blocks[buf] = of_buffer
  end
  local block = of_buffer[code.block]
  if not block then
    local language = language_of(code.language)
    if not language or queries[language] == false then
      return
    end
    block =
      { language = language, rows = {}, fresh = {}, wanted = {}, text = "", last = 0, parsed = 0 }
    of_buffer[code.block] = block
  end
  for _, mark in ipairs(block.rows[code.index] or {}) do
    local to_end = mark[2] == -1
    api.nvim_buf_set_extmark(buf, EPHEMERAL, row, mark[1], {
      ephemeral = true,
      end_row = to_end and row + 1 or row,
      end_col = to_end and 0 or mark[2],
      hl_group = mark[3],
      strict = false,
      priority = 110,
    })
  end
  -- The last line known may have grown since.
  local known = block.fresh[code.index] and code.index < block.last
    or block.fresh[code.index] == api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
  if not known and not block.wanted[code.index] then
    if next(block.wanted) == nil then
      queue[#queue + 1] = { buf = buf, id = code.block, row = row }
    end
    block.wanted[code.index] = true
    arm(#queue > 1 and 1 or AGAIN)
  end
end

--- Languages Neovim brings parsers for (`:help treesitter-parsers`).
local BUNDLED = { "lua", "c", "vim", "markdown", "markdown_inline", "query", "vimdoc" }
local warmed = false

--- Compiles the queries that are likely to be needed, one at a time while nothing else is to be done: the first use of
--- one would hold the editor up.
function M.warm()
  if warmed then
    return
  end
  warmed = true
  local names = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].filetype ~= "" then
      names[#names + 1] = vim.bo[buf].filetype
    end
  end
  vim.list_extend(names, BUNDLED)
  local idle = assert(uv.new_timer())
  idle:start(
    20,
    20,
    vim.schedule_wrap(function()
      if idle:is_closing() or uv.now() - last_draw < QUIET then
        return
      end
      local name = table.remove(names, 1)
      if not name then
        idle:close()
        return
      end
      local language = language_of(name)
      if language and queries[language] == nil then
        compile(language)
      end
    end)
  )
end

---@param buf integer
function M.forget(buf)
  blocks[buf] = nil
end

return M
