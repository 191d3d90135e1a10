--- The window of a form or an address: where it stands, its keys, how a field is edited. What is entered and answered is
--- `form`'s.
local api = vim.api

local M = {}

---@class rat.Pane
---@field draw fun() shows the form as it is now
---@field take fun() takes what is being written in a field
---@field close fun() without an answer

--- Narrower or lower than this, a window over the others leaves too little of either.
local LEAST_COLUMNS, LEAST_LINES = 58, 16
local WIDEST = 72

local HELP = {
  form = { "<CR> edit", "ga send", "gr decline", "gh later", "q cancel" },
  url = { "ga open", "gr decline", "gh later", "q cancel" },
}

---@return boolean
local function is_narrow()
  return vim.o.columns < LEAST_COLUMNS or vim.o.lines < LEAST_LINES
end

---@return integer cells
local function width_now()
  return is_narrow() and vim.o.columns or math.min(WIDEST, vim.o.columns - 2)
end

---@param rows rat.Row[]
---@param width integer
---@return integer rows on the screen
local function height_of(rows, width)
  local height = 0
  for _, row in ipairs(rows) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(row.text) / width))
  end
  return height
end

--- Over the chat, in the lower right corner; in a narrow Neovim below everything.
---@param height integer
---@param title string
---@param footer? string
---@return vim.api.keyset.win_config
local function place(height, title, footer)
  if is_narrow() then
    return { split = "below", win = -1, height = math.min(height, math.floor(vim.o.lines / 2)) }
  end
  return {
    relative = "editor",
    anchor = "SE",
    row = vim.o.lines - vim.o.cmdheight,
    col = vim.o.columns,
    width = width_now(),
    height = math.max(1, math.min(height, vim.o.lines - 6)),
    title = title,
    footer = footer,
    zindex = 55,
  }
end

--- A split has no border that could name the keys.
---@param form rat.Form
---@param width integer
---@param takes_keys boolean
---@return rat.Row[]
local function rows_of(form, width, takes_keys)
  local keys = is_narrow() and takes_keys and HELP[form.mode] or nil
  return require("rat.fields").rows(form, width, keys)
end

---@param form rat.Form
---@param field rat.Field
---@param value? string|boolean|string[]
local function enter(form, field, value)
  require("rat.form").enter(form, field.key, value)
end

--- Yes, no, and where that is possible nothing.
---@param form rat.Form
---@param field rat.Field
local function toggle(form, field)
  local value = form.values[field.key]
  local may_be_none = not field.required and field.value == nil
  if value == false and may_be_none then
    enter(form, field, nil)
  else
    enter(form, field, not value)
  end
end

---@param form rat.Form
---@param field rat.Field
---@param item string
local function toggle_item(form, field, item)
  local before = form.values[field.key] or {}
  local after = vim.tbl_filter(function(value)
    return value ~= item
  end, before)
  if #after == #before then
    after[#after + 1] = item
  end
  enter(form, field, after)
end

---@param form rat.Form
---@param field rat.Field
---@param opened fun(choice: rat.Choice)
local function choose(form, field, opened)
  local items = vim.list_slice(field.choices)
  if not field.required then
    items[#items + 1] = { name = "nothing", none = true }
  end
  require("rat.select").open(items, {
    prompt = field.title,
    opened = opened,
    format_item = function(item)
      return item.description and ("%s · %s"):format(item.name, item.description) or item.name
    end,
  }, function(item)
    if item then
      enter(form, field, not item.none and item.value or nil)
    end
  end)
end

---@param pane rat.OpenPane
---@param row rat.Row?
local function edit(pane, row)
  local form = pane.form
  pane.edited = nil
  local field = row
    and vim.iter(form.fields or {}):find(function(field)
      return field.key == row.key
    end)
  if not (row and field) then
    return
  elseif field.kind == "several" then
    if row.item then
      toggle_item(form, field, row.item)
    end
  elseif field.kind == "boolean" then
    toggle(form, field)
  elseif field.kind == "choice" then
    choose(form, field, function(choice)
      pane.edited = choice
    end)
  elseif field.kind ~= "unknown" then
    local text = form.values[field.key] --[[@as string?]]
    pane.edited = require("rat.input").open(field.title, text or "", function(new)
      enter(form, field, new ~= "" and new or nil)
    end)
  end
end

---@class rat.OpenPane
---@field open boolean
---@field form rat.Form
---@field buf integer
---@field win integer
---@field rows rat.Row[]
---@field edited? rat.Choice|rat.Input what is open over it
---@field takes_keys boolean not before a pause, where it opened by itself
---@field room? rat.Room of the windows that had to make room

---@param pane rat.OpenPane
---@return rat.Row?
local function row_here(pane)
  local win = api.nvim_get_current_buf() == pane.buf and 0 or pane.win
  return pane.rows[api.nvim_win_get_cursor(win)[1]]
end

--- Goes to the next field, or the next of several choices.
---@param pane rat.OpenPane
---@param step 1|-1
local function go(pane, step)
  local at = api.nvim_win_get_cursor(pane.win)[1] + step
  while pane.rows[at] do
    if pane.rows[at].head or pane.rows[at].item then
      return api.nvim_win_set_cursor(pane.win, { at, 0 })
    end
    at = at + step
  end
end

---@param pane rat.OpenPane
local function map_keys(pane)
  local form = pane.form
  local actions = require("rat.form")
  local function map(lhs, doc, run)
    local opts = { buffer = pane.buf, nowait = true, desc = "rat: " .. doc }
    vim.keymap.set("n", lhs, run, opts)
  end
  map("ga", "accept", function()
    actions.answer(form, "accept")
  end)
  map("gr", "decline", function()
    actions.answer(form, "decline")
  end)
  map("q", "cancel", function()
    actions.answer(form, "cancel")
  end)
  map("gh", "hide, and answer later", function()
    actions.hide(form)
  end)
  if form.mode == "form" then
    for _, lhs in ipairs({ "<CR>", "<Space>" }) do
      map(lhs, "edit the field", function()
        edit(pane, row_here(pane))
      end)
    end
    map("<Tab>", "next field", function()
      go(pane, 1)
    end)
    map("<S-Tab>", "previous field", function()
      go(pane, -1)
    end)
  end
end

--- Keeps the cursor on its field, where rows come and go above it.
---@param pane rat.OpenPane
---@param before rat.Row?
local function follow_row(pane, before)
  for i, row in ipairs(pane.rows) do
    if before and before.key and row.key == before.key and row.item == before.item then
      return api.nvim_win_set_cursor(pane.win, { i, 0 })
    end
  end
end

---@param pane rat.OpenPane
local function draw(pane)
  local look, scratch = require("rat.look"), require("rat.scratch")
  local width = api.nvim_win_get_width(pane.win)
  local here = row_here(pane)
  pane.rows = rows_of(pane.form, width, pane.takes_keys)
  local lines, looks = {}, {}
  for i, row in ipairs(pane.rows) do
    lines[i], looks[i] = row.text, row.look or ""
  end
  scratch.fill(pane.buf, lines)
  look.reset(pane.buf)
  look.splice(pane.buf, 0, 0, looks)
  follow_row(pane, here)
  if not pane.room then
    local height = math.max(1, math.min(height_of(pane.rows, width), vim.o.lines - 6))
    api.nvim_win_set_height(pane.win, height)
  end
end

--- To the first field that needs something, else to the first one.
---@param pane rat.OpenPane
local function settle(pane)
  local first, needed
  for i, row in ipairs(pane.rows) do
    if row.head then
      first = first or i
      needed = needed or row.needed and i
    end
  end
  api.nvim_win_set_cursor(pane.win, { needed or first or 1, 0 })
end

--- A window that the user closes is an answer, too.
---@param pane rat.OpenPane
local function follow(pane)
  api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(pane.win),
    once = true,
    desc = "rat: closing a form answers it",
    callback = vim.schedule_wrap(function()
      if pane.open then
        require("rat.form").answer(pane.form, "cancel")
      end
    end),
  })
  api.nvim_create_autocmd("VimResized", {
    desc = "rat: a form stays in its corner",
    callback = function()
      if not pane.open then
        return true
      end
      if api.nvim_win_get_config(pane.win).relative ~= "" then
        api.nvim_win_set_config(pane.win, {
          relative = "editor",
          row = vim.o.lines - vim.o.cmdheight,
          col = vim.o.columns,
          width = math.max(1, math.min(WIDEST, vim.o.columns - 2)),
        })
        draw(pane)
      end
    end,
  })
