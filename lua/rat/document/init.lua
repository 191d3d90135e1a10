--- Starts what keeps the binary informed about the buffers of files.
local busy = require("rat.document.busy")
local external_change = require("rat.document.external_change")
local track = require("rat.document.track")

local M = {}

--- Starts to record modes and file times, and to report read, saved and unmodified buffers. A second call starts over.
function M.start()
  busy.start()
  external_change.repair()
  track.start()
end

return M
