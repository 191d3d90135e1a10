--- Plays window commands, deleted buffers and session files, in an order that chance decides, and looks after each whether the
--- windows of a chat and those of the user are what they should be. `RAT_SEED` and `RAT_STEPS` choose others.
local check = dofile("tests/support/check.lua")
local case = check.case

local SEED = 20261127
local STEPS = 400
local STEPS_OF_A_WORLD = 40

--- Chance from a seed: the same seed gives the same steps.
---@param seed integer
local function dice(seed)
  local state = seed % 2147483648
  return function(count)
    for _ = 1, 2 do
      state = (state * 1103515245 + 12345) % 2147483648
    end
    return math.floor(state / 65536) % count + 1
  end
end

--- What the child knows of the windows: those that the user has split, and what is wrong.
local KNOWN = [[
  Users, Views = {}, { "rat://claude/1", "rat://claude/1/prompt", "rat://claude/1/plan", "rat://claude/1/tools" }
  vim.o.number, vim.o.list, vim.o.signcolumn, vim.o.hidden = true, true, "yes", true
  vim.o.sessionoptions = "blank,buffers,curdir,folds,help,tabpages,winsize,terminal"

  --- Runs a command as the user's, whose new windows are theirs, and those that show another buffer now.
  function AsUser(command)
    local before = {}
    for _, win in ipairs(vim.api.nvim_list_wins()) do before[win] = vim.api.nvim_win_get_buf(win) end
    if command == "quit" and #vim.api.nvim_list_wins() == 1 then return end
    local ok, problem = pcall(vim.cmd, command)
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      Users[win] = Users[win] or before[win] ~= vim.api.nvim_win_get_buf(win) or nil
    end
    return ok or problem
  end

  local function is_ours(win)
    return vim.startswith(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)), "rat://")
  end

  --- The windows of the tab page that show nothing of ours.
  function Others()
    return vim.tbl_filter(function(win) return not is_ours(win) end, vim.api.nvim_tabpage_list_wins(0))
  end

  local OPTIONS = { "winfixwidth", "winfixheight", "winfixbuf", "winbar", "number", "conceallevel", "linebreak",
    "breakindent", "signcolumn", "foldcolumn", "wrap", "list", "statuscolumn", "fillchars", "foldtext" }

  --- Returns what is wrong now.
  function Wrong()
    local wrong, shown = {}, {}
    if vim.o.cmdheight ~= 1 then
      -- Neovim itself gives the command line what no window takes in a tab page that is entered after the screen was resized.
      wrong[1] = not Resized and "the command line has " .. vim.o.cmdheight .. " lines" or nil
      vim.o.cmdheight = 1
    end
    for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
      for _, win in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
        local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
        if vim.list_contains(Views, name) then
          local key = tab .. name
          shown[key] = (shown[key] or 0) + (Users[win] and 0 or 1)
          if shown[key] > 1 then
            wrong[#wrong + 1] = name .. " is in two windows"
          end
          local wo = vim.wo[win]
          if wo.number or wo.signcolumn ~= "no" or not wo.linebreak then
            wrong[#wrong + 1] = name .. " lacks its options"
          end
        elseif not is_ours(win) then
          for _, option in ipairs(OPTIONS) do
            if vim.wo[win][option] ~= vim.go[option] then
              wrong[#wrong + 1] = ("%s has %s of a chat"):format(vim.fn.fnamemodify(name, ":t"), option)
            end
          end
        end
      end
    end
    for _, said in ipairs(Said) do
      if said[2] == vim.log.levels.ERROR and not said[1]:find("no room for another window", 1, true) then
        wrong[#wrong + 1] = said[1]
      end
    end
    Said = {}
    if vim.v.errmsg:find("rat", 1, true) and not vim.v.errmsg:find("^E") then
      wrong[#wrong + 1] = vim.v.errmsg
    end
    return wrong
  end

  function IsShown()
    return vim.fn.bufwinid("^rat://claude/1$") > 0 and vim.fn.bufwinid("^rat://claude/1/prompt$") > 0
  end
]]

--- Lets what was scheduled run, and what that schedules.
local function settle(nvim)
  for _ = 1, 5 do
    nvim:lua("return 1")
  end
end

local function user(command)
  return function(nvim)
    nvim:lua("return AsUser(...)", command)
  end
end

--- Shows the chat again, whatever was done before, without a window of the user's more or less.
local function show_again(nvim)
  local tab, others =
    nvim:lua("return vim.api.nvim_get_current_tabpage()"), nvim:lua("return Others()")
  -- Hiding a chat that has a tab page for itself leads to the next one, where that may be so, too.
  for _ = 0, nvim:lua("return #vim.api.nvim_list_tabpages()") do
    if not nvim:lua("return IsShown()") then
      nvim:lua("vim.cmd.RatToggle()")
      settle(nvim)
    end
  end
  if not nvim:lua("return IsShown()") then
    error("the chat is not shown again\n" .. nvim:lua("return vim.inspect(Said)"), 0)
  end
  local left = nvim:lua("return Others()")
  local is_same_tab = tab == nvim:lua("return vim.api.nvim_get_current_tabpage()")
  if is_same_tab and #others > 0 and not vim.deep_equal(others, left) then
    error(("the user's windows were %s, are %s"):format(vim.inspect(others), vim.inspect(left)), 0)
  end
end

local removal = dofile("tests/support/buffer_removal.lua").NAMES

---@type [string, fun(nvim: Child, roll: fun(count: integer): integer)][]
local steps = {
  { "show again", show_again },
  { "show again", show_again },
  {
    "start",
    function(nvim)
      nvim:lua("vim.cmd.RatStart('claude')")
    end,
  },
  {
    "toggle",
    function(nvim)
      nvim:lua("vim.cmd.RatToggle()")
    end,
  },
  {
    "plan or tools",
    function(nvim, roll)
      nvim:lua("vim.cmd(...)", roll(2) == 1 and "RatPlan" or "RatTools")
    end,
  },
  {
    "another window",
    function(nvim, roll)
      nvim:command(roll(nvim:lua("return vim.fn.winnr('$')")) .. "wincmd w")
    end,
  },
  {
    "another tab page",
    function(nvim, roll)
      nvim:command("tabnext " .. (roll(nvim:lua("return vim.fn.tabpagenr('$')"))))
    end,
  },
  {
    "delete this buffer",
    function(nvim, roll)
      nvim:lua("Removal[...](vim.api.nvim_get_current_buf())", removal[roll(#removal)])
    end,
  },
  {
    "delete a view",
    function(nvim, roll)
      local code =
        "local way, view = ...; local buf = vim.fn.bufnr('^' .. Views[view] .. '$'); if buf > 0 then Removal[way](buf) end"
      nvim:lua(code, removal[roll(#removal)], roll(2))
    end,
  },
  {
    "edit",
    function(nvim, roll)
      nvim:lua("return AsUser(...)", "edit " .. ({ "a.txt", "b.txt", "c.txt" })[roll(3)])
    end,
  },
  {
    "type in the prompt",
    function(nvim)
      nvim:lua([[
        local win = vim.fn.bufwinid("^rat://claude/1/prompt$")
        if win > 0 then
          vim.api.nvim_buf_set_lines(vim.api.nvim_win_get_buf(win), -1, -1, false, { "more" })
        end
      ]])
    end,
  },
  {
    "write and read a session",
    function(nvim)
      local file = nvim.own .. "/session.vim"
      nvim:lua("pcall(vim.cmd, 'mksession! ' .. ...)", file)
      nvim:lua("pcall(vim.cmd, 'silent! %bwipeout!')")
      settle(nvim)
      nvim:lua("Users = {}; pcall(vim.cmd, 'silent! source ' .. ...)", file)
      -- A session file does not say who has split a window.
      nvim:lua("for _, win in ipairs(vim.api.nvim_list_wins()) do Users[win] = true end")
    end,
  },
  {
    "resize",
    function(nvim, roll)
      nvim:lua(
        "Resized, vim.o.columns, vim.o.lines = true, ...",
        60 + 20 * roll(4),
        20 + 5 * roll(4)
      )
    end,
  },
}
for _, command in ipairs({
  "only",
  "only | bdelete",
  "close",
  "quit",
  "split",
  "vsplit",
  "new",
  "vnew",
  "enew",
  "buffer #",
  "bnext",
  "tab split",
  "tabnew",
  "tabclose",
  "wincmd T",
  "wincmd H",
  "wincmd J",
  "wincmd =",
  "wincmd x",
  "wincmd r",
  "edit b.txt | bdelete #",
}) do
  steps[#steps + 1] = { command, user(command) }
end

--- Begins a world: one file, and a chat beside it.
local function begin(nvim)
  nvim:lua([[
    pcall(vim.cmd, "silent! tabonly | silent! only | silent! %bwipeout!")
    vim.o.columns, vim.o.lines, vim.o.cmdheight = 120, 30, 1
    Resized, Users, Said, vim.v.errmsg = false, {}, {}, ""
  ]])
  settle(nvim)
  nvim:command("edit b.txt | edit a.txt")
  nvim:lua("vim.cmd.RatToggle()")
  settle(nvim)
end

--- Holds (Windows and views): Whatever is done with windows, buffers and session files, a page of ours has one window and its options, no file has them, and the chat can be shown again.
case("window commands, deletions and session files in any order", function()
  local seed = tonumber(vim.env.RAT_SEED) or SEED
  local count = tonumber(vim.env.RAT_STEPS) or STEPS
  local nvim = check.start({ columns = 120, lines = 30 })
  nvim:lua("Removal = dofile(...)", check.root .. "/tests/support/buffer_removal.lua")
  nvim:lua("vim.uv.chdir(...)", nvim.home)
  nvim:open_chat()
  nvim:lua(KNOWN)
  for world = 0, math.ceil(count / STEPS_OF_A_WORLD) - 1 do
    local roll, done = dice(seed + world), {}
    begin(nvim)
    for _ = 1, STEPS_OF_A_WORLD do
      local step = steps[roll(#steps)]
      done[#done + 1] = step[1]
      local ok, problem = pcall(step[2], nvim, roll)
      -- Neovim says so itself where there is no room for another window.
      ok = ok or tostring(problem):find("E36:", 1, true) ~= nil
      settle(nvim)
      local wrong = nvim:lua("return Wrong()")
      if not ok or #wrong > 0 then
        error(
          ("RAT_SEED=%d RAT_STEPS=1 plays this again, RAT_SEED=%d RAT_STEPS=%d with all before it\n%s\n%s\n%s\n%s"):format(
            seed + world,
            seed,
            (world + 1) * STEPS_OF_A_WORLD,
            table.concat(done, "\n"),
            tostring(problem or ""),
            table.concat(wrong, "\n"),
            nvim:screen()
          ),
          0
        )
      end
    end
  end
end)

check.finish()
