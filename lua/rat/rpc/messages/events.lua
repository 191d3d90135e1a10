--- What listeners of `require("rat").on` are told, by the fields of each event. Written from the types in `src/nvim/messages` by `make messages`.
---@meta _

--- A piece of a message; of text, all that has arrived since the last one.
---@class (exact) rat.event.Chunk
---@field chat integer The chat.
---@field role rat.event.Role The author of the message.
---@field message? string The id of the message, if the agent gives one.
---@field text? string The text, as the agent sent it.
---@field content? rat.event.Content In place of a text: other content. With annotations, the text as content.
---@field replayed boolean Whether it is from earlier, and the agent repeats it because the session is loaded.

--- The author of a message; `thought` is the agent's reasoning.
---@alias rat.event.Role "user"|"agent"|"thought"

--- Content of a message or a tool call.
---@class (exact) rat.event.Content
---@field type rat.event.ContentType What it is.
---@field text? string The text.
---@field data? string Its data in base64.
---@field mime? string The MIME type, if known.
---@field uri? string The URL.
---@field name? string The name of a link; for an unknown type, that type.
---@field audience? rat.event.Audience Whom it is for; missing if it is for both.
---@field priority? number How important it is, from 0 to 1.
---@field last_modified? string When it was changed last, as the agent wrote the time.

--- What content is.
---@alias rat.event.ContentType "text"|"image"|"audio"|"resource_link"|"resource"|"unknown"

--- Whom content is for.
---@alias rat.event.Audience "user"|"assistant"

--- A whole message, which is new or replaces an earlier one.
---@class (exact) rat.event.Message
---@field chat integer The chat.
---@field role rat.event.Role The author of the message.
---@field message string The id of the message.
---@field content rat.event.Content[] Its content.
---@field replayed boolean Whether it is from earlier, and the agent repeats it because the session is loaded.

--- A tool call is new, or some of it has changed. What may be missing is there if it has changed.
---@class (exact) rat.event.ToolCall
---@field chat integer The chat.
---@field id string The id of the tool call.
---@field new boolean Whether the call is new.
---@field title string The title.
---@field kind rat.event.ToolKind What the tool does.
---@field status rat.event.ToolStatus The status.
---@field tool? string The name of the tool.
---@field command? string The command, if it runs one.
---@field input? string The input as JSON.
---@field output? string The output as text.
---@field content? rat.event.ToolItem[] All of its content.
---@field locations? rat.event.Location[] All places it works on.
---@field replayed boolean Whether it is from earlier, and the agent repeats it because the session is loaded.

--- What a tool does, in the protocol's words.
---@alias rat.event.ToolKind rat.msg.ToolKind

--- The status of a tool call.
---@alias rat.event.ToolStatus "pending"|"in_progress"|"completed"|"failed"|"cancelled"

--- An item of a tool call's content.
---@class (exact) rat.event.ToolItem
---@field type rat.event.ToolItemType What it is.
---@field content? rat.event.Content For `content`: the content.
---@field path? string For `diff` and `change`: the file.
---@field from? string For `change`: the file before, if it was another.
---@field old? string For `diff`: the old text; missing for a new file.
---@field new? string For `diff`: the new text.
---@field what? string For `change`: what was done, such as `deleted`. For `unknown`: the type.
---@field terminal? string For `terminal`: the id of the terminal.

--- What an item of a tool call's content is.
---@alias rat.event.ToolItemType "content"|"diff"|"change"|"terminal"|"unknown"

--- A place that a tool call works on.
---@class (exact) rat.event.Location
---@field path string The file.
---@field line? integer The line, from 1.

--- A tool call has produced another item of content.
---@class (exact) rat.event.ToolContent
---@field chat integer The chat.
---@field id string The id of the tool call.
---@field item rat.event.ToolItem The item.
---@field replayed boolean Whether it is from earlier, and the agent repeats it because the session is loaded.

