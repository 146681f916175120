"""A worker that sends what its test has written, by hand, and notes down whether its parent closes the link for it.

Arguments: a file with what is sent, the frames of one attempt in a line of hexadecimal digits, and the file to which `open` or `closed` is
appended for each. Whatever the attempt is, a ping follows it: a pong says that the link is open. The worker dials anew when it isn't.
"""

import os
import socket
import struct
import sys

HEADER = struct.Struct("<IBBBBQQIIQ")
HELLO, WELCOME, REPLY, START, STOP, READY, EXITED = 1, 2, 4, 14, 15, 18, 20
INSPECT, PING, PONG, GOODBYE = 22, 23, 24, 26
JSON = 1
MARK = 1 << 62

with open(int(os.environ.pop("COORDINATOR_TICKET_FD")), "rb") as file:
    ticket = file.read()
# version, incarnation, parent, strict, grace, epoch: 18 bytes; then three fields with short lengths.
secret = ticket[19:51]
address = ticket[52 : 52 + ticket[51]].decode().removeprefix("ipc://")


def frame(kind, body=b"", correlation=0, codec=0):
    return HEADER.pack(HEADER.size + len(body), 1, kind, 0, codec, 0, 0, 0, 0, correlation) + body


class Link:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(address)
        self.stream = self.socket.makefile("rb")
        self.socket.sendall(bytes.fromhex("0053500000100000"))
        self.stream.read(8)
        body = struct.pack("<BBiQI", 1, 1, os.getpid(), 0, 1 << 20) + b"\x20" + secret + b"\x00"
        self.send(frame(HELLO, body))
        self.frames = self.received()

    def send(self, batch):
        self.socket.sendall(b"\x01" + struct.pack(">Q", len(batch)) + batch)

    def received(self):
        """Yields the kind, the correlation and the body of each frame."""
        while len(head := self.stream.read(9)) == 9:
            batch, position = self.stream.read(struct.unpack(">BQ", head)[1]), 0
            while position < len(batch):
                fields = HEADER.unpack_from(batch, position)
                yield fields[2], fields[-1], batch[position + HEADER.size : position + fields[0]]
                position += fields[0]

    def until(self, wanted, correlation):
        """Answers pings, inspections and a stop, after which it ends; returns whether the frame has come before the end of the link."""
        try:
            for kind, number, body in self.frames:
                if (kind, number) == (wanted, correlation):
                    return True
                if kind == PING:
                    self.send(frame(PONG, body, number))
                elif kind == INSPECT:
                    self.send(frame(REPLY, b"\0[]", number, JSON))
                elif kind == STOP:
                    self.send(frame(EXITED, struct.pack("<Bi", 1, 0) + b"\x00", number))
                elif kind == GOODBYE:
                    sys.exit()
        except OSError:
            pass
        return False

    def attempt(self, batch):
        try:
            self.send(batch + frame(PING, struct.pack("<QB", 0, 0), MARK))
        except OSError:
            return False
        return self.until(PONG, MARK)


link = Link()
link.until(START, 1)
link.send(frame(READY, correlation=1))
with open(sys.argv[1]) as attempts, open(sys.argv[2], "a", buffering=1) as notes:
    for line in attempts:
        is_open = link.attempt(bytes.fromhex(line))
        notes.write("open\n" if is_open else "closed\n")
        if not is_open:
            link = Link()
            link.until(WELCOME, 0)
link.until(0, 0)
