--- What the user does with images, sound, resources and links of an agent: chosen from what the binary offers. Its data
--- stay in the binary until they are written to a file; nothing is opened or fetched unasked.
local say = require("rat.say")

local M = {}

---@class rat.Offer
---@field chat integer
---@field id string
---@field title string what it is
---@field name string for a file of it
---@field can ("show"|"picture"|"open"|"save")[]
---@field path? string where its address leads
---@field line? integer
---@field url? string
---@field host? string
---@field warnings string[] what to beware of there

---@param offer {chat: integer, id: string}
---@param act string
---@param more? table
local function tell(offer, act, more)
  local payload = { chat = offer.chat, id = offer.id, act = act }
  require("rat.rpc").notify("content", vim.tbl_extend("force", payload, more or {}))
end

--- Has it written to a folder that nobody else can read and that goes with Neovim, |tempname()|.
---@param offer rat.Offer
---@param use "show"|"open" what for
local function write_aside(offer, use)
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, "", tonumber("700", 8))
  tell(offer, "write", { path = vim.fs.joinpath(folder, offer.name), use = use })
end

--- Asks where to, as often as it takes.
---@param offer {chat: integer, id: string}
---@param default string
local function save(offer, default)
  vim.ui.input({ prompt = "Save as: ", default = default, completion = "file" }, function(path)
    if path and vim.trim(path) ~= "" then
      path = vim.fn.fnamemodify(vim.fs.normalize(vim.trim(path)), ":p")
      tell(offer, "write", { path = path })
    end
  end)
end

---@param offer rat.Offer
local function go_to_file(offer)
  require("rat.location").open({ path = offer.path, line = offer.line })
end

--- Asks before it opens a page, with the whole address in sight.
---@param offer rat.Offer
local function open_page(offer)
  -- The host first: of a long address it is what counts.
  local beware = table.concat({ "The host is " .. offer.host, unpack(offer.warnings) }, "; ")
  local question = ("%s. Open %s in the browser?"):format(beware, offer.url)
  local items = { "Leave it", "Copy the address", "Open it" }
  local opts = { prompt = question, careful = true, harmless = true }
  require("rat.select").open(items, opts, function(_, index)
    if index == 3 then
      require("rat.location").hand_over(offer.url)
    elseif index == 2 then
      vim.fn.setreg(vim.v.register, offer.url)
      say.info("the address is in the register " .. vim.v.register)
    end
  end)
end

---@class rat.ContentAct
---@field words string
---@field fits fun(offer: rat.Offer): any
---@field run fun(offer: rat.Offer)

---@type rat.ContentAct[]
local acts = {
  {
    words = "Show the text",
    fits = function(offer)
      return vim.list_contains(offer.can, "show")
    end,
    run = function(offer)
      tell(offer, "show")
    end,
  },
  {
    words = "Show the image",
    fits = function(offer)
      return vim.list_contains(offer.can, "picture") and require("rat.picture").can()
    end,
    run = function(offer)
      write_aside(offer, "show")
    end,
  },
  {
    words = "Open with another program",
    fits = function(offer)
      return vim.list_contains(offer.can, "open")
    end,
    run = function(offer)
      write_aside(offer, "open")
    end,
  },
  {
    words = "Save as …",
    fits = function(offer)
      return vim.list_contains(offer.can, "save")
    end,
    run = function(offer)
      save(offer, offer.name)
    end,
  },
  {
    words = "Go to the file",
    fits = function(offer)
      return offer.path
    end,
    run = go_to_file,
  },
  {
    words = "Open the page",
    fits = function(offer)
      return offer.url
    end,
    run = open_page,
  },
}

--- The binary says what can be done with content: a link is followed at once, else the user chooses.
---@param offer rat.Offer
function M.offered(offer)
  local possible = vim.tbl_filter(function(act)
    return act.fits(offer)
  end, acts)
  if #possible == 0 then
    return say.info("nothing can be done with it here: " .. offer.title)
  elseif #possible == 1 and (offer.path or offer.url) then
    return possible[1].run(offer)
  end
  local opts = {
    prompt = offer.title,
    format_item = function(act)
      return act.words
    end,
  }
  require("rat.select").open(possible, opts, function(act)
    if act then
      act.run(offer)
    end
  end)
end

--- Content was written to a file, or was not because there is one of that name.
---@param payload {chat: integer, id: string, path: string, exists: boolean, use: string?}
function M.exported(payload)
  local path = payload.path
  if payload.use == "show" then
    return require("rat.picture").show(path)
  elseif payload.use == "open" then
    return require("rat.location").hand_over(path)
  end
  local items = { "Save under another name", "Replace it" }
  local question = vim.fn.fnamemodify(path, ":~") .. " exists already"
  local opts = { prompt = question, careful = true, harmless = true, held = true }
  require("rat.select").open(items, opts, function(_, index)
    if index == 2 then
      tell(payload, "write", { path = path, replace = true })
    elseif index == 1 then
      save(payload, path)
    end
  end)
end

return M
