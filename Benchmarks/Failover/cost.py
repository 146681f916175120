"""The requests that etcd gets from the nodes of a cluster which has nothing to do, with leases of the default, 5 seconds."""

import time
import urllib.request

from cluster import MEMBERS, NODES


def requests(cluster):
    """Returns how many requests all members have handled, by their own metrics."""
    total = 0
    for member in MEMBERS:
        with urllib.request.urlopen(f"{cluster.client(member)}/metrics", timeout=5) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith("grpc_server_handled_total{"):
                    total += int(float(line.rsplit(" ", 1)[1]))
    return total


def rate(cluster, seconds):
    """Returns the requests per second and node."""
    before, began = requests(cluster), time.monotonic()
    time.sleep(seconds)
    return (requests(cluster) - before) / (time.monotonic() - began) / len(NODES)
