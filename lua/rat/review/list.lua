--- The review: what agents have changed in all files and nobody has decided on, as one unified diff on a tab page of its own.
--- Accepts, rejects and comments on hunks.
local comments = require("rat.review.comments")
local config_keys = require("rat.config.keys")
local decisions = require("rat.review.decisions")
local folds = require("rat.review.folds")
local groups = require("rat.view.groups")
local key_list = require("rat.view.key_list")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local own_tab = require("rat.view.own_tab")
local review_page = require("rat.review.page")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local splits = require("rat.view.splits")
local statusline_escape = require("rat.util.text").statusline_escape
local syntax = require("rat.review.syntax")
local view = require("rat.review.view")
local window_options = require("rat.view.window_options")

local api = vim.api
local M = {}

local NAME = "rat://review"
local NAMESPACE = api.nvim_create_namespace("rat_review")

--- Of the colours of a diff; those of the code are above them.
local PRIORITY = 100

---@class rat.Review
---@field scope rat.notify.Scope
---@field chat? integer
---@field number integer of the page, whose pieces arrive one after the other
---@field page rat.ReviewPage
---@field place? rat.ReviewPlace where the cursor was before an update
---@field back? {place: rat.ReviewPlace, line: integer} where a decision that was taken back had been made, and the line of the cursor as long as nobody has moved it
---@field ended? integer the line where the cursor was left once the last hunk was decided on, as long as nobody has moved it
---@field unfolded integer index of the first part that is not folded yet
---@field closed table<string, true> files that stay folded in an update
---@field asked? boolean whether an update has been asked for
---@field lines? integer how many the page had before an update
---@field arriving? boolean whether some pieces of an update are here and others are not
---@field stale? boolean whether something has changed since then
local review ---@type rat.Review?

---@type table<string, string>
local GROUP = { ["+"] = "RatReviewAdd", ["-"] = "RatReviewDelete", ["@"] = "RatReviewHunk" }

--- Returns the window of the review, which may be on another tab page.
---@param buf? integer
---@return integer? win
local function window_of(buf)
  local here = buf and vim.fn.bufwinid(buf) or -1
  return here ~= -1 and here or buf and vim.fn.win_findbuf(buf)[1] or nil
end

---@param win integer
---@param title string
local function set_winbar(win, title)
  -- What does not fit is cut off at the end.
  local keys =
    { { "a", "accept" }, { "r", "reject" }, { "u", "undo" }, { "g?", "keys" }, { "c", "comment" } }
  local hints = vim.tbl_map(function(key)
    return (" %%#RatKey#%s%%* %s "):format(key[1], key[2])
  end, config_keys.current(keys))
  local bar = (" %%#RatBar#%s%%*%%="):format(statusline_escape(title))
    .. table.concat(hints)
    .. "%<"
  window_options.set(win, { winbar = bar })
end

--- Returns the row of the cursor, or the first one of the closed fold that it is in.
---@return integer
local function row_here()
  local row = vim.fn.line(".") - 1
  return (folds.whole(row, row))
end

--- Returns the selected rows and ends the selection, or else the row of the cursor.
---@return integer first
---@return integer last inclusive
---@return boolean is_selection
local function selected()
  local row, other = vim.fn.line(".") - 1, vim.fn.line("v") - 1
  if not vim.fn.mode():match("[vV\22]") then
    row = row_here()
    return row, row, false
  end
  api.nvim_feedkeys(vim.keycode("<Esc>"), "nx", false)
  return math.min(row, other), math.max(row, other), true
end

---@param keep boolean
local function decide_here(keep)
  return function()
    local count = vim.v.count1
    local first, last, is_selection = selected()
    if count > 1 and not is_selection then
      last = review_page.row_of_hunk(review.page, first, count)
    end
    first, last = folds.whole(first, last)
    if review.arriving then
      return notify.info("The review is being updated. Try again.")
    end
    if review.ended == vim.fn.line(".") and not is_selection then
      return notify.info("That was the last one. Move to another to decide on it.")
    end
    review.back = nil
    decisions.decide(review, api.nvim_get_current_buf(), first, last, keep, is_selection)
  end
