"""Commands on a pseudo-terminal. Needs the package pyte."""
import contextlib
import fcntl
import os
import pty
import re
import resource
import select
import signal
import struct
import termios
import time

import pyte

LIMIT = 20


class Xterm(pyte.Screen):
    """A terminal as xterm and the Linux console are: behind a character in the last column the cursor stays there, and erasing takes the character."""

    def erase_in_line(self, *arguments, **options):
        self.cursor.x = min(self.cursor.x, self.columns - 1)
        super().erase_in_line(*arguments, **options)


class Screen:
    """A command on a terminal of its own."""

    def __init__(self, transcript, arguments, columns=110, lines=24, **environment):
        self.name = " ".join(arguments)
        self.transcript = transcript
        self.text = b""
        self.terminal, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.former = termios.tcgetattr(other)
        self.process = os.fork()
        if self.process == 0:
            os.close(self.terminal)
            os.login_tty(other)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.execve(
                f"{transcript.built}/coordinatorctl", ["coordinatorctl", *arguments],
                {**transcript.environment, "TERM": "xterm", **environment},
            )
        os.close(other)
        self.screen = Xterm(columns, lines)
        self.stream = pyte.ByteStream(self.screen)

    def resize(self, columns, lines):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    @property
    def lines(self):
        return self.screen.display

    def read(self, seconds=0.05):
        """Whether there can be more."""
        if select.select([self.terminal], [], [], seconds)[0]:
            try:
                part = os.read(self.terminal, 65536)
            except OSError:
                return False
            self.text += part
            self.stream.feed(part)
            return bool(part)
        return True

    def shows(self, condition):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if condition(self.lines) or not self.read():
                break
        return condition(self.lines)

    def step(self, what, keys, condition):
        if keys:
            os.write(self.terminal, keys)
        if not self.shows(condition):
            self.transcript.fail(f"{self.name}: {what}")
        print(f"--- {self.name}: {what}")
        print("\n".join(line.rstrip() for line in self.lines).rstrip())

    def changed(self, options=0):
        """The status after the process has ended, or, as options say, was stopped."""
        end, status = time.monotonic() + LIMIT, (0, 0)
        while status[0] == 0 and time.monotonic() < end:
            self.read()
            status = os.waitpid(self.process, os.WNOHANG | options)
        return status[1] if status[0] else None

    def check_restored(self, what):
        """The terminal is as it was: its attributes, the cursor, the screen of before."""
        while self.text.rfind(b"\x1b[?1049l") < self.text.rfind(b"\x1b[?1049h") and self.read(1):
            pass
        restored = self.text.rfind(b"\x1b[?1049l") > self.text.rfind(b"\x1b[?1049h") and self.text.rfind(b"\x1b[?25h") > self.text.rfind(b"\x1b[?25l")
        if not restored or termios.tcgetattr(self.terminal) != self.former:
            self.transcript.fail(f"{self.name}: {what}: the terminal isn't as it was: {self.text[-80:]}")

    def end(self, what, expected):
        """The process has ended so, and has left the terminal as it was."""
        status = self.changed()
        if status is None or os.waitstatus_to_exitcode(status) != expected:
            self.transcript.fail(f"{self.name}: {what}: it ended with {status}, expected {expected}")
        if status is None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        self.check_restored(what)
        print(f"--- {self.name}: {what}: exit {expected}")
        os.close(self.terminal)


