"""A worker in Python, written from the documented format alone: Sources/WireProtocol/WireProtocol.docc/Format.md.

It hosts one coordinator that answers `Fixture.Echo` itself (in upper case) and `Python.AskAbove` by asking its parent.
It keeps both books of credit: what the parent may have under way here, which is little, and what it may have under way there.
"""

import ctypes
import json
import os
import signal
import struct
import sys
import time

import pynng

HEADER = struct.Struct("<IBBBBQQIIQ")
HELLO, ASK, REPLY, SEND, START, STOP, READY, EXITED = 1, 3, 4, 7, 14, 15, 18, 20
PAUSE, RESUME, INSPECT, PING, PONG, CREDIT, GOODBYE, DEFINE_NAME = 16, 17, 22, 23, 24, 25, 26, 27
JSON = 1
DIRECT, ACKNOWLEDGED = 1, 2
# What the parent may have under way on the link; a route has a sixteenth of the messages and a sixty-fourth of the bytes.
WINDOW = (256, 1 << 20)


class Reader:
    def __init__(self, data):
        self.data, self.position = data, 0

    def unpack(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.position)
        self.position += struct.calcsize("<" + layout)
        return values if len(values) > 1 else values[0]

    def bytes(self):
        length = shift = 0
        while True:
            byte = self.data[self.position]
            self.position += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        self.position += length
        return self.data[self.position - length : self.position]

    def text(self):
        return self.bytes().decode()

    def rest(self):
        return self.data[self.position :]


def blob(data):
    length, prefix = len(data), b""
    while length >= 0x80:
        prefix += bytes([length & 0x7F | 0x80])
        length >>= 7
    return prefix + bytes([length]) + data


def text(value):
    return blob(value.encode())


