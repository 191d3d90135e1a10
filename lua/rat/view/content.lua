--- Lets the user choose what to do with an image, audio, resource or link of an agent, out of what the binary offers. The
--- data stay in the binary until they are written to a file, and nothing is opened or fetched unless the user asks.
local punctuation = require("rat.util.punctuation")
local chooser = require("rat.ask.chooser")
local location = require("rat.view.location")
local notify = require("rat.util.notify")
local picture = require("rat.view.picture")
local rpc = require("rat.rpc")

local M = {}

---@alias rat.Offer rat.msg.Offer

---@param offer {chat: integer, id: string}
---@param act string
---@param more? table
local function send(offer, act, more)
  ---@type rat.notify.Content
  local payload =
    vim.tbl_extend("force", { chat = offer.chat, id = offer.id, act = act }, more or {})
  rpc.notify("content", payload)
end

--- Has the binary write the content to a folder that only the user can read and that is removed with Neovim, |tempname()|.
---@param offer rat.Offer
---@param use "show"|"open" what to do with the file then
local function write_temporary(offer, use)
  local folder = vim.fn.tempname()
  -- Neovim's annotation says string, but the function takes a number.
  ---@diagnostic disable-next-line: param-type-mismatch
  vim.fn.mkdir(folder, "", tonumber("700", 8))
  send(offer, "write", { path = vim.fs.joinpath(folder, offer.name), use = use })
end

--- Asks for a path and has the binary write the content there. If the file exists, `exported` asks again.
---@param offer {chat: integer, id: string}
---@param default string
local function save(offer, default)
  vim.ui.input({ prompt = "Save as: ", default = default, completion = "file" }, function(path)
    if path and vim.trim(path) ~= "" then
      path = vim.fn.fnamemodify(vim.fs.normalize(vim.trim(path)), ":p")
      send(offer, "write", { path = path })
    end
  end)
end

---@param offer rat.Offer
local function go_to_file(offer)
  location.open({
    path = offer.path --[[@as string]],
    line = offer.line,
  })
end

--- Opens a page in the browser after a question that shows the whole URL.
---@param offer rat.Offer
local function open_page(offer)
  -- The host comes first because it matters most in a long URL.
  local facts = table.concat({ "Host: " .. offer.host, unpack(offer.warnings) }, "; ")
  local question = ("%s. Open %s in the browser?"):format(facts, offer.url)
  local items = { "Cancel", "Copy the URL", "Open it" }
  local opts = { prompt = question, careful = true, harmless = true }
  chooser.open(items, opts, function(_, index)
    if index == 3 then
      location.open_externally(offer.url --[[@as string]])
    elseif index == 2 then
      vim.fn.setreg(vim.v.register, offer.url)
      notify.info("Copied the URL to register " .. vim.v.register)
    end
  end)
end

---@class rat.ContentAct
---@field label string
---@field is_possible fun(offer: rat.Offer): any
---@field run fun(offer: rat.Offer)

---@type rat.ContentAct[]
local acts = {
  {
    label = "Show the text",
    is_possible = function(offer)
      return vim.list_contains(offer.can, "show")
    end,
    run = function(offer)
      send(offer, "show")
    end,
  },
  {
    label = "Show the image",
    is_possible = function(offer)
      return vim.list_contains(offer.can, "picture") and picture.is_available()
    end,
    run = function(offer)
      write_temporary(offer, "show")
    end,
  },
  {
    label = "Open with another program",
    is_possible = function(offer)
      return vim.list_contains(offer.can, "open")
    end,
    run = function(offer)
      write_temporary(offer, "open")
    end,
  },
  {
    label = punctuation.own("Save as …"),
    is_possible = function(offer)
      return vim.list_contains(offer.can, "save")
    end,
    run = function(offer)
      save(offer, offer.name)
    end,
  },
  {
    label = "Go to the file",
    is_possible = function(offer)
      return offer.path
    end,
    run = go_to_file,
  },
  {
    label = "Open the page",
    is_possible = function(offer)
      return offer.url
    end,
    run = open_page,
  },
}

--- Handles an offer from the binary: follows a link if that is all that can be done, else lets the user choose.
---@param offer rat.Offer
function M.offered(offer)
  local possible = vim.tbl_filter(function(act)
    return act.is_possible(offer)
  end, acts)
  if #possible == 0 then
    return notify.info("Cannot open this content: " .. offer.title)
  elseif #possible == 1 and (offer.path or offer.url) then
    return possible[1].run(offer)
  end
  local opts = {
    prompt = offer.title,
    format_item = function(act)
      return act.label
    end,
  }
  chooser.open(possible, opts, function(act)
    if act then
      act.run(offer)
    end
  end)
end

--- Handles content that was written to a temporary file, which is shown or opened. For a path that the user chose, this
--- message means that the file exists already, and they are asked what to do.
---@param payload rat.msg.Exported
function M.exported(payload)
  local path = payload.path
  if payload.use == "show" then
    return picture.show(path)
  elseif payload.use == "open" then
    return location.open_externally(path)
  end
  local items = { "Save under another name", "Replace it" }
  local question = vim.fn.fnamemodify(path, ":~") .. " already exists"
  local opts = { prompt = question, careful = true, harmless = true, ignore_typeahead = true }
  chooser.open(items, opts, function(_, index)
    if index == 2 then
      send(payload, "write", { path = path, replace = true })
    elseif index == 1 then
      save(payload, path)
    end
  end)
end

return M
