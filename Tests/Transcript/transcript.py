#!/usr/bin/env python3
"""Drives a real daemon with the shop through every command of coordinatorctl, for people and as JSON; then an operator's first day on another one.

Usage: transcript.py DIRECTORY [shop|day]

DIRECTORY holds the built programs; one of the two parts can be chosen. Each command's output is printed; its exit status is compared with the expected one, and its JSON is
validated against Deploy/schema, where no member may be missing from the schema. Needs the packages jsonschema and pyte. The exit status is 1
when something isn't as it must be.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # The folder of the tests stays as it is.
from first_day import FirstDay
from schemas import Schemas
from terminal import Terminal

LIMIT = 20
# The commands of a cluster have tests of their own, on several daemons.
ELSEWHERE = {"drain", "move", "nodes", "uncordon", "unpin", "where"}
# The schemas of what is printed to standard error.
FAILURES = {"error", "config-problems"}

CONFIGURATION = """
children:
  - name: shop
    worker: {{ executable: {built}/Shop, coordinator: ShopCoordinator, configuration: {{ currency: EUR }} }}
    stop_timeout: 10s
  - name: sleeper
    program: {{ command: [sleep, "100000"], hooks: {{ reload: WINCH }} }}
  - name: once
    program: {{ command: ["true"] }}
    restart: never
  - name: twins
    program: {{ command: [sleep, "100000"] }}
    instances: 2
  - name: talker
    program: {{ command: [sh, -c, "echo one; echo two >&2; exec sleep 100000"] }}
    logging: {{ standard_error: separate, format: json }}
  - name: shouter
    program: {{ command: [sh, -c, "echo ONE; exec sleep 100000"] }}