end

local function take_back()
  local place = decisions.take_back(vim.v.count1)
  review.back = place and { place = place, line = api.nvim_win_get_cursor(0)[1] }
end

--- Goes to another hunk or file.
---@param step 1|-1
---@param is_wanted fun(part: rat.ReviewPart): boolean
local function go(step, is_wanted)
  return function()
    for _ = 1, vim.v.count1 do
      local row = api.nvim_win_get_cursor(0)[1] - 1
      local parts, index = review.page.parts, review_page.index(review.page, row)
      -- From within a part, its own first row is the previous one.
      if step < 0 and parts[index] and row > parts[index].row then
        index = index + 1
      end
      repeat
        index = index + step
      until not parts[index] or is_wanted(parts[index])
      if not parts[index] then
        return
      end
      api.nvim_win_set_cursor(0, { parts[index].row + 1, 0 })
      vim.cmd("normal! zv")
    end
  end
end

local function is_hunk(part)
  return part.start ~= nil or part.state
end

local function is_file(part)
  return part.start == nil
end

local function close()
  local win = api.nvim_get_current_win()
  if #api.nvim_list_tabpages() == 1 and #splits.tiled(0) == 1 then
    return splits.give_to_user(win)
  end
  api.nvim_win_close(win, true)
end

local function open_file()
  local path, row = review_page.file_row(review.page, 0, row_here())
  if path then
    location.open({ path = path, line = row + 1 })
  end
end

local function compare()
  local row = row_here()
  local part = review.page.parts[review_page.index(review.page, row)]
  local path, file_row = review_page.changed_row(review.page, 0, row)
  if part and part.state then
    notify.info("There are no lines to compare here. o goes to the file.")
  elseif part and path and file_row then
    require("rat.review.compare").open(path, part.from, file_row + 1)
  end
end

local function comment()
  local first, last, is_selection = selected()
  comments.write(review.page, api.nvim_get_current_buf(), first, last, is_selection)
end

--- Lists the hunks in the quickfix window.
local function to_quickfix()
  local items = {}
  local buf = api.nvim_get_current_buf()
  for _, part in ipairs(review.page.parts) do
    if part.start then
      local head = api.nvim_buf_get_lines(buf, part.row, part.row + 1, true)[1]
      items[#items + 1] = {
        filename = part.path,
        lnum = math.max(part.start + (part.count == 0 and 0 or 1), 1),
        end_lnum = part.count > 1 and part.start + part.count or nil,
        text = head,
      }
    end
  end
  vim.fn.setqflist({}, " ", { title = "Pending changes", items = items })
  vim.cmd("botright copen")
end

local function send_comments()
  comments.send(review.chat)
end

---@type rat.PageKey[]
local KEYS = {
  { { "n", "x" }, "a", decide_here(true), "accept the hunk, file or selection" },
  { { "n", "x" }, "r", decide_here(false), "reject the hunk, file or selection" },
  { { "n" }, "u", take_back, "take the last decision back" },
  { { "n", "x" }, "c", comment, "comment on the hunk or selection, or change the comment" },
  { { "n" }, "C", send_comments, "put all comments into the prompt" },
  { { "n" }, "<CR>", compare, "compare the file, before and after" },
  { { "n" }, "o", open_file, "go to the line in the file" },
  { { "n", "x" }, "]c", go(1, is_hunk), "next hunk" },
  { { "n", "x" }, "[c", go(-1, is_hunk), "previous hunk" },
  { { "n", "x" }, "]f", go(1, is_file), "next file" },
  { { "n", "x" }, "[f", go(-1, is_file), "previous file" },
  { { "n" }, "<C-q>", to_quickfix, "list the hunks in the quickfix window" },
  { { "n" }, "q", close, "close" },
}

---@param buf integer
local function attach(buf)
  api.nvim_create_autocmd("CursorMoved", {
    buffer = buf,
    desc = "rat: decide on where the user has moved to",
    callback = function()
      if review and review.ended ~= vim.fn.line(".") then
        review.ended = nil
      end
    end,
  })
  key_list.map(buf, KEYS)
