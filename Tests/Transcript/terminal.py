"""Commands on a pseudo-terminal. Needs the package pyte."""
import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import time

import pyte

LIMIT = 20


class Terminal:
    def __init__(self, transcript):
        self.transcript = transcript

    def top(self):
        """Drives `top` in a pseudo-terminal, and prints its screen."""
        process, terminal = pty.fork()
        if process == 0:
            os.execve(f"{self.transcript.built}/coordinatorctl", ["coordinatorctl", "top", "--interval", "200ms"], {**self.transcript.environment, "TERM": "xterm"})
        screen = pyte.Screen(110, 24)
        stream = pyte.ByteStream(screen)

        def resize(columns, lines):
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            screen.resize(lines, columns)

        def shows(condition):
            end = time.monotonic() + LIMIT
            while time.monotonic() < end:
                if select.select([terminal], [], [], 0.05)[0]:
                    try:
                        stream.feed(os.read(terminal, 65536))
                    except OSError:
                        return condition(screen.display)
                if condition(screen.display):
                    return True
            return False

        def step(what, keys, condition):
            if keys:
                os.write(terminal, keys)
            if not shows(condition):
                self.transcript.fail(f"top: {what}")
            print(f"--- top: {what}")
            print("\n".join(line.rstrip() for line in screen.display).rstrip())

        resize(110, 24)
        step("the tree with rates", b"", lambda lines: any("payment" in line and "active" in line for line in lines) and "msg/s" in lines[2])
        step("by memory", b"m", lambda lines: "sort memory" in lines[2])
        step("filtered", b"/cart\r", lambda lines: "filter cart" in lines[2] and not any("/shop/payment" in line for line in lines))
        resize(60, 12)
        step("a smaller terminal, unfiltered", b"\x1bt", lambda lines: "sort tree" in lines[2] and "quit" in lines[11])
        step("the keys", b"?", lambda lines: "coordinatorctl top" in lines[0])
        os.write(terminal, b"xq")
        end, status = time.monotonic() + LIMIT, (0, 0)
        while status[0] == 0 and time.monotonic() < end:
            shows(lambda lines: True)
            status = os.waitpid(process, os.WNOHANG)
        if status != (process, 0):
            self.transcript.fail(f"top: it ended with {status}")
        os.close(terminal)

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
