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

case("what misleads a terminal or a reader is replaced", function()
  local nvim = check.start()
  local mark = "\239\191\189"
  for text, wanted in pairs({
    ["a\r\nb\tc"] = "a b c",
    ["a\27c\194\155d é"] = "a" .. mark .. "c" .. mark .. "d é",
    ["\226\128\174x\226\128\139"] = mark .. "x" .. mark,
    ["name\155]52;\255"] = "name" .. mark .. "]52;" .. mark,
    ["zwj \226\128\141 \240\159\152\128"] = "zwj \226\128\141 \240\159\152\128",
  }) do
    same(nvim:lua("return require('rat.util.text').one_line(...)", text), wanted)
  end
end)

check.finish()
