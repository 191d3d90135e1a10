--- What the binary hands to functions of Lua, and what they answer. Written from the types in `src/nvim/messages` by `make messages`.
---@meta _

--- What Lua has to know about the binary.
---@class (exact) rat.call.Hello
---@field version string The version of the binary, which must be that of the plugin.

--- The state of a buffer, beside its lines.
---@class (exact) rat.call.Facts
---@field buf integer The buffer.
---@field tick integer 'changedtick'.
---@field undo integer Where it is in its undo history (`:help changenr()`).
---@field lines integer The number of lines.
---@field bytes integer The size of the lines in bytes, with one byte for each line break.
---@field empty boolean Whether there is no text, not even an empty line.
---@field modified boolean Whether it has unsaved changes.
---@field locked? string Why it cannot be changed or saved.
---@field shape rat.call.Shape The format of its file, or the format it will have once unsaved changes are saved.
---@field formats string 'fileformats': the formats Neovim would try if it read the file again.
---@field finds_encoding boolean Whether Neovim would detect the encoding if it read the file again.
---@field stamp? rat.call.Stamp The file's metadata when Neovim last read or wrote it.
---@field changes? [integer, integer, string[]][] The changes since the given tick, in order; missing if the tick is too old.
---@field by_writes? [integer, integer][] Which of them autocommands of a write made, such as a formatter, if any: ranges of places, from 0 and end exclusive.

--- The format of a file, beside its lines.
---@class (exact) rat.call.Shape
---@field format rat.call.Format 'fileformat'; `unix` for 'binary' buffers.
---@field eol boolean Whether the last line ends with a line break.
---@field bom boolean Whether the file begins with a byte order mark.
---@field encoding string 'fileencoding'.

--- 'fileformat': the line break.
---@alias rat.call.Format "unix"|"dos"|"mac"

--- The metadata that tells a file from a later version.
---@class (exact) rat.call.Stamp
---@field sec integer The modification time, in seconds since 1970.
---@field nsec integer The nanoseconds of the modification time.
---@field size integer The size in bytes.

--- The state of a buffer, and lines of it if they were returned.
---@class (exact) rat.call.Glanced
---@field facts rat.call.Facts The state of the buffer.
---@field part? rat.call.Slice The lines.

--- Lines of a buffer.
---@class (exact) rat.call.Slice
---@field text string The lines, joined by newlines.
---@field count integer The number of lines.
---@field tick integer The 'changedtick' when they were read.
---@field changes? [integer, integer, string[]][] The changes since the given tick, in order; missing if the tick is too old.
---@field facts? rat.call.Facts The state of the buffer, if the lines reach its end.

--- The ends of slices.
---@class (exact) rat.call.SliceEnds
---@field facts rat.call.Facts The state of the buffer.
---@field ends integer[] The line after each slice, from 0.

--- The outcome of a change to a buffer.
---@class (exact) rat.call.Outcome
---@field gone? boolean Whether nothing was done because the buffer no longer belongs to the file.
---@field busy? boolean Whether nothing was done because text cannot be changed at the moment.
---@field stale? boolean Whether nothing was done because the buffer has a different 'changedtick'.
---@field failed? string Why the change was only made in part, or not saved.
---@field saved? integer How many of the edits are in the file, if it was saved.
---@field facts? rat.call.Facts The state of the buffer, unless `gone` or `busy`.

--- The metadata that identifies a version of a file.
---@class (exact) rat.call.File
---@field sec integer The modification time, in seconds since 1970.
---@field nsec integer The nanoseconds of the modification time.
---@field size integer The size in bytes.
---@field inode integer The inode number.

--- An encoded text.
---@class (exact) rat.call.Encoded
---@field bytes? string The bytes, if every character could be encoded.
---@field lacks? string Otherwise the first character that the encoding does not have; empty if it is unknown.

--- A symbol in a file.
---@class (exact) rat.call.Symbol
---@field file string The file.
---@field symbol string The symbol, as it stands in the text.
---@field line? integer The line it is in; missing if that is not said.

--- An entry of a quickfix list.
---@class (exact) rat.call.Item
---@field file string The file.
---@field line integer The line.
---@field text string What is there.

--- A view that could not be drawn.
---@class (exact) rat.call.Undrawn
---@field chat integer The chat.
---@field view rat.call.View The view.

--- The views of a chat.
---@alias rat.call.View "chat"|"plan"|"tools"

--- Whether a frame was applied.
---@class (exact) rat.call.FrameAnswer
---@field busy? boolean Whether text cannot be changed at the moment. The frame is kept.
---@field lost? boolean Whether there is no frame to try again.
---@field problems? string[] The errors, one line each; the rest of the frame was applied.
---@field undrawn? rat.call.Undrawn[] The views whose content is not what it should be.
