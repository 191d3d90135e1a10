"""An agent that is killed. A prompt `number` begins a turn without an end: it writes files through the client and by itself,
and says so in a line for each round. Its arguments are a file for the pids of itself and what it has started, and a folder."""

import json
import os
import subprocess
import sys

PIDS, FOLDER = sys.argv[1:]
THROUGH_CLIENT = ["open.txt", "a.txt", "sub/b.txt"]
LINES = 500

last_id = 0


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    text = sys.stdin.readline()
    if not text:
        sys.exit(0)
    return json.loads(text)


def update(session, **fields):
    send(method="session/update", params={"sessionId": session, "update": fields})


def content(version):
    """The test knows from each line whether the text is whole."""
    return f"{version} begins\n" + f"{version} of some length\n" * LINES + f"{version} ends\n"


def write_through_client(session, name, version):
    global last_id
    last_id += 1
    path = os.path.join(FOLDER, name)
    send(id=last_id, method="fs/write_text_file",
         params={"sessionId": session, "path": path, "content": content(version)})
    while receive().get("id") != last_id:
        pass


def write_alone(name, version):
    path = os.path.join(FOLDER, name)
    with open(path + ".agents", "w") as file:
        file.write(content(version))
    os.replace(path + ".agents", path)


def turn(session, number):
    child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with open(PIDS, "a") as file:
        file.write(f"{child.pid}\n")
    count = 0
    while True:
        version = f"{number}.{count}"
        call = f"call {version}"
        update(session, sessionUpdate="tool_call", toolCallId=call, title="Write", kind="edit",
               status="in_progress")
        write_through_client(session, THROUGH_CLIENT[count % len(THROUGH_CLIENT)], version)
        write_alone("alone.txt", version)
        update(session, sessionUpdate="agent_message_chunk",
               content={"type": "text", "text": f"Written {version}.\n\n"})
        update(session, sessionUpdate="tool_call_update", toolCallId=call, status="completed")
        count += 1


with open(PIDS, "a") as file:
    file.write(f"{os.getpid()}\n")
while True:
    message = receive()
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        can = {"sessionCapabilities": {"resume": {}}}
        send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": can})
    elif method == "session/new":
        send(id=message["id"], result={"sessionId": "mortal"})
    elif method == "session/resume":
        send(id=message["id"], result={})
    elif method == "session/prompt":
        # What goes with the prompt comes after it.
        turn(params["sessionId"], params["prompt"][0]["text"])