--- A terminal that the agent runs itself has changed.
---@class (exact) rat.event.Terminal
---@field chat integer The chat.
---@field id string The id of the terminal.
---@field change rat.event.TerminalChange What has changed.
---@field command? string The command line.
---@field output? string The output.
---@field code? integer The exit code.
---@field signal? string The signal that ended it.

--- What has changed in a terminal: `output` adds to what is there, `whole` replaces it.
---@alias rat.event.TerminalChange "started"|"command"|"output"|"whole"|"exited"

--- The whole plan; an empty one clears it.
---@class (exact) rat.event.Plan
---@field chat integer The chat.
---@field entries rat.event.PlanEntry[] The entries, in order.
---@field replayed boolean Whether it is from earlier, and the agent repeats it because the session is loaded.

--- An entry of a plan.
---@class (exact) rat.event.PlanEntry
---@field content string The task.
---@field priority rat.event.Priority Its priority.
---@field status rat.event.PlanStatus Its status.

--- The priority of a plan's entry.
---@alias rat.event.Priority "high"|"medium"|"low"

--- The status of a plan's entry.
---@alias rat.event.PlanStatus "pending"|"in_progress"|"completed"|"cancelled"

--- All slash commands of the agent that can be typed.
---@class (exact) rat.event.Commands
---@field chat integer The chat.
---@field commands rat.event.Command[] The commands.

--- A slash command.
---@alias rat.event.Command rat.msg.Command

--- The agent has switched to another mode.
---@class (exact) rat.event.Mode
---@field chat integer The chat.
---@field mode string The id of the mode.

--- All options of the session.
---@class (exact) rat.event.Options
---@field chat integer The chat.
---@field options rat.event.ConfigOption[] The options, in the agent's order.

--- An option of a session.
---@class (exact) rat.event.ConfigOption
---@field id string The id.
---@field name string What the user sees.
---@field description? string A description.
---@field category? string The category, such as `mode`.
---@field type rat.event.OptionType How it is set.
---@field current string The current value; for a boolean, `on` or `off`.
---@field choices rat.event.OptionChoice[] The choices.

--- How an option is set.
---@alias rat.event.OptionType rat.msg.OptionType

--- A choice of an option.
---@alias rat.event.OptionChoice rat.msg.OptionChoice

--- What describes the session has changed. A field is missing if it is as before.
---@class (exact) rat.event.SessionInfo
---@field chat integer The chat.
---@field title? string The title; empty if it has none any more.
---@field updated_at? string When it last changed (ISO 8601); empty if that is not known any more.

--- How much of the context is used, and what the session has cost.
---@class (exact) rat.event.Usage
---@field chat integer The chat.
---@field used integer Number of tokens used.
---@field size integer Number of tokens that fit.
---@field cost? number The cost of the session.
---@field unit? string The currency of the cost.

--- A notice that is not part of the conversation.
---@class (exact) rat.event.Notice
---@field chat integer The chat.
---@field severity rat.event.Severity How severe it is.
---@field title string The notice, in one line.
---@field description? string More about it.

--- How severe a notice is.
---@alias rat.event.Severity "info"|"warning"|"error"

--- The agent compacts its context. A field is missing if it is as before.
---@class (exact) rat.event.Compaction
---@field chat integer The chat.
---@field id string The id of the compaction.
---@field status? string The status, in the agent's word.
---@field summary? rat.event.Content[] The summary so far.
---@field error? string Why it failed.

--- A piece of a compaction's summary.
---@class (exact) rat.event.CompactionChunk
---@field chat integer The chat.
---@field id string The id of the compaction.
---@field content rat.event.Content The content.

--- Data of the agent's own, which came with an update or an answer (`_meta`).
---@class (exact) rat.event.Meta
---@field chat integer The chat.
---@field kind string The kind of message it came with.
---@field id? string The id of the tool call, if the message was about one.
---@field json? string The data as JSON; missing if it is too large.
---@field size integer The size of the JSON in bytes.

