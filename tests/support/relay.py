"""Connects an agent's stdin and stdout to the Unix socket of the test that plays it; decides nothing itself.

    python3 relay.py SOCKET

Both ways the socket carries frames: one letter, the length of the payload (4 bytes, big endian), the payload.

    to the test    h  hello: JSON with pid, pgid, cwd, argv, env        i  bytes read from stdin
                   z  stdin was closed                                  t  SIGTERM came (only while ignored)
                   g  the pid of the grandchild that was asked for      k  SIGTERM is ignored from now on
    from the test  o  write to stdout     e  write to stderr            c  close stdout
                   k  keep living when SIGTERM comes                    x  exit with the status in the payload
                   g  start a grandchild that ignores stdin and SIGTERM

When the test goes away (end of the socket) the relay exits, whatever it was told to ignore.
"""

import json
import os
import signal
import socket
import struct
import sys
import threading

# Longer than any test, short enough not to stay for ever where a test was killed.
GRANDCHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(180)"


class Relay:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.sending = threading.Lock()

    def send(self, kind, payload=b""):
        with self.sending:
            self.socket.sendall(kind + struct.pack(">I", len(payload)) + payload)

    def receive(self, count):
        data = bytearray()
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                os._exit(0)
            data += part
        return bytes(data)

    def hello(self):
        facts = {
            "pid": os.getpid(),
            "pgid": os.getpgid(0),
            "cwd": os.getcwd(),
            "argv": sys.argv[1:],
            "env": dict(os.environ),
        }
        self.send(b"h", json.dumps(facts).encode())

    def forward_stdin(self):
        try:
            while data := os.read(0, 1 << 16):
                self.send(b"i", data)
            self.send(b"z")
        except OSError:
            pass  # the test is gone: the main thread ends the process

    def grandchild(self):
        # Loading it takes as long as all the rest, and few need it.
        import subprocess

        child = subprocess.Popen([sys.executable, "-c", GRANDCHILD])
        self.send(b"g", str(child.pid).encode())

    def obey(self):
        while True:
            kind, length = struct.unpack(">cI", self.receive(5))
            payload = self.receive(length)
            if kind == b"o":
                write_all(1, payload)
            elif kind == b"e":
                write_all(2, payload)
            elif kind == b"c":
                os.close(1)
            elif kind == b"k":
                # Signal handlers run here, in the main thread, which may hold the lock: send from another.
                signal.signal(
                    signal.SIGTERM, lambda *_: threading.Thread(target=self.send, args=(b"t",)).start()
                )
                self.send(b"k")
            elif kind == b"g":
                self.grandchild()
            elif kind == b"x":
                os._exit(int(payload))


def write_all(fd, data):
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        pass  # the client has closed its end; the test sees that in what happens next


def main():
    relay = Relay(sys.argv[1])
    relay.hello()
    threading.Thread(target=relay.forward_stdin, daemon=True).start()
    relay.obey()


if __name__ == "__main__":
    main()
