--- Comments on lines of a review: written, changed and removed by the user, shown below the lines, and put into the prompt
--- together. What was typed and not taken stays as a draft. It changes no file.
local config_keys = require("rat.config.keys")
local punctuation = require("rat.util.punctuation")
local buffers = require("rat.chat.buffers")
local current_chat = require("rat.chat.current")
local groups = require("rat.view.groups")
local input = require("rat.ask.input")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local prompt = require("rat.chat.prompt")
local quit_guard = require("rat.chat.quit_guard")
local registry = require("rat.chat.registry")
local review_page = require("rat.review.page")
local text_of = require("rat.util.text")
local window = require("rat.view.window")

local api = vim.api
local M = {}

local NAMESPACE = api.nvim_create_namespace("rat_comments")

---@class rat.Comment
---@field path string
---@field first integer line in the file, from 1
---@field last integer
---@field hunk? {id: integer, start: integer} the hunk that the lines are in, and its first row in the file
---@field lines string[] of the diff; none if it is about the whole file
---@field text string empty as long as there is only a draft
---@field draft? string what was typed and not taken
---@field mark? integer where it is shown

---@type rat.Comment[]
local comments = {}

--- The comments that the user was warned of when they quit Neovim.
---@type table<rat.Comment, string>
local warned = setmetatable({}, { __mode = "k" })

quit_guard.add(function()
  local new = vim.tbl_filter(function(comment)
    return warned[comment] ~= (comment.draft or comment.text)
  end, comments)
  if #new == 0 then
    return nil
  end
  local is_draft = vim.iter(new):all(function(comment)
    return comment.text == ""
  end)
  return {
    warning = is_draft
        and "Drafts of comments are left in the review. :qa again quits and loses them; c there opens one."
      or "Comments in the review were not sent. :qa again quits and loses them; C there puts them into the prompt.",
    what = "unsent comments",
    mark = function()
      for _, comment in ipairs(new) do
        warned[comment] = comment.draft or comment.text
      end
    end,
  }
end)

--- The review that shows them.
---@type {page: rat.ReviewPage, buf: integer}?
local shown

