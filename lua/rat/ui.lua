--- The only place that writes view buffers: applies what the binary drew. It decides nothing.

local api = vim.api
local look = require("rat.look")

local M = {}

--- Virtual text before cards: frames, icons, indents.
local PREFIX = api.nvim_create_namespace("rat.prefix")
--- Where folds are, for windows that show the buffer later.
local FOLD = api.nvim_create_namespace("rat.fold")
--- Neovim 0.10 moves a fold that begins above a row when `nvim_buf_set_text` makes several of that row.
local FOLDS_SLIP = vim.fn.has("nvim-0.11") == 0

---@type table<integer, true> buffers nothing has been drawn in yet
local fresh = {}

---@param win integer
---@param first integer row of the first line, from 0
---@param last integer row of the last line
---@param replace boolean whether an older fold begins there
local function fold(win, first, last, replace)
  api.nvim_win_call(win, function()
    if vim.wo[win].foldmethod ~= "manual" then
      return
    end
    local view = vim.fn.winsaveview()
    local open = replace and vim.fn.foldlevel(first + 1) > 0 and vim.fn.foldclosed(first + 1) == -1
    if replace and vim.fn.foldlevel(first + 1) > 0 then
      api.nvim_win_set_cursor(win, { first + 1, 0 })
      vim.cmd("silent! normal! zd")
    end
    vim.cmd(("silent! %d,%dfold"):format(first + 1, last + 1))
    if open then
      vim.cmd(("silent! %dfoldopen"):format(first + 1))
    end
    vim.fn.winrestview(view)
  end)
end

--- Gives a window the folds of its buffer. Folds belong to windows (`:help folding`), so each new one needs them.
---@param win integer
function M.fold_window(win)
  local buf = api.nvim_win_get_buf(win)
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, FOLD, 0, -1, { details = true })) do
    if
      api.nvim_win_call(win, function()
        return vim.fn.foldlevel(mark[2] + 1)
      end) == 0
    then
      fold(win, mark[2], mark[4].end_row or mark[2], false)
    end
  end
end

local ops = {}

--- Replaces rows.
function ops.l(buf, first, last, lines, looks, prefixes)
  if fresh[buf] then
    -- An empty buffer has one line.
    fresh[buf] = nil
    last = last + 1
  end
  look.splice(buf, first, last, looks)
  if last > first then
    api.nvim_buf_clear_namespace(buf, PREFIX, first, last)
  end
  api.nvim_buf_set_lines(buf, first, last, false, lines)
  for i = 1, #prefixes, 3 do
    local group = look.group(prefixes[i + 2])
    api.nvim_buf_set_extmark(buf, PREFIX, first + prefixes[i], 0, {
      virt_text = { { prefixes[i + 1], group } },
      virt_text_pos = "inline",
      invalidate = true,
      undo_restore = false,
    })
  end
end

--- Appends to a row.
function ops.t(buf, row, col, pieces, looks)
  look.splice(buf, row, row + 1, looks)
  if FOLDS_SLIP and #pieces > 1 then
    api.nvim_buf_set_text(buf, row, col, row, col, { pieces[1] })
    return api.nvim_buf_set_lines(buf, row + 1, row + 1, false, vim.list_slice(pieces, 2))
  end
  api.nvim_buf_set_text(buf, row, col, row, col, pieces)
end

