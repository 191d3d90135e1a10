--- Decorates the lines on the screen by their `line_format`, with ephemeral extmarks of a decoration provider,
--- |nvim_set_decoration_provider()|. It never changes text.
local punctuation = require("rat.util.punctuation")
local code = require("rat.view.code")
local icons = require("rat.view.icons")
local line_format = require("rat.view.line_format")
local margin = require("rat.view.margin")
local text_mode = require("rat.view.text_mode")

local api = vim.api

local M = {}

local EPHEMERAL = api.nvim_create_namespace("rat_decoration")

--- Highlight groups of the text, and the groups they link to.
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

--- What stands behind a line of a message that looks like one of ours.
local LOOKALIKE = " ‹ part of the message"

--- Highlight groups of spans by their letter.
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

--- Highlight groups of whole lines by class. If the second value is true, the highlight extends to the edge of the window.
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

--- Returns the highlight group of a span's letter.
---@param letter string
---@return string group
function M.group(letter)
  return LETTERS[letter] or "RatDim"
end

local ROLES = { user = "RatHeaderUser", agent = "RatHeaderAgent", thought = "RatThought" }

--- Draws a header that is in the text.
---@param buf integer
---@param row integer
---@param group string
local function draw_header(buf, row, group)
  api.nvim_buf_set_extmark(buf, EPHEMERAL, row, 0, {
    ephemeral = true,
    end_row = row + 1,
    end_col = 0,
    hl_group = group,
    strict = false,
  })
end

--- Draws the text of a header or a thematic break, whose line is empty.
---@param buf integer
---@param row integer
---@param found rat.LineFormat
---@param win integer
local function draw_overlay(buf, row, found, win)
  local text
  if found.class == "H" then
    local role, name = found.argument:match("^(.-)\t(.*)$")
    local group = ROLES[role] or "RatHeaderAgent"
    -- The overlay also covers the closed fold of a thought, whose text begins with the same sign.
    if text_mode.is_on() then
      return draw_header(buf, row, group)
    end
    local icon = icons.get(role == "thought" and "thought" or "speaker")
    text = { { icon .. " ", group }, { name or "", group } }
  else
    text = { { punctuation.own("─"):rep(api.nvim_win_get_width(win)), "RatRule" } }
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
---@param room_of fun(win: integer): integer|false columns for text, if wrapped rows have room for the card's frame
local function draw_line(win, buf, row, room_of)
  local found = line_format.at(buf, row)
  if not found then
    return
  end
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
    draw_overlay(buf, row, found, win)
  elseif found.class == "l" then
    api.nvim_buf_set_extmark(buf, EPHEMERAL, row, 0, {
      ephemeral = true,
      virt_text = { { punctuation.own(LOOKALIKE), "RatWarning" } },
      virt_text_pos = "eol",
    })
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
  local room = line_format.CARD:find(found.class, 1, true) and room_of(win)
  if room then
    margin.draw(buf, row, EPHEMERAL, room)
  end
  if found.class == "c" then
    code.draw(
      buf,
      row,
      line_format.code(buf, row) --[[@as {block: string, index: integer, language: string}]]
    )
  end
end

local function define_groups()
  for group, link in pairs(GROUPS) do
    api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

local is_provider_set = false

--- Starts decorating a buffer.
---@param buf integer
function M.attach(buf)
  line_format.attach(buf)
  if is_provider_set then
    return
  end
  is_provider_set = true
  define_groups()
  local group = api.nvim_create_augroup("rat_decoration", {})
  api.nvim_create_autocmd("ColorScheme", { group = group, callback = define_groups })
  api.nvim_create_autocmd("BufWipeout", {
    group = group,
    callback = function(event)
      line_format.forget(event.buf)
      code.forget(event.buf)
    end,
  })
  ---@type integer|false|nil columns of the window that is being drawn; `nil` until a card in it needs them
  local room
  ---@param win integer
  ---@return integer|false
  local function room_of(win)
    if room == nil then
      room = margin.room(win) or false
    end
    return room
  end
  api.nvim_set_decoration_provider(EPHEMERAL, {
    on_win = function(_, _, shown)
      room = nil
      return line_format.has(shown)
    end,
    on_line = function(_, win, shown, row)
      draw_line(win, shown, row, room_of)
    end,
  })
end

return M
