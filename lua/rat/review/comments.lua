--- Comments on lines of a review, which go to the agent together, in one prompt.
local buffers = require("rat.chat.buffers")
local current_chat = require("rat.chat.current")
local input = require("rat.ask.input")
local notify = require("rat.util.notify")
local prompt = require("rat.chat.prompt")
local registry = require("rat.chat.registry")
local window = require("rat.view.window")

local api = vim.api
local M = {}

local NAMESPACE = api.nvim_create_namespace("rat_comments")

---@class rat.Comment
---@field path string
---@field first integer line in the file, from 1
---@field last integer
---@field lines string[] of the diff
---@field text string

---@type rat.Comment[]
local comments = {}

---@param buf integer
---@param row integer
---@param text string
local function mark(buf, row, text)
  local shown = vim.tbl_map(function(line)
    return { { "  ▏ " .. line, "RatComment" } }
  end, vim.split(text, "\n", { plain = true }))
  api.nvim_buf_set_extmark(buf, NAMESPACE, row, 0, { virt_lines = shown })
end

--- Asks for a comment and shows it below a row.
---@param buf integer
---@param row integer
---@param comment rat.Comment
function M.ask(buf, row, comment)
  local title = ("Comment on %s:%d"):format(vim.fn.fnamemodify(comment.path, ":."), comment.first)
  input.open(title, "", function(text)
    if vim.trim(text) == "" then
      return
    end
    comment.text = vim.trim(text)
    comments[#comments + 1] = comment
    if api.nvim_buf_is_valid(buf) then
      mark(buf, row, comment.text)
    end
  end)
end

--- Shows the comments in an updated review.
---@param buf integer
---@param row_of fun(path: string, file_row: integer): integer? the row that is about a row of a file
function M.show(buf, row_of)
  api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
  for _, comment in ipairs(comments) do
    local row = row_of(comment.path, comment.last - 1)
    if row then
      mark(buf, row, comment.text)
    end
  end
end

--- Writes all comments into the prompt and forgets them here.
---@param of_review integer? the chat that the review is about
function M.send(of_review)
  local chat = of_review and registry.get(of_review) or current_chat.get()
  if #comments == 0 then
    return notify.info("No comments yet. c writes one.")
  elseif not chat then
    return notify.warn("No agent is running. :RatStart starts one.")
  end
  local out = {}
  for _, comment in ipairs(comments) do
    local path = vim.fn.fnamemodify(comment.path, ":.")
    local range = comment.first == comment.last and tostring(comment.first)
      or ("%d-%d"):format(comment.first, comment.last)
    out[#out + 1] = ("%s:%s"):format(path, range)
    if #comment.lines > 0 then
      vim.list_extend(out, { "```diff" })
      vim.list_extend(out, comment.lines)
      vim.list_extend(out, { "```" })
    end
    vim.list_extend(out, vim.split(comment.text, "\n", { plain = true }))
    out[#out + 1] = ""
  end
  comments = {}
  out[#out] = nil
  api.nvim_buf_clear_namespace(0, NAMESPACE, 0, -1)
  prompt.give_back(chat, table.concat(out, "\n"))
  local shown = vim.fn.win_findbuf(buffers.get(chat, "prompt"))[1]
  if shown then
    api.nvim_set_current_win(shown)
  else
    window.open(chat, true)
  end
end

return M
