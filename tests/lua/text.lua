--- Texts broken into lines, and made one line.
local check = dofile("tests/support/check.lua")
local case, same = check.case, check.same

local function wrap(text, width)
  return check.start():lua("return require('rat.util.text').wrap(...)", text, width)
end

case("lines break between words", function()
  same(wrap("one two three", 7), { "one two", "three" })
  same(wrap("one\n\ntwo", 7), { "one", "", "two" })
  same(wrap("", 7), { "" })
end)

--- Holds (Windows and views): What the user approves is shown with all its blanks.
case("runs of blanks stay, but for those at a break", function()
  same(wrap("  if x:\n      a    b", 40), { "  if x:", "      a    b" })
  same(wrap("rm  -rf   x", 8), { "rm  -rf", "x" })
  same(wrap("      aaaa", 6), { "      ", "aaaa" })
end)

case("a word that is longer than a line breaks within itself", function()
  same(wrap("see https://example.com", 8), { "see", "https://", "example.", "com" })
  same(wrap("日本語です", 5), { "日本", "語で", "す" })
  same(wrap("日本", 1), { "日", "本" })
end)

case("a line is shortened to cells, also beyond the width of the window", function()
  local nvim = check.start({ columns = 80 })
  local wide = "x" .. ("日"):rep(60)
  for width = 1, 121 do
    local cells =
      nvim:lua("return vim.api.nvim_strwidth(require('rat.util.text').shorten(...))", wide, width)
    assert(cells <= width and cells >= width - 1, width .. " " .. cells)
  end
  same(nvim:lua("return require('rat.util.text').shorten(...)", wide, 121), wide)
end)

case("what misleads a terminal or a reader is replaced", function()
  local nvim = check.start()
  local mark = "\239\191\189"
  for text, wanted in pairs({
    ["a\r\nb\tc"] = "a b c",
    ["a\27c\194\155d é"] = "a" .. mark .. "c" .. mark .. "d é",
    ["\226\128\174x\226\128\139"] = mark .. "x" .. mark,
    ["name\155]52;\255"] = "name" .. mark .. "]52;" .. mark,
    -- Joiners stay in emojis and in languages that need them, but nowhere else.
    ["\240\159\152\128\226\128\141\240\159\152\128"] = "\240\159\152\128\226\128\141\240\159\152\128",
    ["\217\134\226\128\140\216\174"] = "\217\134\226\128\140\216\174",
    ["rm\226\128\141\226\128\140 x"] = "rm" .. mark .. mark .. " x",
    ["\226\128\141x"] = mark .. "x",
  }) do
    same(nvim:lua("return require('rat.util.text').one_line(...)", text), wanted)
  end
end)

--- Holds (Hostile agents): Characters that hide or reorder text are visible in titles, cards, choosers and messages.
case("each character that misleads is replaced", function()
  local nvim = check.start()
  local code = "return vim.tbl_map(require('rat.util.text').one_line, ...)"
  local points = {
    0x07,
    0x1b,
    0x7f,
    0x85,
    0x9b,
    0xad,
    0x34f,
    0x61c,
    0x115f,
    0x17b4,
    0x180b,
    0x180e,
    0x200b,
    0x200c,
    0x200d,
  }
  vim.list_extend(
    points,
    { 0x200e, 0x200f, 0x2028, 0x202a, 0x202c, 0x202e, 0x2060, 0x2066, 0x2069, 0x206f, 0x2800 }
  )
  vim.list_extend(
    points,
    { 0x3164, 0xfeff, 0xffa0, 0xfff9, 0xfffb, 0x1bca0, 0x1d173, 0xe0001, 0xe0041, 0xe0100, 0xe0fff }
  )
  local texts = vim.tbl_map(function(point)
    return "rm" .. vim.fn.nr2char(point, true) .. " -rf"
  end, points)
  for _, shown in ipairs(nvim:lua(code, texts)) do
    same(shown, "rm\239\191\189 -rf")
  end
end)

check.finish()
