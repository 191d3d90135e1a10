--- The window of a form or a URL: its position, its keys and the editing of fields. What the user enters and answers
--- goes to the callbacks in `rat.FormActions`.
local punctuation = require("rat.util.punctuation")
local auto_open = require("rat.ask.auto_open")
local chooser = require("rat.ask.chooser")
local config_keys = require("rat.config.keys")
local fields = require("rat.ask.fields")
local float = require("rat.view.float")
local groups = require("rat.view.groups")
local input = require("rat.ask.input")
local line_format = require("rat.view.line_format")
local scratch = require("rat.view.scratch")
local splits = require("rat.view.splits")
local text_of = require("rat.util.text")
local window_options = require("rat.view.window_options")

local api = vim.api

local M = {}

---@class rat.FormWindow
---@field draw fun() draws the form again
---@field submit_edit fun() enters the text that is being edited
---@field close fun() closes the window without an answer

--- On a smaller screen the form opens in a split, since a floating window would cover too much.
local FLOAT_MIN_COLUMNS, FLOAT_MIN_LINES = 58, 16
local MAX_WIDTH = 72

---@type table<string, string[][]>
local HELP = {
  form = {
    { "<CR>", "edit" },
    { "ga", "send" },
    { "gr", "decline" },
    { "gc", "cancel" },
    { "q", "later" },
  },
  url = { { "ga", "open" }, { "gr", "decline" }, { "gc", "cancel" }, { "q", "later" } },
}

---@return boolean
local function is_small_screen()
  return vim.o.columns < FLOAT_MIN_COLUMNS or vim.o.lines < FLOAT_MIN_LINES
end

---@return integer cells
local function current_width()
  return is_small_screen() and vim.o.columns or math.min(MAX_WIDTH, vim.o.columns - 2)
end

---@param rows rat.Row[]
---@param width integer
---@return integer height in screen lines
local function height_of(rows, width)
  local height = 0
  for _, row in ipairs(rows) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(row.text) / width))
  end
  return height
end

--- Returns the window's position: the lower right corner, or a split at the bottom of a small screen.
---@param height integer
---@param title string
---@param footer? string
---@return vim.api.keyset.win_config
local function place(height, title, footer)
  if is_small_screen() then
    return { split = "below", win = -1, height = math.min(height, math.floor(vim.o.lines / 2)) }
  end
  return {
    relative = "editor",
    anchor = "SE",
    row = vim.o.lines - vim.o.cmdheight,
    col = vim.o.columns,
    width = current_width(),
    height = math.max(1, math.min(height, vim.o.lines - 6)),
    title = title,
    footer = footer,
    zindex = 55,
  }
end

--- Returns the rows of a form. In a split they begin with the keys, which a floating window shows in its border.
---@param form rat.Form
---@param width integer
---@param shows_keys boolean
---@return rat.Row[]
local function rows_of(form, width, shows_keys)
  local keys = shows_keys and config_keys.words(HELP[form.mode]) or nil
  return fields.rows(form, width, keys)
end

---@class rat.FormActions callbacks for what the user does in the window
---@field enter fun(form: rat.Form, key: string, value: string|boolean|string[]|nil)
---@field answer fun(form: rat.Form, action: "accept"|"decline"|"cancel")
---@field hide fun(form: rat.Form)
---@field reopen fun(form: rat.Form) closes the window and opens it where it belongs on a screen of this size

---@param window rat.OpenFormWindow
---@param field rat.Field
---@param value? string|boolean|string[]
local function enter(window, field, value)
  window.actions.enter(window.form, field.key, value)
end

--- Switches between yes and no, and empty if the field may be empty.
---@param window rat.OpenFormWindow
---@param field rat.Field
local function toggle(window, field)
  local value = window.form.values[field.key]
  local may_be_none = not field.required and field.value == nil
  if value == false and may_be_none then
    enter(window, field, nil)
  else
    enter(window, field, not value)
  end
end

