"""What the measurements of whole programs have in common."""

import contextlib
import signal
import socket
import subprocess


def free_ports(count):
    """Returns ports that are free now; nobody else is expected to take them."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(socket.socket()) for _ in range(count)]
        for server in servers:
            server.bind(("127.0.0.1", 0))
        return [server.getsockname()[1] for server in servers]


@contextlib.contextmanager
def process(arguments, **options):
    """Runs a program until the block is left, and ends that program alone."""
    child = subprocess.Popen([str(argument) for argument in arguments], **options)
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
