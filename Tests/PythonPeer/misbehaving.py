"""A worker that breaks the rules of Sources/WireProtocol/WireProtocol.docc/Format.md; its argument says which.

`flood`: it sends asks of 900 KiB without having credit for them. `tiny`: it takes frames of 64 bytes only. `report`: it tells that another
process, whose number and start time are its next arguments, has begun below it, and ends when that was answered.
"""

import os
import signal
import socket
import struct
import sys

HEADER = struct.Struct("<IBBBBQQIIQ")
REPORT = 4711
mode = sys.argv[1]

with open(int(os.environ.pop("COORDINATOR_TICKET_FD")), "rb") as file:
    ticket = file.read()
# version, incarnation, parent, strict, grace, epoch: 18 bytes; then three fields with short lengths.
secret = ticket[19:51]
rest = ticket[51:]
address = rest[1 : 1 + rest[0]].decode()

connection = socket.socket(socket.AF_UNIX)
connection.connect(address.removeprefix("ipc://"))
connection.sendall(bytes.fromhex("0053500000100000"))
stream = connection.makefile("rb")
stream.read(8)


def send(kind, body=b"", correlation=0, codec=0):
    frame = HEADER.pack(HEADER.size + len(body), 1, kind, 0, codec, 0, 0, 0, 0, correlation) + body
    connection.sendall(b"\x01" + struct.pack(">Q", len(frame)) + frame)


def frames():
    """Yields the kind and the correlation of each frame."""
    while head := stream.read(9):
        batch, position = stream.read(struct.unpack(">BQ", head)[1]), 0
        while position < len(batch):
            fields = HEADER.unpack_from(batch, position)
            yield fields[2], fields[-1]
            position += fields[0]


send(1, struct.pack("<BBiQI", 1, 1, os.getpid(), 0, 64 if mode == "tiny" else 1 << 20) + b"\x20" + secret + b"\x00")
try:
    for kind, correlation in frames():
        if mode == "report" and kind == 14:
            send(18, correlation=1)
            payload = b'{"pid":%s,"start_time":%s,"mark":""}' % (sys.argv[2].encode(), sys.argv[3].encode())
            send(22, struct.pack("<I", 0) + b"\x0fprocess-started" + payload, REPORT, 1)
        elif correlation == REPORT:
            sys.exit()
        elif kind == 14:
            send(18, correlation=1)
            name = b"PythonParent.Flood"
            send(27, struct.pack("<I", 1) + bytes([len(name)]) + name)
            for number in range(1, 1_000):
                send(3, struct.pack("<IIIQ", 0, 0, 1, 0) + b"\x00{" + b" " * (900 << 10) + b"}", number, 1)
except OSError:
    pass
# The parent has closed the link, and ends what has none.
signal.pause()
