--- Formats the rows of `:RatChats` for a width: narrow windows get fewer and shorter columns. It reads no chats and draws
--- nothing.
local punctuation = require("rat.util.punctuation")
local text_of = require("rat.util.text")

local M = {}

local cells, one_line, shorten = vim.api.nvim_strwidth, text_of.one_line, text_of.shorten

---@class rat.ChatRow
---@field standing rat.ChatStanding
---@field agent string display name
---@field title string of the session; may be empty
---@field age string
---@field folder string
---@field added integer pending lines
---@field removed integer

---@alias rat.ChatColumn "standing"|"title"|"changes"|"age"|"agent"|"folder"

--- The sign of each standing, one cell wide.
---@type table<rat.ChatStanding, string>
local SIGNS = {
  waiting = "?",
  failed = "!",
  done = "*",
  running = ">",
  cancelling = ">",
  starting = "~",
  ready = "-",
  stopped = " ",
}

---@type table<rat.ChatStanding, string>
local WORDS = { waiting = "needs you" }

---@type rat.ChatColumn[]
local COLUMNS = { "standing", "title", "changes", "age", "agent", "folder" }

--- Which columns give way first where there is no room, and how far they can be shortened before.
---@type {column: rat.ChatColumn, least: integer?}[]
local GIVES_WAY = {
  { column = "folder", least = 8 },
  { column = "agent", least = 6 },
  { column = "age" },
  { column = "changes" },
}

local GAP = 2

--- Widths beyond which columns are shortened, in cells.
---@type table<rat.ChatColumn, integer>
local MOST = { agent = 16, folder = 40 }

--- What other columns leave for the title, in cells.
local LEAST_TITLE = 24

---@type table<rat.ChatColumn, string>
local GROUPS = { age = "RatHint", agent = "RatHint", folder = "RatAttachment" }

--- Shortens a path at its start, since its end tells folders apart.
---@param path string
---@param width integer cells
---@return string
local function shorten_path(path, width)
  if cells(path) <= width then
    return path
  end
  local rest = path
  while rest ~= "" and cells(rest) > width - 1 do
    rest = vim.fn.strcharpart(rest, 1)
  end
  return punctuation.own("…") .. rest
end

---@param row rat.ChatRow
---@return table<rat.ChatColumn, string>
local function texts_of(row)
  local changes = row.added + row.removed > 0 and ("+%d -%d"):format(row.added, row.removed) or ""
  local title = vim.trim(one_line(row.title))
  return {
    standing = SIGNS[row.standing] .. " " .. (WORDS[row.standing] or row.standing),
    title = title ~= "" and title or "(no prompt yet)",
    changes = changes,
    age = row.age,
    agent = one_line(row.agent),
    folder = one_line(row.folder),
  }
end

--- Decides how wide each column is. Columns without room, and those that are empty in all rows, are missing.
---@param texts table<rat.ChatColumn, string>[]
---@param width integer cells
---@return table<rat.ChatColumn, integer>
local function share(texts, width)
  local widths, sum = {}, -GAP
  for _, column in ipairs(COLUMNS) do
    local widest = 0
    for _, text in ipairs(texts) do
      widest = math.max(widest, cells(text[column]))
    end
    if widest > 0 then
      widths[column] = math.min(widest, MOST[column] or widest)
      sum = sum + GAP + widths[column]
    end
  end
  -- How much narrower the title can become, and then the others.
  local spare = math.max(0, widths.title - LEAST_TITLE)
  local excess = sum - width
  for _, one in ipairs(GIVES_WAY) do
    local has = widths[one.column]
    if has and excess > spare then
      local wanted = has - (excess - spare)
      local kept = one.least and wanted >= one.least and wanted or nil
      widths[one.column] = kept
      excess = excess - (kept and has - kept or has + GAP)
    end
  end
  widths.title = math.max(1, widths.title - math.max(0, excess))
  return widths
end

---@param column rat.ChatColumn
---@param row rat.ChatRow
---@param text string of this column
---@param first integer byte column
---@return rat.Span[]
local function spans_of(column, row, text, first)
  if column == "standing" then
    local state = row.standing == "done" and "ready" or row.standing
    local group = "RatState" .. state:sub(1, 1):upper() .. state:sub(2)
    return { { first = first, last = first + #text, group = group } }
  elseif column == "changes" then
    local minus = text:find(" -", 1, true)
    return minus
        and {
          { first = first, last = first + minus - 1, group = "RatPendingAdd" },
          { first = first + minus, last = first + #text, group = "RatPendingDelete" },
        }
      or {}
  end
  return text ~= ""
      and GROUPS[column]
      and { { first = first, last = first + #text, group = GROUPS[column] } }
    or {}
end

--- Formats rows.
---@param rows rat.ChatRow[]
---@param width integer cells
---@return string[] lines
---@return rat.Span[][] spans of each line
function M.format(rows, width)
  local texts = vim.tbl_map(texts_of, rows)
  if #rows == 0 then
    return {}, {}
  end
  local widths, lines, spans = share(texts, width), {}, {}
  for at, row in ipairs(rows) do
    local line, found = "", {}
    for _, column in ipairs(COLUMNS) do
      if widths[column] then
        local cut = column == "folder" and shorten_path or shorten
        local text = cut(texts[at][column], widths[column])
        vim.list_extend(found, spans_of(column, row, text, #line))
        line = line .. text .. (" "):rep(widths[column] - cells(text) + GAP)
      end
    end
    lines[at], spans[at] = line:gsub("%s+$", ""), found
  end
  return lines, spans
end

return M
