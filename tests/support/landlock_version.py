"""Runs a program on a kernel that seems to have another version of Landlock: the version, the program, its arguments."""
import ctypes
import fcntl
import os
import select
import socket
import struct
import sys

version, command = int(sys.argv[1]), sys.argv[2:]
# seccomp(2): the parent answers system call 444 (landlock_create_ruleset) with the flag 1, which asks for the version.
filter = b"".join(struct.pack("HBBI", *line) for line in [
    (0x20, 0, 0, 0), (0x15, 0, 3, 444), (0x20, 0, 0, 32), (0x15, 0, 1, 1),
    (0x06, 0, 0, 0x7FC00000), (0x06, 0, 0, 0x7FFF0000),
])
buffer = ctypes.create_string_buffer(filter)
program = struct.pack("HxxxxxxP", len(filter) // 8, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    listener = libc.syscall(number, 1, 8, program)
    assert listener >= 0, os.strerror(ctypes.get_errno())
    socket.send_fds(theirs, [b"x"], [listener])
    os.close(listener)
    os.execv(command[0], command)
listener = socket.recv_fds(ours, 1, 1)[1][0]
poll = select.poll()
poll.register(listener, select.POLLIN)
while not poll.poll()[0][1] & select.POLLHUP:
    asked = bytearray(80)
    fcntl.ioctl(listener, 0xC0502100, asked)
    (request,) = struct.unpack_from("=Q", asked)
    fcntl.ioctl(listener, 0xC0182101, bytearray(struct.pack("=QqiI", request, version, 0, 0)))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
