--- Computes position, size and rows of the window of `chooser`. It opens nothing and handles no keys.
local punctuation = require("rat.util.punctuation")
local text_of = require("rat.util.text")

local one_line = text_of.one_line

local M = {}

---@class rat.ChooserLayout
---@field lines string[]
---@field head integer how many of the lines are the question
---@field config vim.api.keyset.win_config

---@param count integer how many items there are
---@return string
local function numbers(count)
  return count > 1 and ("1-%d"):format(count) or "1"
end

--- Returns the footer, which lists the keys.
---@param count integer how many items there are
---@return string
function M.footer(count)
  return punctuation.own(" %s · <CR> choose · <Esc> close "):format(numbers(count))
end

--- Returns the footer that says what is needed before `<CR>`.
---@param count integer how many items there are
---@param by_number boolean whether moving does not select
---@return string
function M.hint(count, by_number)
  return by_number and " type the answer's number first "
    or (" select an answer first: j, k or %s "):format(numbers(count))
end

--- Returns a width that fits the text. If the user is in the chat, the window is at least as wide as the chat, so that no
--- partial rows show beside it.
---@param lines string[]
---@param title string
---@param chat integer? the window of the chat
---@return integer width in cells
local function width_for(lines, title, chat)
  local footer = M.footer(#lines)
  local width = math.max(vim.fn.strdisplaywidth(title), vim.fn.strdisplaywidth(footer))
  if chat then
    -- The title does not count here: a question that is too long is wrapped above the items.
    width = vim.api.nvim_win_get_width(chat) - 2
  end
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 1)
  end
  return math.max(1, math.min(width, vim.o.columns - 4))
end

---@param count integer lines
---@param width integer
---@param title string
---@param chat integer? the window of the chat
---@return vim.api.keyset.win_config
local function place(count, width, title, chat)
  local height = math.max(1, math.min(count, vim.o.lines - 6))
  local config = {
    relative = "editor",
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2),
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    width = width,
    height = height,
    title = title,
    zindex = 60,
  }
  if chat then
    -- At the bottom of the chat, so that the card of the request stays visible above it.
    config.anchor = "SW"
    config.row = vim.o.lines - vim.o.cmdheight
    local left = vim.api.nvim_win_get_position(chat)[2]
    config.col = math.max(0, math.min(left, vim.o.columns - width - 2))
  end
  return config
end

--- Returns the rows of a question above its items: none if it fits into the title, unless no item is selected at first and
--- the cursor has to start on it. A question longer than half the screen is cut in its middle: the end of a command is as
--- important as its beginning.
---@param question string
---@param width integer
---@param careful boolean
---@return string[]
local function head_rows(question, width, careful)
  if not careful and vim.fn.strdisplaywidth(one_line(question)) + 2 <= width then
    return {}
  end
  local rows = {}
  for _, line in ipairs(vim.split(question, "\n", { plain = true })) do
    vim.list_extend(rows, text_of.wrap(one_line(line), width - 2))
  end
  local limit = math.max(1, math.floor(vim.o.lines / 2))
  if #rows > limit then
    local last = math.max(1, math.floor(limit / 3))
    local first = math.max(0, limit - last - 1)
    local left_out =
      punctuation.own("… %d rows, see the chat for them"):format(#rows - first - last)
    local ending = vim.list_slice(rows, #rows - last + 1)
    rows = vim.list_extend(vim.list_slice(rows, 1, first), { left_out })
    vim.list_extend(rows, ending)
  end
  return vim.tbl_map(function(row)
    return " " .. row
  end, rows)
end

--- Computes the layout for the current size of the screen.
---@param question string
---@param rows string[] one for each item
---@param careful boolean see `rat.SelectOptions`
---@param chat integer? the window of the chat, if the user is in it
---@return rat.ChooserLayout
function M.lay_out(question, rows, careful, chat)
  chat = chat and vim.api.nvim_win_is_valid(chat) and chat or nil
  local title = " " .. one_line(question) .. " "
  local width = width_for(rows, title, chat)
  local head = head_rows(question, width, careful)
  local lines = vim.list_extend(vim.list_slice(head), rows)
  local config = place(#lines, width, #head == 0 and title or "", chat)
  return { lines = lines, head = #head, config = config }
end

--- Makes a window as high as its wrapped rows, within the screen.
---@param win integer
function M.fit_height(win)
  local height = math.min(vim.api.nvim_win_text_height(win, {}).all, math.max(1, vim.o.lines - 6))
  vim.api.nvim_win_set_height(win, height)
end

return M