end

---@param pane rat.OpenPane
---@param back integer the window the user came from
local function close(pane, back)
  if not pane.open then
    return
  end
  pane.open = false
  if pane.edited then
    pane.edited.close()
  end
  require("rat.float").close(pane.buf, back)
  if pane.room then
    require("rat.room").restore(pane.room)
  end
end

---@param buf integer
---@param config vim.api.keyset.win_config
---@return integer win
local function open_window(buf, config)
  local win
  if config.relative then
    win = require("rat.float").open(buf, config)
  else
    win = require("rat.room").open(buf, config)
    api.nvim_set_current_win(win)
  end
  local options = { wrap = true, linebreak = false, cursorline = true, winfixbuf = true }
  require("rat.dress").set(win, options)
  return win
end

---@param win integer
---@param title string
local function name_split(win, title)
  local bar = "%#RatBar#" .. require("rat.status").escape(title)
  require("rat.dress").set(win, { winbar = bar, number = false, list = false })
end

--- Opens the window and puts the user into it.
---@param form rat.Form
---@param agent string who asks
---@param by_itself? boolean no key is meant for it yet
---@return rat.Pane
function M.open(form, agent, by_itself)
  local back = api.nvim_get_current_win()
  local buf = api.nvim_create_buf(false, true)
  require("rat.scratch").dress(buf, "ratform")
  vim.bo[buf].bufhidden = "wipe"
  require("rat.look").attach(buf)
  require("rat.groups").define()
  local asks = form.mode == "url" and "asks you to open an address" or "asks"
  local title, footer =
    (" %s %s "):format(agent, asks), " " .. table.concat(HELP[form.mode], " · ") .. " "
  local rows = rows_of(form, width_now(), true)
  local room = is_narrow() and require("rat.room").snapshot() or nil
  -- What waits for a pause takes no keys, and so names none.
  local named = not by_itself and footer or nil
  local win = open_window(buf, place(height_of(rows, width_now()), title, named))
  if room then
    name_split(win, title)
  end
  ---@type rat.OpenPane
  local pane = {
    open = true,
    form = form,
    buf = buf,
    win = win,
    rows = rows,
    takes_keys = not by_itself,
    room = room,
  }
  if by_itself then
    require("rat.attention").hold_keys({ buf }, function()
      pane.takes_keys = true
      map_keys(pane)
      draw(pane)
      require("rat.float").name(win, { footer = footer })
    end)
  else
    map_keys(pane)
  end
  draw(pane)
  settle(pane)
  follow(pane)
  return {
    draw = function()
      if pane.open and api.nvim_win_is_valid(win) then
        draw(pane)
      end
    end,
    take = function()
      if pane.edited and pane.edited.take then
        pane.edited.take()
      end
    end,
    close = function()
      close(pane, back)
    end,
  }
end

return M
