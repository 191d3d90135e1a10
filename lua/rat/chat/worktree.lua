--- Starts sessions in git worktrees of their own, and resumes earlier ones. The binary creates, merges and
--- removes worktrees.
local punctuation = require("rat.util.punctuation")
local agents = require("rat.config.agents")
local chooser = require("rat.ask.chooser")
local current_chat = require("rat.chat.current")
local launch = require("rat.chat.launch")
local notify = require("rat.util.notify")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local settings = require("rat.config.settings")
local window = require("rat.view.window")
local worktrees = require("rat.config.worktrees")

local M = {}

--- The word after the name of an agent that asks for a worktree.
M.word = "worktree"

--- The agents that wait for a worktree, by the number of the request.
---@type table<integer, string>
local requested = {}

local last_request = 0

--- Whether an agent knows folders by other paths, and the one that worktrees are in by none.
---@param request rat.notify.Start
---@return boolean
local function cannot_see(request)
  local paths = request.options.paths or (settings.agents()[request.agent] or {}).paths or {}
  local folder = worktrees.folder() .. "/"
  local function covers(path)
    return vim.startswith(folder, (vim.fs.normalize(path):gsub("/*$", "/")))
  end
  return next(paths) ~= nil and not vim.iter(vim.tbl_keys(paths)):any(covers)
end

--- Starts a new session in a new worktree of the repository that the folder is in.
---@param agent? string by default as for `:RatStart`
function M.start(agent)
  launch.choose(agent, function(name)
    local request, problem = agents.request(name)
    if not request then
      return notify.error(problem --[[@as string]])
    end
    if cannot_see(request) then
      local text = "%s knows your folders by other paths, so it cannot see a worktree"
      return notify.error(text:format(name))
    end
    last_request = last_request + 1
    local asked = rpc.request("create_worktree", {
      request = last_request,
      cwd = worktrees.project(request.cwd),
      below = worktrees.folder(),
      agent = name,
    })
    if asked then
      requested[last_request] = name
      window.expect_focus()
      notify.info("Creating a worktree")
    end
  end)
end

---@param payload rat.msg.Worktree
---@param cwd string
---@return string
local function what_is_in_it(payload, cwd)
  local count = payload.uncommitted
  local left_out = ""
  if count > 0 then
    left_out = (" Your uncommitted changes in %s are not in it."):format(
      count == 1 and "1 file" or count .. " files"
    )
  end
  local worktree = worktrees.of(cwd)
  local name = worktree and worktree.name or vim.fs.basename(cwd)
  return ("Started in the worktree %s at %s.%s"):format(name, payload.commit, left_out)
end

--- Handles a worktree that was created.
---@param payload rat.msg.Worktree
function M.created(payload)
  local agent = requested[payload.request]
  requested[payload.request] = nil
  local cwd = payload.cwd
  if not cwd then
    return notify.error(("Could not create a worktree: %s"):format(payload.problem))
  elseif agent then
    launch.start({ agent = agent, cwd = cwd, new = true, focus = true }, function()
      notify.info(what_is_in_it(payload, cwd))
    end)
  end
end

--- Returns the chat whose worktree is meant: the current one, else the only one in a worktree of this folder.
---@return rat.Chat?
function M.chat()
  local chat = current_chat.get()
  if chat and worktrees.of(chat.cwd) then
    return chat
  end
  local here = vim.fn.getcwd()
  local found = vim.tbl_filter(function(other)
    local worktree = worktrees.of(other.cwd)
    return other.id ~= nil and worktree ~= nil and worktree.project == here
  end, registry.list())
  return #found == 1 and found[1] or chat
end

--- Lets the user choose from the worktrees of this folder, and resumes the last session there.
function M.choose()
  local found = worktrees.list(vim.fn.getcwd())
  if #found == 0 then
    return notify.info("This folder has no worktrees. :RatStart! AGENT worktree creates one.")
  end
  chooser.open(found, {
    prompt = "Resume in which worktree?",
    format_item = function(worktree)
      return punctuation.own("%s · %s"):format(worktree.name, worktree.agent)
    end,
  }, function(worktree)
    if worktree then
      launch.start({ agent = worktree.agent, cwd = worktree.cwd, focus = true })
    end
  end)
end

rpc.on_lost(function()
  requested = {}
end)

return M
