"""Random harm to a cluster, from a seed: kills, stops, cuts, and foreign hands in etcd."""

import random
import signal
import subprocess
import time

from cluster import MEMBERS, NODES, eventually


class Faults:
    """Harms each part at most once at a time, and never more than the whole of it for long."""

    def __init__(self, cluster, seed, kinds=None):
        """Harms with some kinds only, against nodes and for longer than their leases, when kinds are named."""
        self.cluster, self.random, self.kinds = cluster, random.Random(seed), kinds
        self.harmed = {}
        self.counts = {}

    def run(self, seconds):
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            for target in [target for target, (due, _) in self.harmed.items() if due <= now]:
                self.harmed.pop(target)[1]()
            self.harm()
            time.sleep(self.random.uniform(0.2, 2.5))
        for _, undo in self.harmed.values():
            undo()
        self.harmed.clear()
        self.recover()

    def recover(self):
        for name in NODES:
            eventually(f"{name} is back, and sees all nodes", lambda: self.cluster.is_whole(name))
        # A path may have been given up on no node: each has an owner, which writes.
        began = time.monotonic()
        for path in self.cluster.paths:
            eventually(f"{path} is written again", lambda: self.is_written(path, began))

    def is_written(self, path, after):
        last = self.cluster.log.read()[-500:]
        return any(words[1] == "accepted" and words[2] == path and float(words[0]) > after for words in last)

    def harm(self):
        kind = self.random.choice(self.kinds or ["kill", "stop", "cut", "cut-from", "cut-to", "delete", "revoke"])
        targets = self.cluster.paths if kind == "delete" else NODES if kind == "revoke" or self.kinds else NODES + MEMBERS
        target = self.random.choice(targets)
        duration = self.random.uniform(4 if self.kinds else 0.3, 7)
        if target in self.harmed:
            return
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.cluster.log.note(kind, target)
        if undo := getattr(self, kind.replace("-", "_"))(target):
            self.harmed[target] = (time.monotonic() + duration, undo)

    def kill(self, target):
        self.cluster.kill(target)
        return lambda: self.cluster.start(target)

    def stop(self, target):
        self.cluster.signal(target, signal.SIGSTOP)
        # What a stopped daemon has sent may still arrive: any read after it will do.
        self.ask_etcd(target, "get", "/")
        return lambda: self.cluster.signal(target, signal.SIGCONT)

    def cut(self, target):
        self.cluster.network.cut(target)
        return lambda: self.cluster.network.heal(target)

    def cut_from(self, target):
        self.cluster.network.cut_from(target)
        return lambda: self.cluster.network.heal(target)

    def cut_to(self, target):
        self.cluster.network.cut_to(target)
        return lambda: self.cluster.network.heal(target)

    def delete(self, path):
        self.ask_etcd(path, "del", self.cluster.owner_key(path))

    def revoke(self, node):
        try:
            for lease in self.cluster.leases(node):
                self.ask_etcd(node, "lease", "revoke", lease)
        except subprocess.SubprocessError:
            pass

    def ask_etcd(self, target, *request):
        """Makes a request of etcd, and notes its revision; does nothing while etcd doesn't answer."""
        try:
            self.cluster.log.done(target, self.cluster.revision(*request))
        except subprocess.SubprocessError:
            pass