class Credit:
    """What may still be sent, and what waits until it may."""

    def __init__(self):
        self.link, self.share, self.routes, self.waiting = None, None, {}, []

    def name(self, messages, bytes):
        self.link, self.share = [messages, bytes], [max(messages // 16, 1), max(bytes // 64, 1)]

    def give(self, route, messages, bytes):
        for window in (self.link, self.routes.setdefault(route, list(self.share))):
            window[0] += messages
            window[1] += bytes

    def take(self, route, size):
        """Whether a message may leave now."""
        if self.link is None:
            return True
        windows = (self.link, self.routes.setdefault(route, list(self.share)))
        if any(messages <= 0 or bytes <= 0 for messages, bytes in windows):
            return False
        for window in windows:
            window[0] -= 1
            window[1] -= size
        return True


class Worker:
    def __init__(self):
        descriptor = int(os.environ.pop("COORDINATOR_TICKET_FD"))
        with os.fdopen(descriptor, "rb") as file:
            ticket = Reader(file.read())
        version, self.incarnation, parent, strict, _, _ = ticket.unpack("BIiBII")
        assert version == 1, "unknown version of the ticket"
        self.secret, self.address, self.path = ticket.bytes(), ticket.text(), ticket.text()
        if strict:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            if os.getppid() != parent:
                sys.exit(75)
        self.names, self.parent_names = {"": 0}, {0: ""}
        self.next_correlation, self.open_asks = 1, {}
        self.credit = Credit()
        self.batch = []
        # Acknowledged messages: what was taken, what is sent. The worker ends with its link, and so remembers them for as long.
        self.born, self.taken, self.handled = time.monotonic_ns(), {}, 0
        self.origin, self.sequence, self.open_sequences = int.from_bytes(os.urandom(8), "little") | 1, 0, set()

    def frame(self, kind, body=b"", correlation=0, codec=0, flags=0, sequence=0, floor=0):
        header = HEADER.pack(HEADER.size + len(body), 1, kind, flags, codec, sequence, floor, 0, self.incarnation, correlation)
        self.batch.append(header + body)

    def flush(self):
        if self.batch:
            self.socket.send(b"".join(self.batch))
            self.batch = []

    def name(self, value):
        if value not in self.names:
            self.names[value] = len(self.names)
            self.frame(DEFINE_NAME, struct.pack("<I", self.names[value]) + text(value))
        return self.names[value]

    def ask(self, message, payload, then):
        self.credit.waiting.append((message, json.dumps(payload).encode(), then))
        self.send_waiting()

    def send_waiting(self):
        waiting, self.credit.waiting = self.credit.waiting, []
        for message, payload, then in waiting:
            if not self.credit.take(message, len(payload) + 64):
                self.credit.waiting.append((message, payload, then))
                continue
            names = struct.pack("<III", 0, self.name(self.path), self.name(message))
            self.next_correlation += 1
            self.open_asks[self.next_correlation] = then
            body = names + struct.pack("<Q", 60_000_000) + blob(b"") + payload
            self.frame(ASK, body, self.next_correlation, JSON)

    def send_acknowledged(self, message, payload, then):
        """Sends a message twice, as if a link had been lost in between: the parent handles it once, and answers both."""
        self.sequence += 1
        sequence, answers = self.sequence, []
        self.open_sequences.add(sequence)

        def answered(result):
            answers.append(result)
            if len(answers) == 2:
                self.open_sequences.discard(sequence)
                then(answers)

        names = struct.pack("<III", 0, self.name(self.path), self.name(message))
        body = names + struct.pack("<Q", 0) + blob(b"") + json.dumps(payload).encode()
        for since in (0, time.monotonic_ns()):
            self.next_correlation += 1
            self.open_asks[self.next_correlation] = answered
            label = struct.pack("<QQ", self.origin, since)
            self.frame(ASK, label + body, self.next_correlation, JSON, ACKNOWLEDGED, sequence, min(self.open_sequences))

    def give_back(self, target, message, size):
        """The message is being handled: the parent may send another to its route."""
        route = self.parent_names[target] or self.parent_names[message]
        self.frame(CREDIT, struct.pack("<IIQ", self.name(route), 1, size + 64))

    def reply(self, correlation, payload):
        self.frame(REPLY, b"\0" + json.dumps(payload).encode(), correlation, JSON)

    def fail(self, correlation, code, message):
        self.frame(REPLY, b"\1" + text(code) + text("") + text(message), correlation, JSON)

    def answer(self, message, payload, correlation):
        names = message.split("|")  # the present name and former ones
        if "Fixture.Echo" in names:
            self.reply(correlation, payload["text"].upper())
        elif "Python.Count" in names:
            self.handled += 1
            self.reply(correlation, self.handled)
        elif "Python.SendAbove" in names:
            self.send_acknowledged("Fixture.Note", {"number": payload["number"]}, lambda answers: self.reply(correlation, [a[0] for a in answers]))
        elif "Python.AskAbove" in names:
            self.ask(payload.get("name", "Fixture.Echo"), {"text": payload["text"]}, lambda result: self.pass_on(correlation, result))
        else:
            self.fail(correlation, "unhandled", f"{self.path} has no row for {message}")

    def pass_on(self, correlation, result):
        if result[0] == 0:
            self.reply(correlation, "above: " + json.loads(result[1:]))
        else:
            failure = Reader(result[1:])
            self.fail(correlation, failure.text(), failure.text() + failure.text())

    def take(self, key, floor, since):
        """Whether an acknowledged message is to be handled; what was taken before gets the answer that it got."""
        self.taken = {other: answer for other, answer in self.taken.items() if other[0] != key[0] or other[1] >= floor}
        if key in self.taken:
            return self.taken[key]
        if 0 < since < self.born:
            return b"\1" + text("peerLost") + text("") + text("a former life may have handled it") + b"\1"
        return None

    def receive(self, kind, body, correlation, flags, sequence, floor):
        if kind == DEFINE_NAME:
            number = body.unpack("I")
            self.parent_names[number] = body.text()
        elif kind == START:
            body.unpack("I"), body.text(), body.text()
            self.configuration = json.loads(body.rest())
            self.frame(CREDIT, struct.pack("<IIQ", 0, *WINDOW))
            self.frame(READY, correlation=correlation)
        elif kind == ASK:
            origin, since = body.unpack("QQ") if flags & ACKNOWLEDGED else (0, 0)
            target, _, message, _ = body.unpack("IIIQ")
            body.bytes()
            self.give_back(target, message, len(body.rest()))
            known = self.take((origin, sequence), floor, since) if origin else None
            if known is not None:
                self.frame(REPLY, known, correlation, JSON)
                return True
            self.answer(self.parent_names[message], json.loads(body.rest()), correlation)
            if origin:
                self.taken[origin, sequence] = b"\0{}"
        elif kind == SEND:
            target, _, message = body.unpack("III")
            body.bytes()
            self.give_back(target, message, len(body.rest()))
            if correlation:
                self.reply(correlation, {})
        elif kind == CREDIT:
            target, messages, size = body.unpack("IIQ")
            if correlation == 0 and target == 0:
                self.credit.name(messages, size)
            elif correlation == 0:
                self.credit.give(self.parent_names[target], messages, size)
            self.send_waiting()
        elif kind in (PAUSE, RESUME) and correlation:
            self.reply(correlation, None)
        elif kind == REPLY:
            self.open_asks.pop(correlation)(body.rest())
        elif kind == INSPECT:
            body.unpack("I")
            if body.text() == "inspect":
                self.reply(correlation, [])  # nobody is below
            else:
                self.fail(correlation, "unsupported", "a worker in Python can only be inspected")
        elif kind == PING:
            self.frame(PONG, body.rest(), correlation)
        elif kind == STOP:
            self.frame(EXITED, struct.pack("<Bi", 1, 0) + text(""), correlation)
        elif kind == GOODBYE:
            return False
        return True

    def run(self):
        with pynng.Pair0(dial=self.address, recv_max_size=2 << 20) as self.socket:
            body = struct.pack("<BBiQI", 1, 1, os.getpid(), 0, 1 << 20) + blob(self.secret) + text("")
            self.frame(HELLO, body)
            self.flush()
            while True:
                batch, position = self.socket.recv(), 0
                while position < len(batch):
                    length, version, kind, flags, _, sequence, floor, _, _, correlation = HEADER.unpack_from(batch, position)
                    body = Reader(batch[position + HEADER.size : position + length])
                    position += length
                    assert version == 1, "unknown version of a frame"
                    if not self.receive(kind, body, correlation, flags, sequence, floor):
                        return
                self.flush()


if __name__ == "__main__":
    Worker().run()
