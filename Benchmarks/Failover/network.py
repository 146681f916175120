"""Hosts in network namespaces of their own, whose links are plugged into a bridge."""

import os
import subprocess


def ip(*arguments, check=True):
    subprocess.run(["ip", *arguments], check=check, stderr=None if check else subprocess.DEVNULL)


class Network:
    """The namespaces of some hosts; names and addresses are this process's."""

    # A station that nothing has: frames to it are lost without a sound.
    NOWHERE = "02:00:00:00:00:01"

    def __init__(self, hosts):
        self.hosts = hosts
        self.name = f"fo{os.getpid()}"
        self.subnet = f"10.{128 + os.getpid() // 250 % 64}.{os.getpid() % 250}"

    def connect(self):
        ip("link", "add", self.name, "type", "bridge")
        ip("address", "add", f"{self.subnet}.1/24", "dev", self.name)
        ip("link", "set", self.name, "up")
        for host in self.hosts:
            ip("netns", "add", self.namespace(host))
            ip("link", "add", self.link(host), "type", "veth", "peer", "name", "eth0", "netns", self.namespace(host))
            ip("link", "set", self.link(host), "master", self.name, "up")
            ip("-n", self.namespace(host), "address", "add", f"{self.address(host)}/24", "dev", "eth0")
            ip("-n", self.namespace(host), "link", "set", "eth0", "up")
            ip("-n", self.namespace(host), "link", "set", "lo", "up")

    def disconnect(self):
        for host in self.hosts:
            ended = subprocess.run(["ip", "netns", "pids", self.namespace(host)], capture_output=True, text=True)
            for process in ended.stdout.split():
                try:
                    os.kill(int(process), 9)
                except ProcessLookupError:
                    pass
            ip("link", "delete", self.link(host), check=False)
            ip("netns", "delete", self.namespace(host), check=False)
        ip("link", "delete", self.name, check=False)

    def namespace(self, host):
        return f"{self.name}-{host}"

    def link(self, host):
        return f"{self.name}.{self.hosts.index(host)}"

    def address(self, host):
        return f"{self.subnet}.{10 + self.hosts.index(host)}"

    def cut(self, host):
        """Loses all from a host and to it."""
        ip("link", "set", self.link(host), "down")

    def cut_from(self, host):
        """Loses what a host sends; it still gets all."""
        for other in self.others(host):
            self.redirect(host, other)

    def cut_to(self, host):
        """Loses what is sent to a host; what it sends still arrives."""
        for other in self.others(host):
            self.redirect(other, host)

    def heal(self, host):
        ip("link", "set", self.link(host), "up")
        for other in self.others(host):
            for near, far in [(host, other), (other, host)]:
                ip("-n", self.namespace(near), "neighbour", "delete", self.address(far), "dev", "eth0", check=False)

    def others(self, host):
        return [other for other in self.hosts if other != host]

    def redirect(self, near, far):
        ip(
            "-n", self.namespace(near), "neighbour", "replace", self.address(far), "lladdr", self.NOWHERE, "dev", "eth0", "nud", "permanent"
        )