end

local is_provider_set = false

--- Colours the lines that are on the screen.
local function set_provider()
  if is_provider_set then
    return
  end
  is_provider_set = true
  api.nvim_set_decoration_provider(NAMESPACE, {
    on_win = function(_, _, shown)
      return review ~= nil and shown == scratch.find(NAME)
    end,
    on_line = function(_, _, shown, row)
      local start = api.nvim_buf_get_text(shown, row, 0, row, 1, {})[1]
      local group = GROUP[start] or start ~= " " and start ~= "" and "RatReviewFile"
      if group then
        api.nvim_buf_set_extmark(shown, NAMESPACE, row, 0, {
          ephemeral = true,
          end_row = row + 1,
          hl_group = group,
          priority = PRIORITY,
          hl_eol = start == "+" or start == "-",
          strict = false,
        })
      end
      if start ~= "@" then
        syntax.draw(shown, review.page, row)
      end
    end,
  })
end

--- Whether a tab page still shows a file, for example one that the user has opened beside the review.
---@param tab integer
---@return boolean
local function has_file(tab)
  return api.nvim_tabpage_is_valid(tab)
    and vim.iter(splits.tiled(tab)):any(function(win)
      return vim.bo[api.nvim_win_get_buf(win)].buftype == ""
    end)
end

--- Leads the user back to where they came from once the last window of the page is closed, since Neovim goes to the next tab
--- page.
---@param page integer window
---@param back integer window
local function return_on_close(page, back)
  local tab, buf = api.nvim_win_get_tabpage(page), api.nvim_win_get_buf(page)
  local is_here = own_tab.watch(tab)
  local function watch(win)
    api.nvim_create_autocmd("WinClosed", {
      pattern = tostring(win),
      once = true,
      desc = "rat: go back from the review",
      callback = function()
        local was_here = is_here()
        vim.schedule(function()
          local other = vim.iter(vim.fn.win_findbuf(buf)):find(function(split)
            return api.nvim_win_get_tabpage(split) == tab
          end)
          if other then
            watch(other)
          elseif was_here and api.nvim_win_is_valid(back) and not has_file(tab) then
            api.nvim_set_current_win(back)
          end
        end)
      end,
    })
  end
  watch(page)
end

---@return integer buf
local function open_page()
  local hidden = scratch.find(NAME)
  if hidden and #vim.fn.win_findbuf(hidden) == 0 then
    -- To replace many lines takes longer than to begin anew.
    api.nvim_buf_delete(hidden, { force = true })
  end
  local buf = scratch.make(NAME, "ratreview")
  vim.bo[buf].bufhidden = "hide"
  if vim.fn.bufwinid(buf) ~= -1 then
    splits.enter(vim.fn.bufwinid(buf))
    return buf
  end
  local elsewhere = vim.fn.win_findbuf(buf)[1]
  if elsewhere then
    splits.enter(elsewhere)
    return buf
  end
  local back = api.nvim_get_current_win()
  vim.cmd.tabnew()
  local blank = api.nvim_get_current_buf()
  splits.show(0, buf)
  return_on_close(api.nvim_get_current_win(), back)
  if blank ~= buf then
    api.nvim_buf_delete(blank, { force = true })
  end
  attach(buf)
  return buf
end

--- Asks for the present state of an open review.
local function update()
  if not review or not window_of(scratch.find(NAME)) then
    return
  elseif review.asked then
    review.stale = true
    return
  end
  review.asked, review.stale = true, false
  rpc.notify("list_changes", { chat = review.chat, scope = review.scope, update = true })
end

--- Prepares the window for the first piece of a page.
---@param win integer
---@param payload rat.msg.Review
local function begin(win, payload)
  set_winbar(win, payload.title)
  window_options.set(win, { wrap = false, number = false, relativenumber = false, list = false })
  window_options.set(win, { foldmethod = "manual", signcolumn = "no", spell = false })
  review.lines = payload.replaces and api.nvim_buf_line_count(api.nvim_win_get_buf(win)) or nil
  if not payload.replaces then
    folds.clear(win)
  elseif payload.replaces > 0 then
    local last = payload.row + payload.replaces - 1
    review.closed = folds.remove(win, payload.row, last, review.page)
  end
