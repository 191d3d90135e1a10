--- Buffers of a chat that are deleted, by commands and by plugins, and windows that were ours: nothing of ours is left in them.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same
local NAMES = dofile("tests/support/buffer_removal.lua").NAMES

--- What each window of the tab page shows, from left to right and from the top down.
local SHOWN = [[
  return vim.tbl_map(function(win)
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
    return name:match("^rat://") and name or vim.fn.fnamemodify(name, ":t")
  end, vim.api.nvim_tabpage_list_wins(0))
]]

--- The options of windows without a view that are not the user's.
local LEFT = [[
  local left = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local buf = vim.api.nvim_win_get_buf(win)
    if not vim.api.nvim_buf_get_name(buf):match("^rat://") then
      for _, name in ipairs({ "winfixwidth", "winfixheight", "winfixbuf", "winbar", "number",
        "conceallevel", "linebreak", "signcolumn", "foldcolumn", "wrap", "list" }) do
        if vim.wo[win][name] ~= vim.go[name] then
          left[#left + 1] = ("%s: %s"):format(vim.fn.bufname(buf), name)
        end
      end
    end
  end
  return left
]]

local CHAT, PROMPT = "rat://claude/1", "rat://claude/1/prompt"

local function poll_shown(nvim, wanted)
  nvim:poll(
    ("vim.deep_equal((function() %s end)(), %s)"):format(SHOWN, vim.inspect(wanted):gsub("\n", " "))
  )
end

local function start(view, position)
  local nvim = check.start({ columns = 120, lines = 30 })
  nvim:lua("require('rat').setup({ layout = { position = ... } })", position or "right")
  nvim:lua("Removal = dofile(...)", check.root .. "/tests/support/buffer_removal.lua")
  nvim:lua("vim.uv.chdir(...)", nvim.home)
  nvim:command("set number list signcolumn=yes | edit b.txt | edit a.txt")
  nvim:open_chat()
  nvim:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", view .. "$")
  return nvim
end

--- Holds (Windows and views): However the transcript is deleted, the chat is closed; without its prompt it stays; no file is shown in its windows, and no window is added.
case("a view that is deleted in any way leaves no window and no option", function()
  for _, position in ipairs({ "right", "bottom" }) do
    for _, way in ipairs(NAMES) do
      for view, wanted in pairs({ [CHAT] = { "a.txt" }, [PROMPT] = { "a.txt", CHAT } }) do
        local nvim = start(view, position)
        for _ = 1, 3 do
          nvim:lua("Removal[...](vim.api.nvim_get_current_buf())", way)
          poll_shown(nvim, wanted)
          same(nvim:lua(LEFT), {}, way)
          nvim:command("RatStart claude")
          poll_shown(nvim, { "a.txt", CHAT, PROMPT })
          nvim:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", view .. "$")
        end
        same(nvim:lua("return #Said"), 0)
      end
    end
  end
end)

--- Holds (Windows and views): A window that was the chat's and is the last one keeps nothing of it.
case("in the last window a view that is deleted leaves no option", function()
  for _, way in ipairs(NAMES) do
    for _, view in ipairs({ CHAT, PROMPT }) do
      local nvim = start(view)
      nvim:command("only")
      nvim:lua("Removal[...](vim.api.nvim_get_current_buf())", way)
      nvim:poll("not vim.fn.bufname():match('^rat')")
      nvim:poll("vim.wo.winfixwidth == false and vim.wo.winfixheight == false")
      same(nvim:lua(LEFT), {}, way)
      nvim:command("RatToggle")
      nvim:poll(
        "vim.fn.bufwinid('rat://claude/1$') > 0 and vim.fn.bufwinid('rat://claude/1/prompt') > 0"
      )
      same(#nvim:windows(), 3, way)
    end
  end
end)

--- Holds (Windows and views): After `:only`, `:bdelete` and `:edit` in one line no option of a chat is left.
case("commands that follow at once leave nothing either", function()
  for _, line in ipairs({
    "only | bdelete",
    "only | bwipeout",
    "only | edit b.txt",
    "only | enew",
    "only | vsplit | edit b.txt",
    "bdelete | edit b.txt",
    "edit b.txt | bdelete #",
    "close | edit b.txt",
  }) do
    for _, view in ipairs({ CHAT, PROMPT }) do
      local nvim = start(view)
      nvim:command(line)
      for _ = 1, 4 do
        nvim:lua("return 1")
      end
      same(nvim:lua(LEFT), {}, line)
      same(nvim:lua("return #Said"), 0, line)
    end
  end
end)

--- Holds (Windows and views): The first `:RatToggle` after a session was restored hides its chat, the next one shows it.
case("a chat of a session file is hidden and shown again", function()
  local nvim = start(PROMPT)
  nvim:command("tabnew | edit b.txt | RatToggle")
  nvim:command("tabfirst")
  local file = nvim.own .. "/session.vim"
  nvim:command("mksession " .. file)
  local other = check.start({ columns = 120, lines = 30 })
  other:lua("vim.uv.chdir(...)", nvim.home)
  other:command("source " .. file)
  poll_shown(other, { "a.txt", CHAT, PROMPT })
  same(other:lua("return vim.wo[vim.fn.bufwinid(...)].winfixwidth", CHAT .. "$"), true)
  other:command("RatToggle")
  poll_shown(other, { "a.txt" })
  other:command("RatToggle")
  poll_shown(other, { "a.txt", CHAT, PROMPT })
  other:command("tabnext")
  poll_shown(other, { "b.txt", CHAT, PROMPT })
  other:command("RatToggle")
  poll_shown(other, { "b.txt" })
  same(other:lua(LEFT), {})
end)

--- Holds (Other plugins): neo-tree is not told to reveal a buffer of ours, whether it is loaded before the chat or after.
case("neo-tree reveals files, and nothing of ours", function()
  for _, is_early in ipairs({ true, false }) do
    local nvim = check.start()
    local folder = nvim.own .. "/neo/lua/neo-tree/sources"
    vim.fn.mkdir(folder, "p")
    vim.fn.writefile({
      "return { get_path_to_reveal = function(terminals) return vim.fn.expand('%:p'), terminals end }",
    }, folder .. "/manager.lua")
    nvim:lua("vim.opt.runtimepath:append(...)", nvim.own .. "/neo")
    nvim:command("edit " .. nvim.home .. "/a.txt")
    local reveal = "return { require('neo-tree.sources.manager').get_path_to_reveal(true) }"
    if is_early then
      nvim:lua(reveal)
    end
    nvim:open_chat()
    same(nvim:lua(reveal), {})
    nvim:enter("chat")
    same(nvim:lua(reveal), {})
    nvim:command("wincmd t")
    same(nvim:lua(reveal), { vim.uv.fs_realpath(nvim.home) .. "/a.txt", true })
  end
  local nvim = check.start()
  nvim:open_chat()
  same(nvim:lua("return (pcall(require, 'neo-tree.sources.manager'))"), false)
end)

check.finish()
