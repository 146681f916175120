"""Failovers, one kind of harm after the other, and the time until a later owner writes."""

import os
import signal
import time

from cluster import MEMBERS, NODES, Failed, eventually

PATH = "clock"

# The limits of the median and of the worst, in seconds.
LIMITS = {
    "kill": ("the owner's daemon is killed", 4, 6),
    "leader": ("the owner's daemon and etcd's leader are killed", None, 8),
    "cut": ("the owner's network is cut, both ways", 4, 6),
    "mute": ("what the owner's node sends is lost", 4, 6),
    # The renewal whose answer is lost has renewed the lease: a second more, the interval of renewals.
    "deaf": ("what is sent to the owner's node is lost", 5, 7),
    "stop": ("the owner's daemon is stopped for longer than its lease, and goes on", 4, 6),
    "etcd": ("all of etcd is killed for 5 s; from its start", None, 8),
}


def is_alive(process):
    try:
        os.kill(process, 0)
        return True
    except ProcessLookupError:
        return False


class Trials:
    def __init__(self, cluster):
        self.cluster = cluster

    def run(self, kind):
        """Harms the owner, waits for the next one, undoes the harm, and returns the seconds in between."""
        cluster, log = self.cluster, self.cluster.log
        epoch, node, process = log.owner(PATH)
        log.note(kind, node)
        began = time.monotonic()
        undo = getattr(self, kind)(node)
        if kind == "etcd":
            began = time.monotonic()
        at, successor = eventually("a later owner writes", lambda: log.first_write(PATH, epoch))
        if kind != "etcd" and successor == node:
            raise Failed(f"{node} is the owner again")
        if undo:
            undo()
        eventually("the former owner's process has ended", lambda: not is_alive(process))
        for name in NODES:
            eventually(f"{name} is back, and sees all nodes", lambda: cluster.is_whole(name))
        eventually("all members of etcd are well", lambda: cluster.etcdctl("endpoint", "health") or True)
        return at - began

    def kill(self, node):
        self.cluster.kill(node)
        return lambda: self.cluster.start(node)

    def leader(self, node):
        member = eventually("etcd has a leader", self.cluster.etcd_leader)
        self.cluster.kill(member)
        self.cluster.kill(node)
        return lambda: (self.cluster.start(member), self.cluster.start(node))

    def cut(self, node):
        self.cluster.network.cut(node)
        return lambda: self.cluster.network.heal(node)

    def mute(self, node):
        self.cluster.network.cut_from(node)
        return lambda: self.cluster.network.heal(node)

    def deaf(self, node):
        self.cluster.network.cut_to(node)
        return lambda: self.cluster.network.heal(node)

    def stop(self, node):
        self.cluster.signal(node, signal.SIGSTOP)
        began = time.monotonic()

        def undo():
            # The lease has ended when another node owns the path.
            time.sleep(max(0, 4 - (time.monotonic() - began)))
            self.cluster.signal(node, signal.SIGCONT)

        return undo

    def etcd(self, _):
        log = self.cluster.log
        process = log.owner(PATH)[2]
        for member in MEMBERS:
            self.cluster.kill(member)
        began = time.monotonic()
        eventually("the owner has fenced itself", lambda: not is_alive(process))
        if (took := time.monotonic() - began) > 3:
            raise Failed(f"the owner fenced itself only {took:.2f} s after the loss of the store")
        time.sleep(max(0, 5 - took))
        for member in MEMBERS:
            self.cluster.start(member)


def judge(times):
    """Prints the table, and returns whether all limits are kept."""
    kept = True
    print(f"\n{'':68}{'times':>6}{'p50':>8}{'worst':>8}  limits")
    for kind, values in times.items():
        what, median_limit, worst_limit = LIMITS[kind]
        values = sorted(values)
        median, worst = values[(len(values) - 1) // 2], values[-1]
        is_kept = (median_limit is None or median <= median_limit) and worst <= worst_limit
        kept = kept and is_kept
        limits = f"{f'p50 {median_limit} s, ' if median_limit else ''}worst {worst_limit} s{'' if is_kept else '  MISSED'}"
        print(f"{what:68}{len(values):>6}{median:>7.2f}s{worst:>7.2f}s  {limits}")
    return kept