supervision: {{ strategy: one_for_one, max_restarts: 50, period: 60s }}
"""


class Transcript:
    def __init__(self, built, directory):
        self.built = built
        self.failures = []
        self.used = set()
        self.schemas = Schemas()
        self.directory = directory
        self.environment = {
            "PATH": "/usr/bin:/bin", "COORDINATOR_RUNTIME_DIR": f"{directory}/run", "COORDINATOR_STATE_DIR": str(directory),
            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")},
        }

    def fail(self, text):
        self.failures.append(text)
        print(f"!!! {text}")

    def run(self, arguments, exit=0, schema=None, input=None, limit=LIMIT, shows=None):
        """Runs a command in its human form, or with --json when there is a schema."""
        arguments = arguments + (["--json"] if schema else [])
        began = time.monotonic()
        ended = subprocess.run(
            [f"{self.built}/coordinatorctl", *arguments], env=self.environment, input=input, capture_output=True, text=True, timeout=limit + 60
        )
        took = time.monotonic() - began
        print(f"$ coordinatorctl {' '.join(arguments)}")
        output = ended.stdout if len(ended.stdout) < 4000 else ended.stdout[:4000] + "…\n"
        print(output + ended.stderr, end="")
        print(f"  exit {ended.returncode}, {took * 1000:.0f} ms")
        self.used.add(next((word for word in arguments if not word.startswith("-")), ""))
        if ended.returncode != exit:
            self.fail(f"{arguments}: exit {ended.returncode}, expected {exit}")
        if took > limit:
            self.fail(f"{arguments}: took {took:.1f} s, at most {limit} expected")
        if shows and shows not in ended.stdout + ended.stderr:
            self.fail(f"{arguments}: {shows!r} isn't in the output")
        if not schema:
            return ended.stdout
        text = ended.stderr if schema in FAILURES else ended.stdout
        try:
            value = json.loads(text)
        except ValueError as error:
            self.fail(f"{arguments}: no JSON: {error}")
            return None
        for problem in self.schemas.problems(schema, value):
            self.fail(f"{arguments}: {problem}")
        return value

    def run_fast(self, arguments, **more):
        """Runs a command that must take less than a second; on a loaded machine, one of three times."""
        times = []
        while len(times) < 3 and (not times or times[-1] >= 1):
            began = time.monotonic()
            self.run(arguments, **more)
            times.append(time.monotonic() - began)
        if times[-1] >= 1:
            self.fail(f"{arguments}: took {', '.join(f'{each:.1f}' for each in times)} s, less than 1 expected")

    def both(self, arguments, schema, exit=0, says=None, **more):
        """Runs a command in both forms, of which `says` is about that for people; a failure is an object on standard error."""
        self.run(arguments, exit=exit, **{**more, **({"shows": says} if says else {})})
        return self.run(arguments, exit=exit, schema=schema, **more)

    def lines(self, arguments, schema, says=None, **more):
        """Runs a command whose JSON is an object on each line; `says` is about the form for people."""
        self.run(arguments, **{**more, **({"shows": says} if says else {})})
        values = [json.loads(line) for line in self.run(arguments + ["--json"], **more).splitlines()]
        for value in values:
            for problem in self.schemas.problems(schema, value):
                self.fail(f"{arguments}: {problem}")
        if not values:
            self.fail(f"{arguments}: nothing came")
        return values

    def eventually(self, what, condition):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            # Nearly all of them run a command, whose time is pause enough.
            if condition():
                return
        self.fail(f"never: {what}")

    def node(self, path):
        ended = subprocess.run([f"{self.built}/coordinatorctl", "--json", "status", path], env=self.environment, capture_output=True, text=True)
        return json.loads(ended.stdout) if ended.stdout else {}

    def commands(self):
        cart = self.both(["status", "/shop/cart"], "status")
        self.both(["tree"], "tree", shows="payment")
        self.both(["ps"], "ps")
        self.both(["status", "/shop/*"], "status-list", shows="/shop/payment")
        self.both(["status", "/shop", "/nowhere"], "status-list", exit=4)
        self.both(["status", "/nowhere"], "error", exit=4)
        self.both(["status", "/once"], "status", exit=3)
        talk = self.both(["status", "/talker", "--lines", "5"], "status", says="]: two")
        if {line["line"] for line in talk["log"]} != {"one", "two"}:
            self.fail(f"status --lines: {talk.get('log')}")
        self.run(["status", "/talker"], shows="command:    sleep 100000")
        if [child["path"] for child in self.run(["tree", "--failed"], schema="tree")["children"]]:
            self.fail("tree --failed has what doesn't fail")
        self.both(["status", "/no*"], "error", exit=4)
        self.both(["mailbox", "/shop"], "status", shows="payment")
        self.both(["doctor"], "doctor", shows="descriptors")
        self.both(["top", "--once", "--interval", "200ms"], "top", shows="/shop/cart")
        terminal = Terminal(self)
        terminal.top()
        terminal.actions()
        terminal.ends()
        terminal.narrow()
        terminal.logs()
        terminal.colours()

        self.both(["ask", "/shop/account", "Account.Login", '{"name":"ada","password":"lovelace"}'], "ask")
        self.both(["ask", "/shop/catalog", "Cart.Add", "-"], "ask", input='{"sku":"apple"}')
        (self.directory / "message").write_text('{"sku":"apple"}')
        self.both(["ask", "/shop/catalog", "Cart.Add", f"@{self.directory}/message"], "ask")
        trace = self.both(["ask", "/shop/catalog", "Cart.Add", '{"sku":"apple"}', "--trace"], "trace", shows="CatalogCoordinator")
        paths = [hop["path"] for hop in trace["hops"]]
        if paths != ["/shop/catalog", "/shop/cart"]:
            self.fail(f"the trace has {paths}")
        self.both(["ask", "/shop/catalog", "No.Such"], "error", exit=1)
        self.run(["ask", "/shop/catalog", "No.Such", "--trace"], exit=1, schema="trace")
        self.run(["ask", "/shop", "Account.Login", "{"], exit=64, schema="error")
        self.both(["send", "/shop/cart", "Cart.Toggle", '{"sku":"pear"}'], "send")
        self.both(["send", "/shop/cart", "No.Such"], "send", exit=1)
        self.both(["bench", "/shop/cart", "Cart.Contents", "--rate", "50", "--duration", "300ms", "--ramp", "0s"], "bench")
        self.both(["dead-letters"], "dead-letters")
        self.both(["flows"], "flows", says="no flows")
        self.both(["flow", "/nowhere/1"], "error", exit=4)
        self.both(["metrics"], "metrics")

        self.run(["config", "diff"], shows="nothing to change")
        self.run(["config", "diff"], schema="config-changes")
        self.both(["config", "check", f"{self.directory}/tree.yaml"], "config-check", says="ok; 6 children")
        (self.directory / "wrong.yaml").write_text("childern: []\norphan_grace: 5\n")
        wrong = self.both(["config", "check", f"{self.directory}/wrong.yaml"], "config-problems", exit=78, shows="did you mean `children`?")
        if [(each["line"], each["column"]) for each in wrong["error"]["problems"]] != [(1, 1), (2, 15)]:
            self.fail(f"config check: {wrong}")
        self.both(["config", "apply", "--dry-run"], "config-changes")
        self.both(["config", "apply"], "config-changes")
        self.both(["config", "apply", "/nonexistent"], "error", exit=78)

        self.both(["pause", "/sleeper"], "lifecycle", shows="paused")
        self.both(["status", "/sleeper"], "status")
        self.both(["resume", "/sleeper"], "lifecycle", shows="active")
        self.both(["stop", "/sleeper"], "lifecycle", shows="inactive")
        self.both(["status", "/sleeper"], "status", exit=3)
        self.both(["signal", "/sleeper", "HUP"], "error", exit=3)
        self.both(["start", "/sleeper"], "lifecycle", shows="active")
        self.both(["signal", "/sleeper", "/shop", "CONT"], "signal-list", shows="SIGCONT")
        self.both(["signal", "/sleeper", "CONT"], "signal")
        self.both(["reload", "/sleeper"], "lifecycle", shows="active")
        self.both(["reload", "/talker"], "error", exit=64)
        self.both(["restart", "/sleeper"], "lifecycle", shows="active")
        self.both(["restart", "/shop/*"], "lifecycle-list", shows="/shop/cart")
        self.both(["restart", "/sleeper", "/nowhere"], "lifecycle-list", exit=4)
        self.both(["restart", "--rolling", "/twins"], "lifecycle-list", shows="/twins-2")
        self.both(["restart", "--rolling", "/shop/cart", "/nowhere"], "lifecycle-list", exit=4)
        self.both(["scale", "/twins", "3"], "scale", shows="/twins")
        self.both(["scale", "/twins", "2"], "scale", shows="/twins")
        self.both(["scale", "/sleeper", "2"], "error", exit=64)
        for schema in [None, "lifecycle"]:
            self.run(["kill", "/shop/payment"], schema=schema)
            self.eventually("payment is back", lambda: self.node("/shop/payment").get("state") == "active")

        self.lines(["logs", "/talker"], "logs", shows="one")
        self.lines(["logs", "/", "-n", "5", "--grep", "^(one|two)$", "--since", "1h"], "logs", shows="two")
        self.both(["logs", "/nowhere"], "error", exit=4)
        self.both(["logs", "/talker", "--grep", "("], "error", exit=64)
        events = self.lines(["events"], "events", shows="restarted")
        self.lines(["events", "--since", str(events[-2]["number"])], "events")
        self.lines(["events", "--path", "/sleeper", "--since", "1h"], "events", shows="/sleeper")
        self.both(["history", "/sleeper"], "history")
        self.both(["history", "/nowhere"], "error", exit=4)

        (self.directory / "Procfile").write_text("web: sleep 1000\nworker: echo $PORT\n")
        self.both(["import", f"{self.directory}/Procfile"], "import", shows="name: worker")
        self.run(["import", f"{self.directory}/tree.yaml"], exit=78, shows="--from")
        self.run(["import", f"{self.directory}/tree.yaml"], exit=78, schema="config-problems")

        self.run(["frobnicate"], exit=64)
        self.run(["signal", "/sleeper", "NOSUCH"], exit=64)
        self.both(["status"], "tree", shows="payment")
        self.both(["stop"], "error", exit=64, shows="Missing expected argument")
        self.run(["--runtime-dir", "/nonexistent", "ps"], exit=69)
        self.run(["--runtime-dir", "/nonexistent", "ps"], exit=69, schema="error")
        for shell in ["bash", "zsh", "fish"]:
            self.run(["completion", shell], shows="coordinatorctl")
        self.run(["schemas"], shows="TreeNode.key")
        self.run(["--version"])
        self.run(["help"], shows="doctor")
        self.completion()
        self.full()
        return cart

    def completion(self):
        """The shell gets the paths of the running tree, and its script is one that it can read."""
        for words in (["status"], ["logs"], ["history"], ["scale"], ["bench"], ["events", "--path"]):
            line = " ".join(["coordinatorctl", *words, "/shop/p"])
            script = (
                f"PATH={self.built}:$PATH; . <({self.built}/coordinatorctl completion bash); COMP_WORDS=({line}); COMP_CWORD={len(words) + 1}; "
                f"COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; "
                f'_coordinatorctl coordinatorctl /shop/p {words[-1]}; printf "%s\\n" "${{COMPREPLY[@]}}"'
            )
            ended = subprocess.run(["bash", "-c", script], env=self.environment, capture_output=True, text=True)
            print(f"$ {line}<Tab>\n{ended.stdout}{ended.stderr}", end="")
            if "/shop/payment" not in ended.stdout:
                self.fail(f"the shell doesn't complete {line}")
        for shell in filter(shutil.which, ["bash", "zsh", "fish"]):
            script = self.run(["completion", shell])
            ended = subprocess.run([shell, "-n"], input=script, env=self.environment, capture_output=True, text=True)
            if ended.returncode != 0:
                self.fail(f"{shell} can't read its script: {ended.stderr}")

    def full(self):
        """A result that can't be written is a failure."""
        with open("/dev/full", "w") as full:
            ended = subprocess.run([f"{self.built}/coordinatorctl", "tree"], env=self.environment, stdout=full, stderr=subprocess.PIPE)
        if ended.returncode != 1:
            self.fail(f"tree > /dev/full: exit {ended.returncode}")

    def stopped_worker(self):
        """No command waits for a worker that has been stopped, but one that is about it."""
        cart = self.node("/shop/cart")["pid"]
        self.run(["signal", "/shop/cart", "STOP"])
        try:
            for arguments in [["tree"], ["ps"], ["status", "/shop/account"], ["status", "/sleeper"], ["mailbox", "/shop/catalog"]]:
                self.run_fast(arguments)
            self.run_fast(["status", "/shop/cart"], exit=3, shows="unresponsive")
        finally:
            os.kill(cart, signal.SIGCONT)
        self.eventually("cart answers again", lambda: self.node("/shop/cart").get("state") == "active")

    def upgrade(self):
        """The daemon goes on as its own executable, and its workers don't notice."""
        cart = self.node("/shop/cart")["pid"]
        self.both(["upgrade", "--dry-run"], "upgrade", shows="coordinatord")
        self.both(["upgrade", "--wait", "5s"], "upgrade", shows="coordinatord")
        self.both(["upgrade", "--executable", "/nowhere"], "error", exit=1)
        if self.node("/shop/cart")["pid"] != cart:
            self.fail("an upgrade has replaced a worker")

    @contextlib.contextmanager
    def daemon(self, configuration):
        """A daemon that runs with a configuration; its log is the file `log`."""
        (self.directory / "tree.yaml").write_text(configuration)
        with open(self.directory / "log", "w") as log:
            daemon = subprocess.Popen(
                [f"{self.built}/coordinatord", "--config", f"{self.directory}/tree.yaml", "--runtime-dir", f"{self.directory}/run"],
                env=self.environment, stdout=log, stderr=log,
            )
        former = len(self.failures)
        try:
            yield daemon
        finally:
            if daemon.poll() is None:
                daemon.terminate()
                daemon.wait(LIMIT)
            if len(self.failures) > former:
                print((self.directory / "log").read_text()[-3000:])

    def all(self):
        with self.daemon(CONFIGURATION.format(built=self.built)) as daemon:
            self.eventually("the shop is up", lambda: self.node("/shop/payment").get("state") == "active")
            self.eventually("once has ended", lambda: self.node("/once").get("last_exit"))
            self.commands()
            self.stopped_worker()
            self.upgrade()
            with Terminal(self).losing():
                self.run(["shutdown"], schema="shutdown")
                daemon.wait(LIMIT)
            self.both(["doctor"], "doctor", shows="none runs")
        listed = subprocess.run([f"{self.built}/coordinatorctl", "--experimental-dump-help"], capture_output=True, text=True).stdout
        known = {command["commandName"] for command in json.loads(listed)["command"]["subcommands"]}
        missing = known - self.used - {"help"} - ELSEWHERE
        if missing:
            self.fail(f"commands that aren't in the transcript: {', '.join(sorted(missing))}")


def main():
    parts = {"shop": Transcript.all, "day": lambda transcript: FirstDay(transcript).all()}
    chosen = sys.argv[2:] or parts
    if len(sys.argv) not in (2, 3) or not parts.keys() >= set(chosen):
        sys.exit(__doc__)
    failures = []
    for part in chosen:
        with tempfile.TemporaryDirectory(prefix="tr-") as directory:
            transcript = Transcript(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(directory))
            parts[part](transcript)
            failures += transcript.failures
    for failure in failures:
        print(f"!!! {failure}", file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