--- Changes looks.
function ops.s(buf, row, looks)
  look.splice(buf, row, row + #looks, looks)
  look.redraw(buf, row, row + #looks)
end

--- Folds rows.
function ops.f(buf, first, last, wins)
  local marks = api.nvim_buf_get_extmarks(buf, FOLD, { first, 0 }, { first, -1 }, {})
  local replace = marks[1] ~= nil
  api.nvim_buf_set_extmark(buf, FOLD, first, 0, {
    id = replace and marks[1][1] or nil,
    end_row = last,
    end_right_gravity = true,
    invalidate = true,
    undo_restore = false,
  })
  for _, win in ipairs(wins) do
    fold(win, first, last, replace)
  end
end

--- Empties the buffer.
function ops.r(buf)
  api.nvim_buf_clear_namespace(buf, PREFIX, 0, -1)
  api.nvim_buf_clear_namespace(buf, FOLD, 0, -1)
  look.reset(buf)
  api.nvim_buf_set_lines(buf, 0, -1, false, {})
  fresh[buf] = true
end

--- Before 0.11, text that comes into a fold may push it down instead of growing it: the last one, which grows, is
--- put where its mark is.
---@param buf integer
---@param wins integer[]
local function mend_folds(buf, wins)
  if vim.fn.has("nvim-0.11") == 1 then
    return
  end
  local mark = api.nvim_buf_get_extmarks(buf, FOLD, -1, 0, { limit = 1, details = true })[1]
  if not mark then
    return
  end
  local first, last = mark[2], mark[4].end_row
  for _, win in ipairs(wins) do
    api.nvim_win_call(win, function()
      if vim.fn.foldlevel(first + 1) == 0 then
        local view = vim.fn.winsaveview()
        api.nvim_win_set_cursor(win, { last + 1, 0 })
        vim.cmd("silent! normal! zd")
        vim.fn.winrestview(view)
        fold(win, first, last, false)
      end
    end)
  end
end

--- Lets text be changed, or not, with each frame: nobody's autocommands for options run then.
---@param buf integer
---@param on 0|1
local function set_modifiable(buf, on)
  vim.cmd(("noautocmd call setbufvar(%d, '&modifiable', %d)"):format(buf, on))
end

--- Where readers of a view that is drawn anew were, by window; they are put back once there are as many rows again.
---@type table<integer, table<integer, table>> what |winsaveview()| gives, by buffer and window
local places = {}

---@param buf integer
---@param wins integer[]
---@param following integer[]
local function remember_places(buf, wins, following)
  places[buf] = {}
  for _, win in ipairs(wins) do
    if not vim.list_contains(following, win) then
      places[buf][win] = api.nvim_win_call(win, vim.fn.winsaveview)
    end
  end
end

---@param buf integer
local function restore_places(buf)
  for win, view in pairs(places[buf] or {}) do
    if not api.nvim_win_is_valid(win) or api.nvim_win_get_buf(win) ~= buf then
      places[buf][win] = nil
    elseif view.lnum <= api.nvim_buf_line_count(buf) then
      places[buf][win] = nil
      api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

---@param payload {chat: integer, view: rat.View, ops: any[][]}
local function draw(payload)
  local buf = require("rat.chat").shown_buffer(payload.chat, payload.view)
  if not buf then
    return -- It is drawn whole once it is made or loaded again.
  end
  local wins = vim.fn.win_findbuf(buf)
  local following = payload.view == "chat" and require("rat.reader").followers(buf, wins) or {}
  local first = payload.ops[1]
  if first and first[1] == "r" and not fresh[buf] then
    remember_places(buf, wins, following)
  end
  set_modifiable(buf, 1)
  local ok, problem = pcall(function()
    for _, op in ipairs(payload.ops) do
      if op[1] == "f" then
        ops.f(buf, op[2], op[3], wins)
      else
        ops[op[1]](buf, unpack(op, 2))
      end
    end
  end)
  set_modifiable(buf, 0)
  mend_folds(buf, wins)
  local last = api.nvim_buf_line_count(buf)
  for _, win in ipairs(following) do
    if not (places[buf] and places[buf][win]) then
      api.nvim_win_set_cursor(win, { last, 0 })
    end
  end
  restore_places(buf)
  if not ok then
    error(problem, 0)
  end
end

---@class rat.Applied
---@field busy? true nothing can be changed just now; the frame is kept
---@field lost? true there is no frame to try again
---@field problems? string[] what failed; the rest was carried out
---@field undrawn? {chat: integer, view: rat.View}[] what does not show what it should

--- A frame that could not be carried out yet.
---@type {[1]: string, [2]: table}[]?
local kept

--- Carries out one turn of the binary's loop, in order. Called over RPC, on the main loop. While text is locked
--- nothing of it is done: all of it is kept until it is asked for again, without a batch.
---@param batch? {[1]: string, [2]: table}[] kind and payload
---@return rat.Applied
function M.apply(batch)
  batch, kept = batch or kept, nil
  if not batch then
    return { lost = true }
  elseif require("rat.busy").is_text_locked() then
    kept = batch
    return { busy = true }
  end
  local problems, undrawn = {}, {}
  for _, item in ipairs(batch) do
    local kind, payload = item[1], item[2]
    local ok, problem
    if kind == "draw" then
      ok, problem = pcall(draw, payload)
      if not ok then
        undrawn[#undrawn + 1] = { chat = payload.chat, view = payload.view }
      end
    else
      ok, problem = pcall(require("rat.inbox").handle, kind, payload)
    end
    if not ok then
      problems[#problems + 1] = kind .. ": " .. tostring(problem)
    end
  end
  return { problems = problems, undrawn = undrawn }
end

--- Whether a frame could not be carried out yet.
---@return boolean
function M.is_waiting()
  return kept ~= nil
end

--- Makes a buffer ready to be drawn in.
---@param buf integer
function M.attach(buf)
  fresh[buf] = true
  look.attach(buf)
  require("rat.code").warm()
end

--- What pressing <CR> on a row means; see `rat.look`.
---@param buf integer
---@param row integer from 0
---@return rat.Action?
function M.action(buf, row)
  return look.action(buf, row)
end

--- The next line that says who speaks.
---@param buf integer
---@param row integer from 0
---@param direction 1|-1
---@return integer? row
function M.next_header(buf, row, direction)
  local last = api.nvim_buf_line_count(buf) - 1
  local at = row + direction
  while at >= 0 and at <= last do
    if look.class(buf, at) == "H" then
      return at
    end
    at = at + direction
  end
end

---@param count integer
---@return string
local function lines(count)
  return count == 1 and "1 line" or count .. " lines"
end

--- 'foldtext' of transcript windows.
---@return string
function M.foldtext()
  local buf, first, last = api.nvim_get_current_buf(), vim.v.foldstart, vim.v.foldend
  local role, name = look.header(buf, first - 1)
  if role == "thought" then
    local text = vim.trim(table.concat(api.nvim_buf_get_lines(buf, first, first + 1, false)))
    return ("◦ %s · %s  %s"):format(name, lines(last - first - 1), text)
  end
  return "  ▸ " .. lines(last - first + 1)
end

return M