end

--- Folds the files that are there completely.
---@param win integer
---@param buf integer
---@param last integer index of the last part that has arrived
---@param is_last boolean whether nothing follows it
local function fold(win, buf, last, is_last)
  local until_index = is_last and last or review_page.head_of(review.page, last) - 1
  if until_index >= review.unfolded then
    folds.add(win, buf, review.page, review.unfolded, until_index, review.closed)
    review.unfolded = until_index + 1
  end
end

--- Goes to where the cursor was before an update, or to what the user has taken back.
---@param win integer
---@param buf integer
local function show_place(win, buf)
  if review.place then
    local had_ended = review.ended ~= nil
    local is_last = view.go_to(win, review.page, buf, review.place)
    review.place = nil
    local is_ended = (is_last or had_ended) and #review.page.parts > 0
    review.ended = is_ended and api.nvim_win_get_cursor(win)[1] or nil
  end
  if review.back then
    view.return_to(win, review.page, buf, review.back.place)
    review.back.line = api.nvim_win_get_cursor(win)[1]
  end
  -- Otherwise it is the reader who has scrolled that far.
  if not review.lines or api.nvim_buf_line_count(buf) < review.lines then
    view.fill(win)
  end
end

---@param buf integer
---@param win integer?
local function finish(buf, win)
  if #review.page.parts == 0 then
    scratch.fill(buf, { "Nothing is pending. q closes." })
  end
  comments.show(review.page, buf)
  if win then
    show_place(win, buf)
  end
  review.asked, review.arriving = false, false
  if review.stale then
    update()
  end
end

---@param payload rat.msg.Review
---@param buf integer
local function start_page(payload, buf)
  local old = payload.update and review or nil
  local shown = window_of(buf)
  local line = old and shown and api.nvim_win_get_cursor(shown)[1]
  review = {
    scope = payload.scope --[[@as rat.notify.Scope]],
    chat = payload.chat,
    number = payload.page,
    page = old and payload.replaces and old.page or review_page.new(),
    place = old and line and view.place(old.page, line - 1) or nil,
    back = old and old.back and old.back.line == line and old.back or nil,
    ended = old and old.ended == line and line or nil,
    unfolded = 1,
    closed = {},
    asked = true,
    arriving = payload.update,
    stale = old and old.stale or false,
  }
end

--- Leaves the name of the first file for its first hunk: a decision there would be about the whole file.
---@param win integer
local function go_to_first_hunk(win)
  local hunk = review.page.parts[2]
  if hunk and hunk.start and api.nvim_win_get_cursor(win)[1] == 1 then
    api.nvim_win_set_cursor(win, { hunk.row + 1, 0 })
  end
end

--- Shows a piece of a review.
---@param payload rat.msg.Review
function M.arrived(payload)
  local buf = scratch.find(NAME)
  if payload.update and not (review and buf) then
    return
  end
  local is_first = not review or review.number ~= payload.page
  if is_first then
    groups.define()
    set_provider()
    buf = payload.update and buf or open_page()
    start_page(payload, buf --[[@as integer]])
  end
  local win = window_of(buf)
  if win and is_first then
    begin(win, payload)
  end
  local until_row = payload.replaces and payload.row + payload.replaces or -1
  scratch.splice(buf --[[@as integer]], payload.row, until_row, payload.lines)
  local first, last = review_page.splice(review.page, payload)
  review.unfolded = is_first and first or review.unfolded
  if win then
    fold(win, buf --[[@as integer]], last, payload.last)
    if is_first and not payload.update then
      go_to_first_hunk(win)
    end
  end
  if payload.last then
    finish(buf --[[@as integer]], win)
  end
end

api.nvim_create_autocmd("User", {
  pattern = "RatReviewChanged",
  group = api.nvim_create_augroup("rat_review", {}),
  desc = "rat: update an open review",
  callback = update,
})

return M