class Terminal:
    def __init__(self, transcript):
        self.transcript = transcript

    def screen(self, *arguments, interval="200ms"):
        return Screen(self.transcript, ["top", "--interval", interval, *arguments])

    def top(self):
        """Drives `top` in a pseudo-terminal, and prints its screen."""
        screen = self.screen()
        step = screen.step
        step("the tree with rates", b"", lambda lines: any("payment" in line and "active" in line for line in lines) and "msg/s" in lines[2])
        step("a line up to the last column", b"", lambda lines: re.search(r"\d\d:\d\d:\d\d$", lines[0]))
        step("by memory", b"m", lambda lines: "sort memory" in lines[2])
        step("filtered", b"/cart\r", lambda lines: "filter cart" in lines[2] and not any("/shop/payment" in line for line in lines))
        screen.resize(60, 12)
        step("a smaller terminal, unfiltered", b"\x1bt", lambda lines: "sort tree" in lines[2] and "quit" in lines[11])
        step("the keys", b"?", lambda lines: "coordinatorctl top" in lines[0])
        os.write(screen.terminal, b"xq")
        screen.end("left", 0)

    def actions(self):
        """Each action of `top` on a row, and what it shows of them in place."""
        screen = self.screen()
        state = lambda path: self.transcript.node(path).get("state")
        row = lambda lines, word: any(line.startswith(">") and word in line for line in lines)
        screen.step("one row", b"/sleeper\r", lambda lines: "filter sleeper" in lines[2] and row(lines, "active"))
        screen.step("asked", b"S", lambda lines: "stop /sleeper? y: yes" in lines[23])
        screen.step("no", b"n", lambda lines: "quit" in lines[23])
        if state("/sleeper") != "active":
            self.transcript.fail("top has stopped what it was told not to")
        screen.step("stopped", b"Sy", lambda lines: "/sleeper: inactive" in lines[23] and row(lines, "inactive"))
        screen.step("started", b"U", lambda lines: "/sleeper: active" in lines[23] and row(lines, "active"))
        screen.step("restarted", b"Ry", lambda lines: "/sleeper: active" in lines[23] and row(lines, "active"))
        # The screen may show what was so before.
        self.transcript.eventually("top starts what it was told to", lambda: state("/sleeper") == "active")
        screen.step("an error in place", b"\x1bt\x1b[HSy", lambda lines: "can't stop /:" in lines[23])
        screen.step("a log", b"/talker\rl", lambda lines: lines[0].startswith("/talker") and any(line.rstrip().endswith("Z  one") for line in lines))
        screen.step("back", b"q", lambda lines: "filter talker" in lines[2])
        screen.step("what has no log of its own", b"\x1b/cart\rl", lambda lines: "what it writes is in that of /shop" in lines[1])
        os.write(screen.terminal, b"qq")
        screen.end("left", 0)

    def ends(self):
        """At each kind of end, and while it's suspended, `top` gives the terminal back."""
        for what, before, keys, number in [
            ("q", b"", b"q", 0), ("q on a question and on the help", b"", b"Sq?q", 0), ("^C", b"", b"\x03", signal.SIGINT),
            ("^\\", b"", b"\x1c", signal.SIGQUIT), ("^C in a log", b"l", b"\x03", signal.SIGINT),
            ("SIGTERM", b"", b"", signal.SIGTERM), ("SIGHUP", b"", b"", signal.SIGHUP),
        ]:
            # A signal ends the wait for a key, however long that is.
            screen = self.screen(interval="1m")
            if not screen.shows(lambda lines: "q quit" in lines[23]):
                self.transcript.fail("top shows nothing")
            os.write(screen.terminal, before)
            if not screen.shows(lambda lines: not before or "q back" in lines[23]):
                self.transcript.fail("top shows no log")
            os.write(screen.terminal, keys) if keys else os.kill(screen.process, number)
            screen.end(what, -number)

        screen = self.screen()
        shown = lambda lines: "quit" in lines[23] and any("payment" in line for line in lines)
        screen.shows(shown)
        for _ in range(2):
            os.write(screen.terminal, b"\x1a")
            status = screen.changed(os.WUNTRACED)
            if status is None or not os.WIFSTOPPED(status):
                self.transcript.fail(f"top: ^Z doesn't suspend it: {status}")
            screen.check_restored("suspended")
            screen.screen.reset()
            os.kill(screen.process, signal.SIGCONT)
            screen.step("goes on", b"", shown)
        os.write(screen.terminal, b"q")
        screen.end("left after a suspension", 0)

        screen = self.screen("--runtime-dir", "/nonexistent")
        screen.end("without a daemon", 69)

    @contextlib.contextmanager
    def losing(self):
        """A daemon that ends meanwhile: the last figures stay, with the reason, and `q` leaves, also while another program takes its place."""
        screen = self.screen()
        screen.step("with a daemon", b"", lambda lines: "quit" in lines[23])
        yield
        screen.step("without it", b"", lambda lines: "isn't reachable" in lines[0])
        screen.step("an action without it", b"U", lambda lines: "can't start /: " in lines[23])
        marker = f"{self.transcript.directory}/run/control.upgrade"
        with open(marker, "w") as file:
            print(os.getpid(), file=file)
        for _ in range(2):
            shown = screen.lines[0][-8:]
            screen.step("the time goes on while another program takes the daemon's place", b"", lambda lines: lines[0][-8:] != shown)
        os.write(screen.terminal, b"q")
        screen.end("left without a daemon", 0)
        for what, key, number in [("q", b"q", 0), ("^C", b"\x03", signal.SIGINT)]:
            screen = self.screen()
            while b"\x1b[?1049h" not in screen.text and screen.read():
                pass
            os.write(screen.terminal, key)
            screen.end(f"{what} before there is a daemon", -number)
        os.unlink(marker)

    def narrow(self):
        """On a narrow terminal no line of these commands is wider; elsewhere all of it is there."""
        for arguments in (["tree"], ["ps"], ["status", "/talker"], ["status", "/shop"], ["history", "/sleeper"], ["events"]):
            screen = Screen(self.transcript, arguments, columns=40)
            while screen.read(LIMIT):
                pass
            os.close(screen.terminal)
            os.waitpid(screen.process, 0)
            plain = re.sub(rb"\x1b\[[0-9;]*m", b"", screen.text).decode().splitlines()
            print(f"$ coordinatorctl {' '.join(arguments)}  # on 40 columns")
            print("\n".join(plain))
            widest = max(map(len, plain), default=0)
            whole = self.transcript.run(arguments)
            if not 30 < widest <= 40 or "…" not in "".join(plain) or "…" in whole:
                self.transcript.fail(f"{arguments}: {widest} columns on a terminal of 40")

    def logs(self):
        """Logs of several: colours by path and texts below one another, on a terminal that has colours."""
        paths = ["/talker", "/shouter"]
        texts = lambda text: {line.index(word) for line in text.splitlines() for word in ("one", "two", "ONE") if line.endswith(word)}
        coloured = self.output(["logs", *paths])
        colours = {path: set(re.findall(rf"\x1b\[(\d+)m{path}\[", coloured)) for path in paths}
        if [len(each) for each in colours.values()] != [1, 1] or colours["/talker"] == colours["/shouter"]:
            self.transcript.fail(f"logs: the colours are {colours}")
        plain = self.output(["logs", *paths], NO_COLOR="1")
        if "\x1b" in plain or len(texts(plain)) != 1:
            self.transcript.fail("logs: the texts aren't below one another, or are coloured")
        if "\x1b" in self.transcript.run(["logs", *paths], shows="]: ONE"):
            self.transcript.fail("logs: colours without a terminal")

    def output(self, arguments, **environment):
        """The output of a command on a terminal."""
        process, terminal = pty.fork()
        if process == 0:
            os.execve(f"{self.transcript.built}/coordinatorctl", ["coordinatorctl", *arguments], {**self.transcript.environment, "TERM": "xterm", **environment})
        output = b""
        with contextlib.suppress(OSError):  # The end, once the command has closed the terminal.
            while part := os.read(terminal, 65536):
                output += part
        os.close(terminal)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        print(f"$ coordinatorctl {' '.join(arguments)}  # on a terminal{''.join(f', {name}={value}' for name, value in environment.items())}")
        print(output.decode().replace("\x1b", "^["), end="")
        if status != 0:
            self.transcript.fail(f"{arguments} on a terminal: exit {status}")
        return output.decode()

    def colours(self):
        """States have colours on a terminal alone, and none where the user wants none."""
        if "\x1b[2minactive\x1b[0m" not in self.output(["tree"]):
            self.transcript.fail("tree has no colours on a terminal")
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            if "\x1b" in self.output(["tree"], **environment):
                self.transcript.fail(f"tree has colours with {environment}")
        if "\x1b" in self.transcript.run(["tree"]):
            self.transcript.fail("tree has colours without a terminal")
