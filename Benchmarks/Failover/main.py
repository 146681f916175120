"""The command line: counted failovers, random faults, and the cost of an idle cluster."""

import argparse
import json
import os
import signal
import sys
import time

import cost
from cluster import NODES, Cluster, Failed, eventually
from faults import Faults
from log import check
from trials import LIMITS, PATH, Trials, judge

# The harm by which a planted defect shows.
PLANTED = {"freeze": ["cut", "cut-from", "cut-to"], "gate": ["stop"]}


def options():
    parser = argparse.ArgumentParser(
        prog="Benchmarks/failover",
        description="Counts failovers of a cluster of three daemons on three members of etcd, each in a network namespace of its own (needs "
        "root, ip, etcd-server and etcd-client). Every owner writes its epoch to a log, from which alone is decided whether two owned a path "
        "at once. Exits with 1 when a limit is missed or the log shows a finding.",
    )
    parser.add_argument("--times", type=int, default=20, help="how often each failover is counted (20)")
    parser.add_argument("--kinds", default=",".join(LIMITS), help=f"which failovers: {', '.join(LIMITS)}")
    parser.add_argument("--random", action="store_true", help="harms the cluster at random instead")
    parser.add_argument("--seconds", type=float, default=120, help="for how long, at random (120)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the seed of the order of faults (the time)")
    parser.add_argument("--plant", choices=["freeze", "gate"], help="a defect to be found: nodes without a fence, or a gate that is open")
    parser.add_argument("--cost", action="store_true", help="counts etcd's requests instead, idle and with 10,000 coordinators")
    parser.add_argument("--json", metavar="FILE", help="writes the figures to a file")
    parser.add_argument("--keep-log", metavar="FILE", help="keeps the owners' log")
    parser.add_argument("--build", required=True, help="the directory of a build (a new one)")
    return parser.parse_args()


def verdict(cluster, chosen):
    """Prints what the log shows, and returns whether it shows no finding."""
    entries = cluster.log.read()
    findings, writes, refusals = check(entries)
    print(f"{writes} writes were accepted, {refusals} under an older epoch refused; {len(findings)} findings")
    for finding in findings[:10]:
        print(f"  {finding}")
    if chosen.keep_log:
        with open(chosen.keep_log, "w") as file:
            file.writelines(" ".join(words) + "\n" for words in entries)
    return findings, {"accepted": writes, "refused": refusals, "findings": len(findings)}


def failovers(chosen):
    times = {kind: [] for kind in chosen.kinds.split(",")}
    with Cluster(chosen.build, [PATH]) as cluster:
        trials = Trials(cluster)
        try:
            for kind, values in times.items():
                for _ in range(chosen.times):
                    values.append(trials.run(kind))
                    print(f"{kind}: {values[-1]:.2f} s", file=sys.stderr, flush=True)
        except Failed:
            print(cluster.tail(), file=sys.stderr)
            raise
        findings, figures = verdict(cluster, chosen)
        kept = judge(times)
    return kept and not findings, {**figures, "seconds": times}


def at_random(chosen):
    print(f"seed {chosen.seed}, {chosen.seconds:.0f} s", flush=True)
    settings = "  on_store_loss: freeze\n" if chosen.plant == "freeze" else ""
    with Cluster(chosen.build, ["clock", "stock", "queue"], settings, open_gate=chosen.plant == "gate") as cluster:
        faults = Faults(cluster, chosen.seed, PLANTED.get(chosen.plant))
        try:
            faults.run(chosen.seconds)
        except Failed:
            print(cluster.tail(), file=sys.stderr)
            verdict(cluster, chosen)
            raise
        print("faults: " + ", ".join(f"{kind} {count}" for kind, count in sorted(faults.counts.items())))
        findings, figures = verdict(cluster, chosen)
    print(f"seed {chosen.seed}: {'two owners, or an older one' if findings else 'one owner at any time'}")
    return not findings, {**figures, "seed": chosen.seed, "faults": faults.counts}


def costs(chosen):
    rates = {}
    keys = ", ".join(f"c{number}" for number in range(1_000))
    worker = f"{{ executable: {chosen.build}/FixtureWorker, coordinator: RootCoordinator, configuration: {{ children: [{keys}] }} }}"
    many = f"  - {{ name: many, instances: 10, placement: cluster, worker: {worker} }}\n"
    for what, children in [("idle", ""), ("with 10,000 coordinators", many)]:
        with Cluster(chosen.build, [PATH], children=children, ttl="5s") as cluster:
            if children:
                eventually("there are 10,000 coordinators", lambda: sum(map(cluster.coordinators, NODES)) > 10_000, 120)
            time.sleep(3)
            rates[what] = cost.rate(cluster, min(chosen.seconds, 30))
            print(f"etcd's requests per second and node, {what}: {rates[what]:.2f} (limit 1)", flush=True)
    return all(rate <= 1 for rate in rates.values()), {"requests": rates}


def main():
    chosen = options()
    if os.geteuid() != 0:
        sys.exit("Benchmarks/failover needs root, for network namespaces.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        kept, figures = (costs if chosen.cost else at_random if chosen.random else failovers)(chosen)
    except Failed as failure:
        sys.exit(f"failed: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    if chosen.json:
        with open(chosen.json, "w") as file:
            json.dump(figures, file, indent=2)
    sys.exit(0 if kept else 1)


main()
