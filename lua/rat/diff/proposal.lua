--- Shows a write that waits for the user's consent in native diff mode: the file as it is on the left, as it would be on the
--- right, where the user can change it. Closing the comparison decides nothing: the write keeps waiting.
local config_keys = require("rat.config.keys")
local auto_open = require("rat.ask.auto_open")
local editable = require("rat.diff.editable")
local groups = require("rat.view.groups")
local key_list = require("rat.view.key_list")
local present_text = require("rat.diff.present_text")
local question = require("rat.ask.question")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")
local statusline_escape = require("rat.util.text").statusline_escape
local tab_page = require("rat.diff.tab_page")

local api = vim.api
local M = {}

---@class rat.Proposal
---@field id integer number of the question
---@field page rat.DiffTabPage
---@field buf integer the text the file would have
---@field sent? string[] the text the user wants, while it is being written
---@field ask_again? fun() once that has failed

---@type table<integer, rat.Proposal> by the number of the question
local open_proposals = {}

--- Has the text written. The page is closed once that is done, and stays if it fails.
---@param proposal rat.Proposal
local function write(proposal)
  if not proposal.sent and api.nvim_buf_is_loaded(proposal.buf) then
    proposal.sent = api.nvim_buf_get_lines(proposal.buf, 0, -1, true)
    proposal.ask_again = question.hold(proposal.id)
    vim.bo[proposal.buf].modifiable = false
    rpc.notify("decide_write", { id = proposal.id, lines = proposal.sent })
  end
end

---@param proposal rat.Proposal
---@param reason? string sent to the agent
local function reject(proposal, reason)
  if open_proposals[proposal.id] == proposal and not proposal.sent then
    open_proposals[proposal.id] = nil
    rpc.notify("decide_write", { id = proposal.id, reason = reason })
    question.settled(proposal.id)
    tab_page.close(proposal.page)
  end
end

---@param proposal rat.Proposal
local function quit(proposal)
  if editable.may_close(proposal.buf, "writes") then
    tab_page.close(proposal.page)
  end
end

---@type {[1]: string, [2]: fun(proposal: rat.Proposal), [3]: string}[] key, action, description
local KEYS = {
  { "ga", write, "write the text on the right" },
  {
    "gr",
    function(proposal)
      reject(proposal)
    end,
    "reject the write",
  },
  { "q", quit, "close; the write keeps waiting" },
}

local OTHERS = {
  { ":w ZZ", "write the text on the right" },
  { "]c [c", "next, previous change" },
  { "do", "revert a change, in the right window" },
}

---@param buf integer
---@param proposal rat.Proposal
local function map_keys(buf, proposal)
  local keys = vim.tbl_map(function(key)
    local function run()
      key[2](proposal)
    end
    return { { "n" }, key[1], run, key[3] }
  end, KEYS)
  key_list.map(buf, keys, OTHERS)
end

--- Opens the page of a write.
---@param payload rat.msg.Proposal
---@param by_itself boolean whether keys are held back until they pause
---@return rat.Proposal
local function open(payload, by_itself)
  groups.define()
  local proposal ---@type rat.Proposal
  local page = tab_page.open(function()
    -- |:wq| closes the page while the text is being written.
    if open_proposals[proposal.id] == proposal and not proposal.sent then
      open_proposals[proposal.id] = nil
      question.shown(proposal.id, nil)
      editable.say_waiting(payload.path)
    end
  end, true)
  local left = scratch.side(payload.path, "now", payload.before)
  local right = scratch.side(payload.path, "new", payload.after, true)
  proposal = { id = payload.id, page = page, buf = right }
  open_proposals[payload.id] = proposal
  question.shown(payload.id, function(is_wanted, reason)
    if is_wanted then
      write(proposal)
    else
      reject(proposal, reason)
    end
  end)
  present_text.follow(left, payload.path)
  tab_page.compare(page, left, right)
  local name = statusline_escape(vim.fn.fnamemodify((payload.path:gsub("%c", " ")), ":."))
  tab_page.set_winbars(
    page,
    (" %%#RatBar#%%<%s%%* now"):format(name),
    config_keys.bar({ { "ga", "write" }, { "gr", "reject" }, { "do", "revert" }, { "g?", "keys" } })
      .. "%<"
  )
  editable.attach(right, function()
    write(proposal)
  end)
  local function map_both()
    map_keys(left, proposal)
    map_keys(right, proposal)
  end
  if by_itself then
    auto_open.hold_keys({ left, right }, map_both)
  else
    map_both()
  end
  api.nvim_win_call(page.right, tab_page.go_to_first_change)
  return proposal
end

--- Shows a write that the user asked to see, or one that they wanted and that could not be made.
---@param payload rat.msg.Proposal
function M.arrived(payload)
  local shown = open_proposals[payload.id]
  local sent = shown and shown.sent
  if not (shown and sent) then
    if shown then
      return api.nvim_set_current_win(shown.page.right)
    end
    open(payload, question.opened_by_itself(payload.id))
    return
  end
  shown.sent = nil
  shown.ask_again()
  if shown.page.closed then
    shown = open(payload, true)
    scratch.load(shown.buf, scratch.fill, sent)
  end
  vim.bo[shown.buf].modifiable = true
  editable.settle(shown.buf)
end

--- Closes the comparison of a question that was answered elsewhere or withdrawn.
---@param id integer
local function close_settled(id)
  local proposal = open_proposals[id]
  open_proposals[id] = nil
  if proposal then
    tab_page.close(proposal.page)
  end
end

question.on_settled(close_settled)

return M
