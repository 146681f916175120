"""A launcher that reads a worker's ticket, has a stranger show its secret, and becomes the worker, with a fresh descriptor for the ticket.

Arguments: what the stranger is (`nobody`: there is none; `user`: it runs as user 65534; `session`: it has a session of its own;
`later`: it says that it knows a later parent), the file to
which the secret and what the stranger has received are appended, each as a line of hexadecimal digits, and the worker's program.
"""

import ctypes
import os
import socket
import struct
import sys

kind, notes, program = sys.argv[1:4]
HEADER = struct.Struct("<IBBBBQQIIQ")

descriptor = int(os.environ["COORDINATOR_TICKET_FD"])
with open(descriptor, "rb", closefd=False) as file:
    ticket = file.read()
# version, incarnation, parent, strict, grace, epoch: 18 bytes; then three fields with short lengths.
secret = ticket[19:51]
address = ticket[52 : 52 + ticket[51]].decode().removeprefix("ipc://")


def dial():
    """Returns all that comes when a hello with the secret is sent."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    while True:
        try:
            connection.connect(address)
            break
        except PermissionError:
            # The test gives the other user access to the socket.
            os.read(changes, 4096)
    body = struct.pack("<BBiQI", 1, 1, os.getpid(), 0, 1 << 20) + b"\x20" + secret + b"\x00"
    frame = HEADER.pack(HEADER.size + len(body), 1, 1, 0, 0, 0, 0, 99 if kind == "later" else 0, 0, 0) + body
    connection.sendall(bytes.fromhex("0053500000100000") + b"\x01" + struct.pack(">Q", len(frame)) + frame)
    received = b""
    try:
        while part := connection.recv(4096):
            received += part
    except ConnectionResetError:
        pass
    return received


with open(notes, "a") as file:
    file.write(secret.hex() + "\n")
    file.flush()
    if kind != "nobody" and os.fork() == 0:
        try:
            if kind == "user":
                libc = ctypes.CDLL(None)
                changes = libc.inotify_init()
                IN_ATTRIB = 4
                for path in (address, os.path.dirname(address)):
                    libc.inotify_add_watch(changes, path.encode(), IN_ATTRIB)
                os.setgroups([])
                os.setuid(65534)
            elif kind == "session":
                os.setsid()
            file.write(dial().hex() + "\n")
        except Exception as error:
            file.write(f"{error!r}\n")
        file.flush()
        os._exit(0)
    if kind != "nobody":
        os.wait()

reader, writer = os.pipe()
os.write(writer, ticket)
os.close(writer)
os.dup2(reader, descriptor, inheritable=True)
# A crash is reported with all that Swift can tell of it.
os.environ["SWIFT_BACKTRACE"] = "enable=yes,color=no,interactive=no,threads=all,registers=all,symbolicate=off"
os.execv(program, [program])