---@param comment rat.Comment
---@return integer? row
local function row_of(comment)
  local page = shown and shown.page
  if not (page and shown) then
    return nil
  elseif #comment.lines > 0 then
    local text = comment.lines[#comment.lines]
    return review_page.row_of(page, shown.buf, comment.path, comment.last - 1, text)
  end
  for _, part in ipairs(page.parts) do
    if not part.start and not part.group and part.path == comment.path then
      return part.row
    end
  end
end

local MARGIN = "  ▏ "

--- Returns how many cells of text fit beside the margin, in every window that shows the review.
---@param buf integer
---@return integer
local function text_width(buf)
  local width = vim.o.columns
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info = vim.fn.getwininfo(win)[1]
    width = math.min(width, info.width - info.textoff)
  end
  return math.max(width - vim.fn.strdisplaywidth(MARGIN), 10)
end

---@param comment rat.Comment
---@param width integer of the text, in cells
---@return [string, string][][]
local function rows_of(comment, width)
  local rows = {}
  local function add(text, group)
    for _, line in ipairs(text_of.wrap(text, width)) do
      rows[#rows + 1] = { { punctuation.own(MARGIN) .. line, group } }
    end
  end
  if comment.text ~= "" then
    add(comment.text, "RatComment")
  end
  if comment.draft then
    add("draft: " .. comment.draft, "RatHint")
  end
  return rows
end

local function redraw()
  if not (shown and api.nvim_buf_is_valid(shown.buf)) then
    return
  end
  groups.define()
  api.nvim_buf_clear_namespace(shown.buf, NAMESPACE, 0, -1)
  local width = text_width(shown.buf)
  for _, comment in ipairs(comments) do
    local row = row_of(comment)
    local mark = { virt_lines = rows_of(comment, width) }
    comment.mark = row and api.nvim_buf_set_extmark(shown.buf, NAMESPACE, row, 0, mark)
  end
end

--- Moves comments with their hunks, which other lines of the file have moved.
---@param page rat.ReviewPage
local function follow(page)
  for _, comment in ipairs(comments) do
    local hunk = comment.hunk
    local now = hunk
      and vim.iter(page.parts):find(function(part)
        return part.id == hunk.id and part.path == comment.path
      end)
    if hunk and now then
      local start = now.start or hunk.start
      comment.first = comment.first + start - hunk.start
      comment.last = comment.last + start - hunk.start
      hunk.start = start
    end
  end
end

--- Shows the comments in a review that has arrived or changed.
---@param page rat.ReviewPage
---@param buf integer
function M.show(page, buf)
  shown = { page = page, buf = buf }
  api.nvim_create_autocmd("WinResized", {
    group = api.nvim_create_augroup("rat_comments", {}),
    callback = redraw,
  })
  follow(page)
  redraw()
end

--- Returns a comment on rows of a review, still without a text.
---@param page rat.ReviewPage
---@param buf integer
---@param first integer row
---@param last integer row, inclusive
---@return rat.Comment? comment
---@return string? problem why they cannot be commented on
local function new_comment(page, buf, first, last)
  local from, to = review_page.index(page, first), review_page.index(page, last)
  local head = page.parts[from]
  if not head or head.group and from == to then
    return nil, "No file or line to comment on here."
  elseif not head.start and from < to and page.parts[from + 1].start then
    from, first = from + 1, page.parts[from + 1].row
  end
  for index = from + 1, to do
    if not page.parts[index].start then
      return nil, "You have selected more than one file. Select lines of one of them."
    end
  end
  local part = page.parts[from]
  if not part.start then
    return { path = part.path, first = 1, last = 1, lines = {}, text = "" }
  end
  local end_of_last = review_page.last_row(page, buf, to)
  if first == part.row then
    last = first == last and end_of_last or last
    first = first + 1
  end
  last = math.min(last, end_of_last)
  local _, file_first = review_page.file_row(page, buf, first)
  local _, file_last = review_page.file_row(page, buf, last)
  local hunk ---@type {id: integer, start: integer}?
  if part.id and not part.from then
    hunk = { id = part.id, start = part.start }
  end
  return {
    path = part.path,
    hunk = hunk,
    first = file_first + 1,
    last = file_last + 1,
    lines = api.nvim_buf_get_lines(buf, first, last + 1, true),
    text = "",
  }
end

--- Returns the comment that is there already, or else the last one that is shown below a row.
---@param new rat.Comment
---@param row? integer
---@return rat.Comment?
local function find(new, row)
  local below
  for _, comment in ipairs(comments) do
    local is_same = comment.path == new.path
      and comment.first == new.first
      and comment.last == new.last
      and vim.deep_equal(comment.lines, new.lines)
    if is_same then
      return comment
    elseif row and comment.mark and shown then
      local at = api.nvim_buf_get_extmark_by_id(shown.buf, NAMESPACE, comment.mark, {})
      below = at[1] == row and comment or below
    end
  end
  return below
end

--- Returns the name of its lines in messages and in the prompt.
---@param comment rat.Comment
---@return string
local function name_of(comment)
  local range = comment.first == comment.last and tostring(comment.first)
    or ("%d-%d"):format(comment.first, comment.last)
  return ("%s:%s"):format(vim.fn.fnamemodify(comment.path, ":."), range)
end

---@param comment rat.Comment
local function keep(comment)
  if not vim.list_contains(comments, comment) then
    comments[#comments + 1] = comment
  end
end

---@param comment rat.Comment
---@return boolean was_there
local function remove(comment)
  local count = #comments
  comments = vim.tbl_filter(function(other)
    return other ~= comment
  end, comments)
  return #comments < count
end

---@param comment rat.Comment
---@param text string
local function take(comment, text)
  comment.text, comment.draft = vim.trim(text), nil
  if comment.text ~= "" then
    keep(comment)
  elseif remove(comment) then
    notify.info(("Removed the comment on %s"):format(name_of(comment)))
  end
  redraw()
end

---@param comment rat.Comment
---@param text string
local function put_off(comment, text)
  local is_draft = vim.trim(text) ~= "" and vim.trim(text) ~= comment.text
  comment.draft = is_draft and text or nil
  if is_draft then
    keep(comment)
    notify.info("Kept as a draft, which is not sent. c opens it again.")
  elseif comment.text == "" then
    remove(comment)
  end
  redraw()
end

--- Opens a comment on rows of a review: the one that is there, or else a new one.
---@param page rat.ReviewPage
---@param buf integer
---@param first integer row
---@param last integer row, inclusive
---@param is_selection boolean whether the user has selected the rows, and so means just these
function M.write(page, buf, first, last, is_selection)
  local new, problem = new_comment(page, buf, first, last)
  if not new then
    return notify.info(problem --[[@as string]])
  end
  local comment = find(new, not is_selection and last or nil) or new
  local title, typed = "Comment on " .. name_of(comment), comment.draft or comment.text
  input.open(title, typed, true, function(text)
    take(comment, text)
  end, function(text)
    put_off(comment, text)
  end)
end

--- Writes all comments into the prompt and forgets them here. Drafts stay.
---@param of_review integer? the chat that the review is about
function M.send(of_review)
  local chat = of_review and registry.get(of_review) or current_chat.get()
  local out, drafts = {}, {}
  for _, comment in ipairs(comments) do
    if comment.text ~= "" then
      out[#out + 1] = name_of(comment)
      if #comment.lines > 0 then
        vim.list_extend(out, { "```diff" })
        vim.list_extend(out, comment.lines)
        vim.list_extend(out, { "```" })
      end
      vim.list_extend(out, vim.split(comment.text, "\n", { plain = true }))
      out[#out + 1] = ""
    end
    if comment.draft then
      drafts[#drafts + 1] = comment
    end
  end
  if #comments == 0 then
    return notify.info(("No comments yet. %s writes one."):format(config_keys.name("c")))
  elseif #out == 0 then
    local text = "Only drafts so far. %s opens one, and <C-s> there makes it a comment."
    return notify.info(text:format(config_keys.name("c")))
  elseif not chat then
    return notify.warn("No agent is running. :RatStart starts one.")
  end
  for _, comment in ipairs(drafts) do
    comment.text = ""
  end
  comments = drafts
  out[#out] = nil
  redraw()
  prompt.give_back(chat, table.concat(out, "\n"))
  if #drafts > 0 then
    local one = #drafts == 1
    local stay = one and "1 draft stays" or ("%d drafts stay"):format(#drafts)
    notify.info(("%s in the review, not sent"):format(stay))
  end
  local prompt_win = vim.fn.win_findbuf(buffers.get(chat, "prompt"))[1]
  if prompt_win then
    return api.nvim_set_current_win(prompt_win)
  end
  -- Beside the user's files, not in the tab page of the review.
  local users_win = location.users_window()
  if users_win then
    api.nvim_set_current_win(users_win)
  end
  window.open(chat, "now")
end

return M
