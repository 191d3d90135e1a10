--- Defines the highlight groups of winbars, hints and conflicts as links to standard groups. Those of the text are defined
--- by `decoration`.
local M = {}

---@type table<string, string>
M.links = {
  RatBar = "Title",
  RatStateStopped = "Comment",
  RatStateStarting = "DiagnosticInfo",
  RatStateReady = "DiagnosticOk",
  RatStateRunning = "DiagnosticInfo",
  RatStateWaiting = "DiagnosticWarn",
  RatStateCancelling = "DiagnosticWarn",
  RatStateFailed = "DiagnosticError",
  RatKey = "Special",
  RatConflict = "DiagnosticWarn",
  RatPendingAdd = "Added",
  RatPendingChange = "Changed",
  RatPendingDelete = "Removed",
  RatReviewFile = "Directory",
  RatReviewHunk = "Comment",
  RatReviewAdd = "DiffAdd",
  RatReviewDelete = "DiffDelete",
  RatComment = "DiagnosticInfo",
  RatAttachment = "Directory",
  RatHint = "Comment",
}

local defined = false

local function link()
  for name, target in pairs(M.links) do
    vim.api.nvim_set_hl(0, name, { link = target, default = true })
  end
end

--- Defines the groups, now and after each change of the colour scheme.
function M.define()
  if defined then
    return
  end
  defined = true
  link()
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = vim.api.nvim_create_augroup("rat_groups", {}),
    callback = link,
  })
end

return M
