"""Three members of etcd and three daemons, each on a host of its own, and the log to which the owners of subtrees write."""

import json
import os
import shutil
import subprocess
import tempfile
import time

from log import Log
from network import Network

MEMBERS = ["etcd-1", "etcd-2", "etcd-3"]
NODES = ["node-a", "node-b", "node-c"]


class Failed(Exception):
    """Something that the cluster had to do, and hasn't done."""


def eventually(what, condition, seconds=60):
    """Waits until a condition holds, and returns what it has returned."""
    end = time.monotonic() + seconds
    while True:
        try:
            if value := condition():
                return value
        except (subprocess.SubprocessError, ValueError):
            pass
        if time.monotonic() > end:
            raise Failed(f"after {seconds} s still not: {what}")
        time.sleep(0.02)


class Cluster:
    """A cluster that runs as long as the body of `with`."""

    def __init__(self, build, paths, settings="", children="", open_gate=False, ttl="3s"):
        self.build, self.paths, self.settings, self.children, self.open_gate = build, paths, settings, children, open_gate
        self.ttl = ttl
        self.network = Network(MEMBERS + NODES)
        self.processes = {}

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="failover.")
        self.log = Log(f"{self.directory}/owners.log")
        try:
            self.network.connect()
            for name in MEMBERS + NODES:
                self.start(name)
            eventually("all nodes have joined", lambda: self.is_whole(NODES[0]))
            for path in self.paths:
                eventually(f"{path} has an owner", lambda: self.log.owner(path))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in NODES + MEMBERS:
            if process := self.processes.get(name):
                process.kill()
                process.wait()
        self.network.disconnect()
        shutil.rmtree(self.directory, ignore_errors=True)

    # Members and nodes

    def client(self, member):
        return f"http://{self.network.address(member)}:2379"

    def peer(self, member):
        return f"http://{self.network.address(member)}:2380"

    def start(self, name):
        arguments = self.member(name) if name in MEMBERS else self.node(name)
        with open(f"{self.directory}/{name}.log", "ab") as output:
            self.processes[name] = subprocess.Popen(
                ["ip", "netns", "exec", self.network.namespace(name), *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )

    def member(self, name):
        return [
            "etcd", "--name", name, "--data-dir", f"{self.directory}/{name}", "--pre-vote=true",
            "--listen-client-urls", self.client(name), "--advertise-client-urls", self.client(name),
            "--listen-peer-urls", self.peer(name), "--initial-advertise-peer-urls", self.peer(name),
            "--initial-cluster", ",".join(f"{member}={self.peer(member)}" for member in MEMBERS),
        ]

    def node(self, name):
        home = f"{self.directory}/{name}"
        os.makedirs(home, exist_ok=True)
        endpoints = ", ".join(self.client(member) for member in MEMBERS)
        writer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "writer.py")
        children = self.children
        for path in self.paths:
            command = ["/usr/bin/python3", writer, self.log.file, path, name] + (["--open"] if self.open_gate else [])
            children += f"  - {{ name: {path}, placement: cluster, program: {{ command: {json.dumps(command)} }} }}\n"
        with open(f"{home}/tree.yaml", "w") as file:
            file.write(f"cluster:\n  name: failover\n  node: {name}\n  endpoints: [{endpoints}]\n  ttl: {self.ttl}\n")
            file.write(f"{self.settings}children:\n{children}")
        return [f"{self.build}/coordinatord", "--config", f"{home}/tree.yaml", "--runtime-dir", f"{home}/run"]

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def signal(self, name, number):
        self.processes[name].send_signal(number)

    # What it says

    def nodes(self, name):
        """Returns what a node knows of all nodes."""
        command = [f"{self.build}/coordinatorctl", "--runtime-dir", f"{self.directory}/{name}/run", "nodes", "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return json.loads(ended.stdout)

    def coordinators(self, name):
        """Returns how many children run on a node."""
        command = [f"{self.build}/coordinatorctl", "--runtime-dir", f"{self.directory}/{name}/run", "tree", "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=30)
        return ended.stdout.count('"state":"active"')

    def is_whole(self, name):
        seen = self.nodes(name)
        return seen["membership"] == "member" and len(seen["nodes"]) == len(NODES)

    def etcdctl(self, *arguments):
        endpoints = ",".join(self.client(member) for member in MEMBERS)
        command = ["etcdctl", "--endpoints", endpoints, "--command-timeout=2s", *arguments]
        environment = {**os.environ, "ETCDCTL_API": "3"}
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, env=environment).stdout

    def revision(self, *request):
        """Makes a request of etcd, and returns etcd's revision with its answer: that of a change is the change's own."""
        return json.loads(self.etcdctl(*request, "-w", "json"))["header"]["revision"]

    def etcd_leader(self):
        for entry in json.loads(self.etcdctl("endpoint", "status", "-w", "json")):
            if entry["Status"]["leader"] == entry["Status"]["header"]["member_id"]:
                return next(member for member in MEMBERS if self.client(member) == entry["Endpoint"])
        return None

    def leases(self, node):
        """Returns the lease of a node, if it has one, in etcdctl's digits."""
        found = json.loads(self.etcdctl("get", f"/coordinators/failover/nodes/{node}", "-w", "json"))
        return [f"{entry['lease']:x}" for entry in found.get("kvs", []) if entry.get("lease")]

    def owner_key(self, path):
        return f"/coordinators/failover/owners/{path}"

    def tail(self):
        """Returns the ends of the nodes' logs, for a message of failure."""
        ends = []
        for name in NODES:
            with open(f"{self.directory}/{name}.log", errors="replace") as file:
                ends += [f"{name}: {line.rstrip()}" for line in file.readlines()[-5:]]
        return "\n".join(ends)
