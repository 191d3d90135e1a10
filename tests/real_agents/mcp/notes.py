"""An MCP server on stdio with one tool, `add`, which adds a line to the file that is its argument."""

import json
import sys

TOOL = {
    "name": "add",
    "description": "Adds a note.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}


def result(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-03-26"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        with open(sys.argv[1], "a", encoding="utf-8") as notes:
            notes.write(params["arguments"]["text"] + "\n")
        return {"content": [{"type": "text", "text": "added"}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        answer = result(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
