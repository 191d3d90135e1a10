--- Colours the code in a review by the languages of the files, under the colours of a diff. What is drawn is what is known
--- already; the rest is found between redraws, a few rows at a time. The parser sees added and unchanged lines as one text,
--- removed and unchanged ones as another.
local language = require("rat.view.language")
local line_format = require("rat.view.line_format")
local review_page = require("rat.review.page")

local api, uv = vim.api, vim.uv
local M = {}

local EPHEMERAL = api.nvim_create_namespace("rat_review_syntax")

--- Rows of a hunk that are parsed as one text. Longer hunks have several of them.
local BLOCK = 120
--- Rows whose colours are computed at once.
local BATCH = 12
--- A query is compiled only after nothing has been drawn for this long, in milliseconds.
local QUIET_MS = 100
--- Above the colours of a diff.
local PRIORITY = 110
--- Longer lines are left alone: the parser would take too long.
local MAX_COLUMNS = 1000

---@class rat.ReviewSide
---@field text string
---@field tree TSTree
---@field index table<integer, integer> rows of the text by those of the block, from 1

---@class rat.ReviewBlock
---@field rows table<integer, any[][]> what is known, by index of the row in the block
---@field wanted? boolean whether it is in the queue
---@field sides? (rat.ReviewSide|false)[] the new and the old text, if they can be parsed
---@field failed? boolean whether it cannot be parsed

--- The blocks of hunks. A hunk that is replaced takes its colours with it.
---@type table<rat.ReviewPart, table<integer, rat.ReviewBlock>>
local blocks = setmetatable({}, { __mode = "k" })

---@class rat.ReviewJob
---@field buf integer
---@field part rat.ReviewPart
---@field at integer number of the block
---@field name string of the language
---@field offset integer of a row in the block that was drawn

---@type rat.ReviewJob[]
local queue = {}
local timer ---@type uv.uv_timer_t?
local last_draw = 0

--- Languages by path; false where there is none.
---@type table<string, string|false>
local of_path = {}

---@param path string
---@return string?
local function language_of(path)
  if of_path[path] == nil then
    local ok, filetype = pcall(vim.filetype.match, { filename = path })
    of_path[path] = ok and filetype and language.find(filetype) or false
  end
  return of_path[path] or nil
end

--- Parses what one sign and the unchanged lines make.
---@param lines string[]
---@param sign string
---@param name string
---@return rat.ReviewSide?
local function parse(lines, sign, name)
  local texts, index = {}, {}
  for row, line in ipairs(lines) do
    local first = line:sub(1, 1)
    if first == sign or first == " " then
      texts[#texts + 1] = line:sub(2)
      index[row] = #texts - 1
    end
  end
  local text = table.concat(texts, "\n")
  local ok, parser = pcall(vim.treesitter.get_string_parser, text, name)
  local trees = ok and parser:parse() or {}
  return trees[1] and { text = text, tree = trees[1], index = index } or nil
end

---@param job rat.ReviewJob
---@return string[] lines of its block
local function lines_of(job)
  local first = job.part.row + 1 + job.at * BLOCK
  return api.nvim_buf_get_lines(job.buf, first, first + BLOCK, false)
end

--- Computes the colours of the rows around the one that was drawn.
---@param job rat.ReviewJob
---@param block rat.ReviewBlock
local function colour(job, block)
  local lines = lines_of(job)
  local from = math.floor(job.offset / BATCH) * BATCH + 1
  for row = from, math.min(from + BATCH - 1, #lines) do
    block.rows[row - 1] = {}
  end
  for number, sign in ipairs({ "+", "-" }) do
    local side = block.sides[number]
    local low, high
    for row = from, math.min(from + BATCH - 1, #lines) do
      local at = side and side.index[row]
      if at and (sign == "+" or lines[row]:sub(1, 1) == sign) then
        low, high = math.min(low or at, at), math.max(high or at, at)
      end
    end
    if side and low then
      local found = language.captures(job.name, side.tree, side.text, low, high + 1)
      for row = from, math.min(from + BATCH - 1, #lines) do
        local at = side.index[row]
        if at and found[at] and (sign == "+" or lines[row]:sub(1, 1) == sign) then
          block.rows[row - 1] = found[at]
        end
      end
    end
  end
  local first = job.part.row + 1 + job.at * BLOCK + from - 1
  line_format.redraw(job.buf, first, math.min(first + BATCH, api.nvim_buf_line_count(job.buf)))
end

local step ---@type fun()

---@param wait integer milliseconds
local function schedule_step(wait)
  timer = timer or assert(uv.new_timer())
  if not timer:is_active() then
    timer:start(wait, 0, vim.schedule_wrap(step))
  end
end

--- Does one thing for the block that was drawn last, and schedules the next step.
function step()
  local job = queue[#queue]
  if not job then
    return
  end
  local block = blocks[job.part] and blocks[job.part][job.at]
  if not block or block.failed or not api.nvim_buf_is_loaded(job.buf) then
    queue[#queue] = nil
  elseif language.queries[job.name] == nil then
    if uv.now() - last_draw < QUIET_MS then
      return schedule_step(QUIET_MS)
    end
    language.compile(job.name)
  elseif not block.sides then
    local lines = lines_of(job)
    for _, line in ipairs(lines) do
      block.failed = block.failed or #line > MAX_COLUMNS
    end
    if not block.failed then
      block.sides = { parse(lines, "+", job.name) or false, parse(lines, "-", job.name) or false }
    end
  else
    queue[#queue] = nil
    block.wanted = false
    colour(job, block)
  end
  schedule_step(1)
end

--- Colours a row that is being drawn with what is known, and has the rest found. Called within a redraw.
---@param buf integer
---@param page rat.ReviewPage
---@param row integer
function M.draw(buf, page, row)
  last_draw = uv.now()
  local part = page.parts[review_page.index(page, row)]
  local name = part and part.start and row > part.row and language_of(part.path)
  if not name or language.queries[name] == false then
    return
  end
  local offset = row - part.row - 1
  local at = math.floor(offset / BLOCK)
  blocks[part] = blocks[part] or {}
  local block = blocks[part][at] or { rows = {} }
  blocks[part][at] = block
  local known = block.rows[offset - at * BLOCK]
  if not known then
    if not block.wanted and not block.failed then
      block.wanted = true
      local offset_in_block = offset - at * BLOCK
      queue[#queue + 1] = { buf = buf, part = part, at = at, name = name, offset = offset_in_block }
      schedule_step(1)
    end
    return
  end
  for _, mark in ipairs(known) do
    local to_end = mark[2] == -1
    -- The sign is before the code.
    api.nvim_buf_set_extmark(buf, EPHEMERAL, row, mark[1] + 1, {
      ephemeral = true,
      end_row = to_end and row + 1 or row,
      end_col = to_end and 0 or mark[2] + 1,
      hl_group = mark[3],
      strict = false,
      priority = PRIORITY,
    })
  end
end

--- Forgets all colours, as the page is another one.
function M.forget()
  blocks = setmetatable({}, { __mode = "k" })
  queue = {}
end

return M
