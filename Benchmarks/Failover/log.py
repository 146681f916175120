"""The log that owners append to, with what was done to the cluster; and what must hold of it."""

import os
import time


class Log:
    """A file of lines: time, outcome, path, epoch, node and process of a write; or time, "fault", kind and target; or time, "done", target and etcd's
    revision when the fault to it had taken place."""

    def __init__(self, file):
        self.file = file
        open(file, "w").close()
        self.position, self.rest, self.entries = 0, b"", []

    def note(self, kind, target):
        """Appends what is about to be done to the cluster."""
        self.append(f"fault {kind} {target}")

    def done(self, target, revision):
        """Appends that the last fault to a target has taken place."""
        self.append(f"done {target} {revision}")

    def append(self, text):
        descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, f"{time.monotonic():.3f} {text}\n".encode())
        os.close(descriptor)

    def read(self):
        """Returns all lines so far, as lists of words."""
        with open(self.file, "rb") as file:
            file.seek(self.position)
            text = self.rest + file.read()
            self.position = file.tell()
        *lines, self.rest = text.split(b"\n")
        self.entries += [line.decode().split() for line in lines]
        return self.entries

    def owner(self, path):
        """Returns the epoch, node and process of the last write that was accepted."""
        for words in reversed(self.read()):
            if words[1] == "accepted" and words[2] == path:
                return int(words[3]), words[4], int(words[5])
        return None

    def first_write(self, path, after):
        """Returns the time and node of the first write under a higher epoch."""
        for words in self.read():
            if words[1] == "accepted" and words[2] == path and int(words[3]) > after:
                return float(words[0]), words[4]
        return None


def revisions(entries):
    """Returns etcd's revision when a fault had taken place, by the fault's line."""
    found, faults = {}, {}
    for number, words in enumerate(entries, 1):
        if words[1] == "fault":
            faults[words[3]] = number
        elif words[1] == "done":
            found[faults[words[2]]] = int(words[3])
    return found


def check(entries):
    """Decides from the lines alone, and returns the findings, the number of writes and that of refused ones.

    A write under an older epoch that the gate has refused is a finding too, as two owners wrote at once. It isn't one when the owner's
    daemon was stopped alone, or when a foreign hand has taken the key or the lease: then only the gate protects. That holds for each epoch that
    was claimed before, even if the first write under it came later: an epoch is a revision of etcd.
    """
    findings, highest, nodes, excuses, claimed_before = [], {}, {}, set(), {}
    taken_place = revisions(entries)
    writes = refusals = 0
    owned = {}
    for number, words in enumerate(entries, 1):
        if words[1] == "done":
            continue
        if words[1] == "fault":
            kind, target = words[2:4]
            claimed_before[target] = max(claimed_before.get(target, 0), taken_place.get(number, 0))
            for (path, epoch), node in nodes.items():
                if (kind in ("stop", "revoke") and node == target) or (kind == "delete" and path == target):
                    excuses.add((path, epoch))
            continue
        outcome, path, epoch, node = words[1], words[2], int(words[3]), words[4]
        former = nodes.setdefault((path, epoch), node)
        if former != node:
            findings.append(f"line {number}: {former} and {node} have the epoch {epoch} of {path}")
        if outcome == "accepted":
            writes += 1
            if epoch < highest.get(path, 0):
                findings.append(f"line {number}: a write of {node} under the epoch {epoch} of {path} was accepted after {highest[path]}")
            highest[path] = max(highest.get(path, 0), epoch)
            owned[path] = node
        else:
            refusals += 1
            if (path, epoch) not in excuses and epoch >= max(claimed_before.get(node, 0), claimed_before.get(path, 0)):
                findings.append(f"line {number}: {node} wrote under the epoch {epoch} of {path} while {owned.get(path)} owned it")
    return findings, writes, refusals
