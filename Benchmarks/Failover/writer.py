"""What a subtree of the cluster runs: it writes its epoch to the log again and again, through a gate as a store would have it.

The gate refuses an epoch that is lower than the highest that it has seen of the path. `--open` leaves the gate open, which the checker
must find.
"""

import fcntl
import os
import sys
import time

log, path, node = sys.argv[1:4]
is_open = "--open" in sys.argv
epoch = int(os.environ["COORDINATOR_FENCE"])
lines = os.open(log, os.O_WRONLY | os.O_APPEND)
gate = os.open(f"{log}.{path}", os.O_RDWR | os.O_CREAT, 0o600)

while True:
    fcntl.flock(gate, fcntl.LOCK_EX)
    highest = int(os.pread(gate, 20, 0) or b"0")
    accepted = is_open or epoch >= highest
    # Before the line: a kill in between must not leave the gate behind the log.
    if epoch > highest:
        os.pwrite(gate, b"%020d" % epoch, 0)
    outcome = "accepted" if accepted else "refused"
    os.write(lines, f"{time.monotonic():.3f} {outcome} {path} {epoch} {node} {os.getpid()}\n".encode())
    fcntl.flock(gate, fcntl.LOCK_UN)
    time.sleep(0.05)