---@param window rat.OpenFormWindow
---@param field rat.Field
---@param item string
local function toggle_item(window, field, item)
  local before = window.form.values[field.key] --[[@as string[]?]] or {}
  local after = vim.tbl_filter(function(value)
    return value ~= item
  end, before)
  if #after == #before then
    after[#after + 1] = item
  end
  enter(window, field, after)
end

---@param window rat.OpenFormWindow
---@param field rat.Field
local function choose(window, field)
  ---@type (rat.msg.FieldChoice|{name: string, none: true})[]
  local items = vim.list_slice(field.choices)
  if not field.required then
    items[#items + 1] = { name = "nothing", none = true }
  end
  chooser.open(items, {
    prompt = field.title,
    opened = function(handle)
      window.editor = handle
    end,
    format_item = function(item)
      return item.description and punctuation.own("%s · %s"):format(item.name, item.description)
        or item.name
    end,
  }, function(item)
    if item then
      enter(window, field, not item.none and item.value or nil)
    end
  end)
end

---@type fun(window: rat.OpenFormWindow)
local draw

--- Edits the field of a row.
---@param window rat.OpenFormWindow
---@param row rat.Row?
local function edit(window, row)
  local form = window.form
  window.editor = nil
  local field = row
    and vim.iter(form.fields or {}):find(function(candidate)
      return candidate.key == row.key
    end)
  if not (row and field) then
    return
  elseif field.kind == "several" then
    if row.item then
      toggle_item(window, field, row.item)
    end
  elseif field.kind == "boolean" then
    toggle(window, field)
  elseif field.kind == "choice" then
    choose(window, field)
  elseif field.kind ~= "unknown" then
    local drafts, value = form.drafts, form.values[field.key] or "" --[[@as string]]
    window.editor = input.open(field.title, drafts[field.key] or value, false, function(new)
      drafts[field.key] = nil
      enter(window, field, new ~= "" and new or nil)
    end, function(typed)
      drafts[field.key] = typed ~= value and typed or nil
      form.has_warned = nil
      if window.open and api.nvim_win_is_valid(window.win) then
        draw(window)
      end
    end)
  end
end

---@class rat.OpenFormWindow
---@field open boolean
---@field form rat.Form
---@field actions rat.FormActions
---@field buf integer
---@field win integer
---@field rows rat.Row[]
---@field editor? rat.ChooserHandle|rat.Input the window that edits a field, if one was opened
---@field takes_keys boolean false until the user pauses, if it opened by itself
---@field splits_before? rat.SavedSplits sizes of the other windows, if the form is in a split

---@param window rat.OpenFormWindow
---@return rat.Row?
local function row_here(window)
  local win = api.nvim_get_current_buf() == window.buf and 0 or window.win
  return window.rows[api.nvim_win_get_cursor(win)[1]]
end

--- Moves the cursor to the next field or choice.
---@param window rat.OpenFormWindow
---@param step 1|-1
local function go_to_next(window, step)
  local at = api.nvim_win_get_cursor(window.win)[1] + step
  while window.rows[at] do
    if window.rows[at].head or window.rows[at].item then
      return api.nvim_win_set_cursor(window.win, { at, 0 })
    end
    at = at + step
  end
end

---@param window rat.OpenFormWindow
local function map_keys(window)
  local form, actions = window.form, window.actions
  local function map(lhs, doc, run)
    local opts = { buffer = window.buf, nowait = true, desc = "rat: " .. doc }
    config_keys.map("n", lhs, run, opts)
  end
  map("ga", "accept", function()
    actions.answer(form, "accept")
  end)
  map("gr", "decline", function()
    actions.answer(form, "decline")
  end)
  map("gc", "cancel", function()
    actions.answer(form, "cancel")
  end)
  for _, lhs in ipairs({ "q", "gh" }) do
    map(lhs, "close, and answer later", function()
      actions.hide(form)
    end)
  end
  if form.mode == "form" then
    for _, lhs in ipairs({ "<CR>", "<Space>" }) do
      map(lhs, "edit the field", function()
        edit(window, row_here(window))
      end)
    end
    map("<Tab>", "next field", function()
      go_to_next(window, 1)
    end)
    map("<S-Tab>", "previous field", function()
      go_to_next(window, -1)
    end)
  end
end

--- Puts the cursor back on its field after rows above it were added or removed.
---@param window rat.OpenFormWindow
---@param before rat.Row?
local function restore_cursor(window, before)
  for i, row in ipairs(window.rows) do
    if before and before.key and row.key == before.key and row.item == before.item then
      return api.nvim_win_set_cursor(window.win, { i, 0 })
    end
  end
end

---@param window rat.OpenFormWindow
function draw(window)
  local width = api.nvim_win_get_width(window.win)
  local here = row_here(window)
  window.rows = rows_of(window.form, width, window.splits_before ~= nil and window.takes_keys)
  local lines, formats = {}, {}
  for i, row in ipairs(window.rows) do
    lines[i], formats[i] = row.text, row.format or ""
  end
  scratch.fill(window.buf, lines)
  line_format.reset(window.buf)
  line_format.splice(window.buf, 0, 0, formats)
  restore_cursor(window, here)
  if not window.splits_before then
    local height = math.max(1, math.min(height_of(window.rows, width), vim.o.lines - 6))
    api.nvim_win_set_height(window.win, height)
  end
end

--- Moves the cursor to the first required field that is empty, else to the first field.
---@param window rat.OpenFormWindow
local function go_to_first_field(window)
  local first, needed
  for i, row in ipairs(window.rows) do
    if row.head then
      first = first or i
      needed = needed or row.needed and i
    end
  end
  api.nvim_win_set_cursor(window.win, { needed or first or 1, 0 })
end

---@param window rat.OpenFormWindow
---@return boolean
local function is_current(window)
  return api.nvim_get_current_win() == window.win
end

--- Keeps the request waiting when the user closes the window, and repositions the window when the screen is resized.
---@param window rat.OpenFormWindow
local function watch_window(window)
  api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(window.win),
    once = true,
    desc = "rat: answer a form later when its window closes",
    callback = vim.schedule_wrap(function()
      if window.open then
        window.actions.hide(window.form)
      end
    end),
  })
  api.nvim_create_autocmd("VimResized", {
    desc = "rat: keep a form in its corner",
    callback = function()
      if not window.open then
        return true
      elseif is_small_screen() ~= (window.splits_before ~= nil) and is_current(window) then
        return vim.schedule(function()
          window.actions.reopen(window.form)
        end)
      end
      if api.nvim_win_get_config(window.win).relative ~= "" then
        api.nvim_win_set_config(window.win, {
          relative = "editor",
          row = vim.o.lines - vim.o.cmdheight,
          col = vim.o.columns,
          width = math.max(1, math.min(MAX_WIDTH, vim.o.columns - 2)),
        })
      end
      draw(window)
    end,
  })
