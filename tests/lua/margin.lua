--- The frame of a card on each row that its lines wrap to, and that it never lies on text.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local SETUP = [[
  package.loaded["rat.view.ui"] = nil
  local margin, look = require("rat.view.margin"), require("rat.view.line_format")
  Buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_win_set_buf(0, Buf)
  require("rat.view.decoration").attach(Buf)
  require("rat.view.window_options").follow(Buf, "chat")
  --- Lines as { text, class, prefix, letter }.
  function Put(lines)
    margin.clear(Buf, 0, -1)
    look.reset(Buf)
    vim.api.nvim_buf_set_lines(Buf, 0, -1, true, vim.tbl_map(function(line)
      local over = line[3] and vim.startswith(line[3], " ")
      return over and (" "):rep(vim.fn.strchars(line[3])) .. line[1] or line[1]
    end, lines))
    look.splice(Buf, 0, 0, vim.tbl_map(function(line) return line[2] .. "|||" end, lines))
    for row, line in ipairs(lines) do
      if line[3] then
        margin.set(Buf, row - 1, { 0, line[3], "NonText" }, tostring)
      end
    end
  end
  function Rows()
    vim.api.nvim_win_set_cursor(0, { 1, 0 })
    vim.cmd("normal! zt")
    vim.cmd.redraw()
    local height = vim.api.nvim_win_text_height(0, {}).all
    local origin, found = vim.fn.win_screenpos(0), {}
    for row = 0, math.min(height, vim.api.nvim_win_get_height(0)) - 1 do
      local cells = {}
      for col = 0, vim.api.nvim_win_get_width(0) - 1 do
        cells[#cells + 1] = vim.fn.screenstring(origin[1] + row, origin[2] + col)
      end
      found[#found + 1] = (table.concat(cells):gsub("%s+$", ""))
    end
    return found
  end
]]

---@param lines table[]
---@param width? integer
local function rows(nvim, lines, width)
  nvim:lua("Put(...)", lines)
  nvim:command("vertical resize " .. (width or 30))
  return nvim:lua("return Rows()")
end

local function start()
  local nvim = check.start({ columns = 100, lines = 60 })
  nvim:command("vnew | wincmd h")
  nvim:lua(SETUP)
  return nvim
end

local WORDS = "one two three four five six seven eight nine ten"

--- Holds (Windows and views): A card's frame is on each row its lines wrap to, and never on text.
case("each row that a line of a card wraps to has the frame", function()
  same(
    rows(start(), {
      { "run", "x", "✓ " },
      { WORDS, "y", "  │ " },
      { WORDS, "d", "  │ - " },
      { "  " .. WORDS, "y", "  │   " },
      { "- " .. WORDS, "y", "  │ " },
      { WORDS, "o", "  [g1] " },
      { WORDS, "n", "  └ " },
      { WORDS, "p" },
    }),
    {
      "✓ run",
      "  │ one two three four five",
      "  │ six seven eight nine ten",
      "  │ - one two three four five",
      "  │   six seven eight nine ten",
      "  │     one two three four",
      "  │     five six seven eight",
      "  │     nine ten",
      "  │ - one two three four five",
      "  │   six seven eight nine ten",
      "  [g1] one two three four",
      "       five six seven eight",
      "       nine ten",
      "  └ one two three four five",
      "    six seven eight nine ten",
      "one two three four five six",
      "seven eight nine ten",
    }
  )
end)

--- Holds (Windows and views): A card's frame is on each row its lines wrap to, and never on text.
case("no frame lies on text, whatever the width and whatever the user has set", function()
  local nvim = start()
  local lines = {
    { WORDS, "y", "  │ " },
    { "a_name_that_has_no_blank_at_all_and_wraps_anywhere", "a", "  │ + " },
    { WORDS, "y", "  │ · " },
  }
  local wanted = WORDS .. lines[2][1] .. WORDS
  wanted = wanted:gsub("%s", "")
  for _, options in ipairs({
    "",
    "setlocal nobreakindent",
    "setlocal breakindent breakindentopt=shift:1",
    "setlocal breakindentopt=min:40",
    "setlocal breakindentopt=list:-1 showbreak=>>",
    "setlocal showbreak=NONE",
    "setlocal showbreak= | set showbreak=>>",
    "set showbreak= | setlocal number",
    "setlocal nonumber nolinebreak",
    "setlocal linebreak | set ambiwidth=double",
  }) do
    nvim:command(options)
    for width = 12, 60, 3 do
      local text = table.concat(rows(nvim, lines, width))
      -- Frames, signs, numbers and 'showbreak' aside.
      local bare = text:gsub("│", ""):gsub("·", ""):gsub("[%s%d+>]", "")
      same(bare, wanted, options .. " " .. width .. "\n" .. text)
    end
  end
end)

case("a fold in a card stands in its frame", function()
  local nvim = start()
  local line = { "text", "y", "  │ " }
  nvim:command("setlocal foldtext=v:lua.require'rat.view.fold'.text()")
  rows(nvim, { { "run", "x", "✓ " }, line, line, line, line })
  nvim:command("2,4fold")
  same(nvim:lua("return Rows()"), {
    "✓ run",
    "  │ ▸ 3 lines",
    "  │ text",
  })
end)

case("what is yanked has no frame", function()
  local nvim = start()
  rows(nvim, { { "text", "a", "  │ + " } })
  nvim:command("1yank")
  same(nvim:lua("return vim.fn.getreg('\"')"), "      text\n")
end)

check.finish()
