--- Highlights code blocks of view buffers with treesitter. A redraw only uses highlights that are already known; missing
--- ones are computed between redraws, a few rows at a time. It never changes text.

local language = require("rat.view.language")
local line_format = require("rat.view.line_format")

local api, uv = vim.api, vim.uv

local M = {}

local EPHEMERAL = api.nvim_create_namespace("rat.code")

--- Only this many lines of a block are highlighted.
local MAX_LINES = 300
--- Rows whose captures are computed at once.
local BATCH = 8
--- Least time between two parses of a block that still grows, in milliseconds.
local REPARSE_MS = 60
--- A query is compiled only after nothing has been drawn for this long, in milliseconds. It takes up to 20 ms, once per
--- language.
local QUIET_MS = 100

---@class rat.Block
---@field language string treesitter's name of it
---@field rows table<integer, any[][]> highlights by index of the line, as {start, end or -1, group}; used until they are replaced
---@field fresh table<integer, string> lines whose highlights are up to date, by index, with the text they were computed for
---@field wanted table<integer, true> indexes of lines that were drawn without fresh highlights
---@field text string the text that was parsed
---@field last integer index of the last line in it, which may have been incomplete
---@field tree TSTree?
---@field parsed integer time of the last parse, in milliseconds

--- Blocks by buffer and id.
---@type table<integer, table<string, rat.Block>>
local blocks = {}

--- Blocks with wanted lines, with a row that was drawn.
---@type {buf: integer, id: string, row: integer}[]
local queue = {}
local timer ---@type uv.uv_timer_t?
local last_draw = 0

--- Returns the current text of a block, up to MAX_LINES.
---@param buf integer
---@param first integer its first row
---@param id string
---@return string
local function text_of(buf, first, id)
  local last = math.min(first + MAX_LINES, api.nvim_buf_line_count(buf))
  local stop = first
  while stop < last do
    local code = line_format.code(buf, stop)
    if not code or code.block ~= id then
      break
    end
    stop = stop + 1
  end
  return table.concat(api.nvim_buf_get_lines(buf, first, stop, false), "\n")
end

--- Parses a block if its text has changed.
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
  -- Highlights above the new lines are not computed again, which would be quadratic while the block grows.
  for index in pairs(block.fresh) do
    if index >= block.last then
      block.fresh[index] = nil
    end
  end
  local _, breaks = text:gsub("\n", "")
  block.text, block.tree, block.last = text, trees[1], breaks
end

--- Computes the highlights of some lines.
---@param block rat.Block
---@param from integer index of the first line
---@param to integer end exclusive
---@param lines string[] their text
local function highlight(block, from, to, lines)
  for index = from, to - 1 do
    block.fresh[index] = lines[index - from + 1] or ""
  end
  local rows = {}
  if block.tree then
    rows = language.captures(block.language, block.tree, block.text, from, to)
  else
    for index = from, to - 1 do
      rows[index] = {}
    end
  end
  for index, found in pairs(rows) do
    block.rows[index] = found
  end
end

local step ---@type fun()

---@param wait integer milliseconds
local function schedule_step(wait)
  timer = timer or assert(uv.new_timer())
  if not timer:is_active() then
    timer:start(wait, 0, vim.schedule_wrap(step))
  end
end

--- Whether a window shows any of these rows.
---@param buf integer
---@param from integer from 0
---@param to integer end exclusive
---@return boolean
local function is_on_screen(buf, from, to)
  return vim.iter(vim.fn.win_findbuf(buf)):any(function(win)
    local info = vim.fn.getwininfo(win)[1]
    -- The last line may be shown in part.
    return info.topline <= to and from <= info.botline
  end)
end

--- Finds the next lines to highlight. In a flood most of the wanted ones have left the screen; they are forgotten, since
--- they will be wanted again when they come back.
---@return rat.Block? block
---@return integer buf
---@return string id of the block
---@return integer first row of the block
---@return integer from index of the first of the lines, of which there are BATCH
local function next_wanted()
  while queue[1] do
    local job = queue[1]
    local block = blocks[job.buf] and blocks[job.buf][job.id]
    -- Rows move when text above them changes; the line's format says where in the block it is.
    local code = block and api.nvim_buf_is_loaded(job.buf) and line_format.code(job.buf, job.row)
    local is_there = code and code.block == job.id
    while is_there and next(block.wanted) do
      local first = job.row - code.index --[[@as integer]]
      local from = math.floor(next(block.wanted) / BATCH) * BATCH
      if is_on_screen(job.buf, first + from, first + from + BATCH) then
        return block, job.buf, job.id, first, from
      end
      for index = from, from + BATCH - 1 do
        block.wanted[index] = nil
      end
    end
    if block then
      block.wanted = {}
    end
    table.remove(queue, 1)
  end
  return nil, 0, "", 0, 0
end

--- Computes highlights of a few lines, and schedules the next step.
function step()
  local block, buf, id, first, from = next_wanted()
  if not block then
    return
  end
  if language.queries[block.language] == nil then
    if uv.now() - last_draw < QUIET_MS then
      return schedule_step(QUIET_MS)
    end
    language.compile(block.language)
    return schedule_step(0)
  end
  if not block.tree or uv.now() - block.parsed >= REPARSE_MS then
    parse(block, buf, first, id)
  end
  local rows = api.nvim_buf_get_lines(buf, first + from, first + from + BATCH, false)
  highlight(block, from, from + BATCH, rows)
  for i = from, from + BATCH - 1 do
    block.wanted[i] = nil
  end
  line_format.redraw(buf, first + from, first + from + BATCH)
  schedule_step(1)
end

--- Highlights a line of code that is being drawn with what is known, and queues it if that is not up to date. Called
--- within a redraw.
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
    local name = language.find(code.language)
    if not name or language.queries[name] == false then
      return
    end
    block = { language = name, rows = {}, fresh = {}, wanted = {}, text = "", last = 0, parsed = 0 }
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
  -- Only the last line that was parsed may have grown since.
  local is_fresh = block.fresh[code.index] and code.index < block.last
    or block.fresh[code.index] == api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
  if not is_fresh and not block.wanted[code.index] then
    if next(block.wanted) == nil then
      queue[#queue + 1] = { buf = buf, id = code.block, row = row }
    end
    block.wanted[code.index] = true
    schedule_step(#queue > 1 and 1 or REPARSE_MS)
  end
end

--- Languages that Neovim has parsers for, |treesitter-parsers|.
local BUNDLED = { "lua", "c", "vim", "markdown", "markdown_inline", "query", "vimdoc" }
local warmed = false

--- Compiles the queries that are likely to be needed, one at a time while nothing is drawn. Compiling one on first use
--- would block the editor.
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
  local warm_timer = assert(uv.new_timer())
  warm_timer:start(
    20,
    20,
    vim.schedule_wrap(function()
      if warm_timer:is_closing() or uv.now() - last_draw < QUIET_MS then
        return
      end
      local name = table.remove(names, 1)
      if not name then
        warm_timer:close()
        return
      end
      local found = language.find(name)
      if found and language.queries[found] == nil then
        language.compile(found)
      end
    end)
  )
end

--- Drops the blocks of a buffer that was wiped out.
---@param buf integer
function M.forget(buf)
  blocks[buf] = nil
end

return M