end

---@param window rat.OpenFormWindow
---@param back integer window the user came from
local function close(window, back)
  if not window.open then
    return
  end
  window.open = false
  if api.nvim_win_is_valid(window.win) then
    window.form.last_row = row_here(window)
  end
  if window.editor then
    window.editor.close()
  end
  float.close(window.buf, back)
  if window.splits_before then
    splits.restore(window.splits_before)
  end
end

---@param buf integer
---@param config vim.api.keyset.win_config
---@return integer win
local function open_window(buf, config)
  local win
  if config.relative then
    win = float.open(buf, config)
  else
    win = splits.open(buf, config)
    api.nvim_set_current_win(win)
  end
  local options = { wrap = true, linebreak = false, cursorline = true, winfixbuf = true }
  window_options.set(win, options)
  return win
end

---@param win integer
---@param title string
local function set_winbar(win, title)
  local bar = "%#RatBar#" .. text_of.statusline_escape(title)
  window_options.set(win, { winbar = bar, number = false, list = false })
end

--- Opens the window and enters it.
---@param form rat.Form
---@param agent string title of the agent
---@param actions rat.FormActions
---@param by_itself? boolean it was not opened by the user, so keys are ignored until they pause
---@return rat.FormWindow
function M.open(form, agent, actions, by_itself)
  local back = api.nvim_get_current_win()
  local buf = api.nvim_create_buf(false, true)
  scratch.set_options(buf, "ratform")
  vim.bo[buf].bufhidden = "wipe"
  scratch.name(buf, ("rat://form/%d"):format(form.id))
  line_format.attach(buf)
  groups.define()
  local asks = form.mode == "url" and "asks you to open a URL" or "asks"
  local title, footer =
    (" %s %s "):format(agent, asks),
    " " .. punctuation.join(config_keys.words(HELP[form.mode])) .. " "
  local rows = rows_of(form, current_width(), is_small_screen())
  local splits_before = is_small_screen() and splits.snapshot() or nil
  -- The footer lists keys, so it is not shown while they are ignored.
  local shown_footer = not by_itself and footer or nil
  local win = open_window(buf, place(height_of(rows, current_width()), title, shown_footer))
  if splits_before then
    set_winbar(win, title)
  end
  ---@type rat.OpenFormWindow
  local window = {
    open = true,
    form = form,
    actions = actions,
    buf = buf,
    win = win,
    rows = rows,
    takes_keys = not by_itself,
    splits_before = splits_before,
  }
  if by_itself then
    auto_open.hold_keys({ buf }, function()
      window.takes_keys = true
      map_keys(window)
      draw(window)
      float.set_title(win, { footer = footer })
    end)
  else
    map_keys(window)
  end
  draw(window)
  go_to_first_field(window)
  restore_cursor(window, form.last_row)
  watch_window(window)
  return {
    draw = function()
      if window.open and api.nvim_win_is_valid(win) then
        draw(window)
      end
    end,
    submit_edit = function()
      if window.editor and window.editor.submit then
        window.editor.submit()
      end
    end,
    close = function()
      close(window, back)
    end,
  }
end

return M