--- The agent says whether it is working. Only some do, see `turn_start` and `turn_end`.
---@class (exact) rat.event.Activity
---@field chat integer The chat.
---@field state rat.event.ActivityState Whether it works.
---@field stop_reason? string Why it has stopped.
---@field message? string What has failed.

--- Whether an agent works.
---@alias rat.event.ActivityState "busy"|"idle"|"failed"

--- An update that is not known or makes no sense.
---@class (exact) rat.event.Unknown
---@field chat integer The chat.
---@field kind string The kind of the update, in the agent's word.
---@field problem? string What is wrong with it; missing if the kind is not known.

--- An agent asks for permission, or a request was answered.
---@class (exact) rat.event.Permission
---@field chat integer The chat.
---@field id integer Our number of the request.
---@field state rat.event.PermissionState Whether it waits or was answered.
---@field tool_call string The tool call's id.
---@field title string The tool call's title.
---@field kind? rat.event.ToolKind If it waits: what the tool does.
---@field command? string If it waits: the complete command, if it runs one.
---@field paths? string[] If it waits: the files it names.
---@field options? rat.event.PermissionOption[] If it waits: the options to choose from.
---@field chosen? rat.event.PermissionOption If it was answered: the chosen option; missing if the request was cancelled.
---@field automatic? boolean If it was answered: whether the permission provider has chosen.

--- Whether a permission request waits or was answered.
---@alias rat.event.PermissionState "asked"|"decided"

--- An option to answer a permission request with.
---@class (exact) rat.event.PermissionOption
---@field id string The id to return.
---@field name string What the user sees.
---@field kind rat.event.OptionKind What it means.

--- What choosing an option means.
---@alias rat.event.OptionKind rat.msg.OptionKind

--- A prompt was sent to the agent, or it has started a turn by itself.
---@class (exact) rat.event.TurnStart
---@field chat integer The chat.
---@field prompt? string The text of the prompt.

--- The agent's turn has ended.
---@class (exact) rat.event.TurnEnd
---@field chat integer The chat.
---@field stop_reason string Why, as `User RatTurnEnd` says it.
---@field next boolean Whether a queued prompt starts another turn at once.

--- Each message with its fields.
---@class (exact) rat.event.Payloads
---@field chunk rat.event.Chunk A piece of a message; of text, all that has arrived since the last one.
---@field message rat.event.Message A whole message, which is new or replaces an earlier one.
---@field tool_call rat.event.ToolCall A tool call is new, or some of it has changed. What may be missing is there if it has changed.
---@field tool_content rat.event.ToolContent A tool call has produced another item of content.
---@field terminal rat.event.Terminal A terminal that the agent runs itself has changed.
---@field plan rat.event.Plan The whole plan; an empty one clears it.
---@field commands rat.event.Commands All slash commands of the agent that can be typed.
---@field mode rat.event.Mode The agent has switched to another mode.
---@field options rat.event.Options All options of the session.
---@field session_info rat.event.SessionInfo What describes the session has changed. A field is missing if it is as before.
---@field usage rat.event.Usage How much of the context is used, and what the session has cost.
---@field notice rat.event.Notice A notice that is not part of the conversation.
---@field compaction rat.event.Compaction The agent compacts its context. A field is missing if it is as before.
---@field compaction_chunk rat.event.CompactionChunk A piece of a compaction's summary.
---@field meta rat.event.Meta Data of the agent's own, which came with an update or an answer (`_meta`).
---@field activity rat.event.Activity The agent says whether it is working. Only some do, see `turn_start` and `turn_end`.
---@field unknown rat.event.Unknown An update that is not known or makes no sense.
---@field permission rat.event.Permission An agent asks for permission, or a request was answered.
---@field turn_start rat.event.TurnStart A prompt was sent to the agent, or it has started a turn by itself.
---@field turn_end rat.event.TurnEnd The agent's turn has ended.
