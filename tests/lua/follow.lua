--- Windows that follow where agents work: which one, and what never happens to the others.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function files(nvim)
  for _, name in ipairs({ "a.txt", "b.txt", "c.txt" }) do
    local lines = {}
    for i = 1, 50 do
      lines[i] = name .. " " .. i
    end
    vim.fn.writefile(lines, nvim.home .. "/" .. name)
  end
end

--- What the agent says of a tool call that works on a file.
local function works_on(nvim, path, line, fields)
  nvim:say("update", {
    name = "tool_call",
    data = vim.tbl_extend("force", {
      chat = 1,
      id = "t",
      new = true,
      title = "Read",
      kind = "read",
      status = "in_progress",
      replayed = false,
      locations = { { path = path, line = line } },
    }, fields or {}),
  })
end

local function poll_at(nvim, win, name, line)
  local code = "vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(%d)):match('[^/]*$') == %q"
    .. " and vim.api.nvim_win_get_cursor(%d)[1] == %d"
  nvim:poll(code:format(win, name, win, line))
end

--- Holds (Windows and views): A window that the user has chosen follows the agent while they are in another one.
case("the chosen window follows, unless the user is in it", function()
  local nvim = check.start()
  files(nvim)
  nvim:command("edit a.txt | split")
  local chosen = nvim:lua("return vim.api.nvim_get_current_win()")
  nvim:command("RatFollow")
  nvim:told("This window follows the agent")
  nvim:open_chat()
  works_on(nvim, nvim.home .. "/b.txt", 30)
  poll_at(nvim, chosen, "b.txt", 30)
  same(nvim:lua("return vim.bo.filetype"), "ratprompt", "the user was moved")
  same(nvim:lua("return vim.fn.buflisted('b.txt')"), 0)
  works_on(nvim, "c.txt", 99)
  poll_at(nvim, chosen, "c.txt", 50)
  works_on(nvim, "no such file", 1)
  works_on(nvim, "a.txt", 3, { replayed = true })
  nvim:lua("vim.api.nvim_set_current_win(...)", chosen)
  works_on(nvim, "a.txt", 2)
  nvim:lua("vim.api.nvim_win_set_cursor(0, { 7, 0 })")
  poll_at(nvim, chosen, "c.txt", 7)
  nvim:command("RatFollow")
  nvim:told("This window does not follow the agent any more")
  nvim:enter("prompt")
  works_on(nvim, "a.txt", 2)
  poll_at(nvim, chosen, "c.txt", 7)
  nvim:command("RatFollow")
  nvim:told("This window cannot follow")
end)

--- Holds (Windows and views): With `follow` any window of the user's follows but the one they are in.
case("with the option a window is found", function()
  local nvim = check.start()
  files(nvim)
  nvim:lua("require('rat').setup({ follow = true })")
  nvim:command("edit a.txt")
  local code = nvim:lua("return vim.api.nvim_get_current_win()")
  nvim:open_chat()
  works_on(nvim, "b.txt", 12)
  poll_at(nvim, code, "b.txt", 12)
  nvim:lua("vim.api.nvim_set_current_win(...)", code)
  works_on(nvim, "c.txt", 5)
  nvim:lua("vim.api.nvim_win_set_cursor(0, { 9, 0 })")
  poll_at(nvim, code, "b.txt", 9)
  nvim:command("split")
  works_on(nvim, "c.txt", 5)
  poll_at(nvim, code, "c.txt", 5)
end)

check.finish()
