"""Runs programs under their own supervisor and, imported, under ours, and compares.

Usage: beside.py surroundings|states COORDINATORD [--seconds N] [--seed N] [--keep]

`surroundings`: what programs find: arguments, variables, directory, user, umask, limits, standard input, and where their output goes.
`states`: which programs run, after failures of single ones at random; files of the shape that known applications have.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = {
    "PATH": f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin", "LANG": "C.UTF-8", "WORKERS_COUNT": "3", "DOCUMENTS_PORT": "8000",
    "DOCUMENTS_SECRET": "secret", "BESIDE_LATE": "late value", "BESIDE_WORDS": "one two",
}
PATIENCE = 60


def wait(what, condition, patience=PATIENCE):
    """Waits until a condition holds; other processes tell nobody when it does."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"not in {patience} s: {what}")


class Side:
    """One of the two supervisors of a file, in a directory of its own."""

    def __init__(self, file, root):
        self.root = root
        self.kind = "honcho" if file.suffix == ".Procfile" else file.name.split(".")[-2]
        for name in ("bin", "pids", "fail", "out", "work", "conf.d"):
            (root / name).mkdir(parents=True)
        os.mkfifo(root / "never")
        for name in ("out", "pids", "work", "never"):
            (root / name).chmod(0o777)
        root.chmod(0o755)
        shutil.copy(HERE / "standin", root / "bin")
        shutil.copy(HERE / "report", root / "bin")
        name = "Procfile" if self.kind == "honcho" else file.name
        self.file = root / name
        self.file.write_text(file.read_text().replace("ROOT", str(root)))
        extra = {
            "supervisord": f"[program:included]\ncommand={root}/bin/standin included %(here)s\nautorestart=true\n",
            "circus": f"[watcher:included]\ncmd = {root}/bin/standin included\ncopy_env = True\n",
        }.get(self.kind)
        if extra:
            (root / "conf.d" / "more.ini").write_text(extra)
        if self.kind == "honcho":
            (root / ".env").write_text("PORT=3000\n")

    def spawn(self, *command):
        self.log = open(self.root / "supervisor.log", "wb")
        self.process = subprocess.Popen(command, cwd=self.root, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def living(self):
        """The processes of each stand-in that runs."""
        result = {}
        for file in (self.root / "pids").iterdir():
            for line in file.read_text().split():
                try:
                    command = pathlib.Path(f"/proc/{line}/cmdline").read_bytes()
                    if f"{self.root}/bin/standin".encode() in command and b"\0" + file.name.encode() + b"\0" in command and b"-c\0" not in command:
                        result.setdefault(file.name, []).append(int(line))
                except (FileNotFoundError, ProcessLookupError):
                    pass
        return result


def kill(pid, number):
    """Sends a signal to a process, which may have ended since it was seen."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class Original(Side):
    def start(self):
        python = [sys.executable, "-m"]
        self.spawn(
            *{
                "supervisord": python + ["supervisor.supervisord", "-n", "-c", self.file, "-l", self.root / "super.log", "-j", self.root / "super.pid", "-q", self.root],
                "circus": python + ["circus.circusd", self.file],
                "honcho": python + ["honcho", "-f", self.file, "start"],
            }[self.kind]
        )


class Ours(Side):
    def __init__(self, file, root, coordinatord):
        super().__init__(file, root)
        self.coordinatord = coordinatord

    def start(self):
        tree = self.root / "tree.yaml"
        imported = subprocess.run(
            [os.environ.get("BESIDE_IMPORT", self.coordinatord), "--import", self.file] if "BESIDE_IMPORT" not in os.environ else [os.environ["BESIDE_IMPORT"], self.file],
            env=ENVIRONMENT, capture_output=True, text=True,
        )
        assert imported.returncode == 0, imported.stderr
        tree.write_text("\n".join(line for line in imported.stdout.split("\n") if not line.startswith("NOTE")))
        assert ENVIRONMENT["DOCUMENTS_SECRET"] not in tree.read_text() and ENVIRONMENT["BESIDE_LATE"] not in tree.read_text(), "a secret is in the file"
        self.spawn(self.coordinatord, "--config", tree, "--runtime-dir", self.root / "run")


class Pair:
    def __init__(self, file, coordinatord, keep=False):
        self.name = file.name
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="beside-", dir="/tmp"))
        self.root.chmod(0o755)
        self.keep = keep
        self.sides = [Original(file, self.root / "a"), Ours(file, self.root / "b", coordinatord)]

    def __enter__(self):
        for side in self.sides:
            side.start()
        return self

    def __exit__(self, *_):
        threads = [threading.Thread(target=side.end) for side in self.sides]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if not self.keep:
            shutil.rmtree(self.root, ignore_errors=True)

    def counts(self):
        return [{name: len(pids) for name, pids in side.living().items()} for side in self.sides]


# ---- What programs find

# What a supervisor adds of its own (Circus by mistake its section's name), what a shell has, and what a user's account is.
OWN = {"_", "PWD", "OLDPWD", "SHLVL", "HONCHO_PROCESS_NAME", "LC_CTYPE", "__name__"}
ACCOUNT = {"HOME", "USER", "LOGNAME", "SHELL"}


def found(side):
    result = {}
    for file in (side.root / "out").iterdir():
        if file.suffix == ".new":
            continue
        report = json.loads(file.read_text().replace(str(side.root), "ROOT"))
        report["environment"] = {
            name: value
            for name, value in report["environment"].items()
            if name not in OWN | ACCOUNT and not name.startswith(("SUPERVISOR_", "COORDINATOR_", "NOTIFY_", "LISTEN_", "WATCHDOG_"))
        }
        result[file.name] = report
    return result


def surroundings(coordinatord, keep):
    problems = []
    files = {"surroundings.supervisord.conf": 3, "surroundings.circus.ini": 2, "surroundings.Procfile": 2}

    def compare(item):
        name, count = item
        with Pair(HERE / "files" / name, coordinatord, keep) as pair:
            for side in pair.sides:
                wait(f"{name}: {count} reports of {type(side).__name__} in {side.root}", lambda: len(found(side)) == count)
            original, ours = map(found, pair.sides)
            has_stdin = "stdin: open" in (pair.sides[1].root / "tree.yaml").read_text()
            for program in original:
                for key in original[program]:
                    if key == "stdin" and not has_stdin:
                        continue
                    if original[program][key] != ours[program][key]:
                        problems.append(f"{name} {program} {key}:\n  theirs {original[program][key]}\n  ours   {ours[program][key]}")
            if "supervisord" in name:
                texts = [(side.root / "plain.log").read_text() for side in pair.sides]
                if "format: raw" not in (pair.sides[1].root / "tree.yaml").read_text():
                    texts[1] = "".join(line.split(" ", 3)[-1] for line in texts[1].splitlines(keepends=True) if " stdout " in line)
                if "to standard output" not in texts[0] or "to standard output" not in texts[1]:
                    problems.append(f"{name}: the log of plain: {texts}")

    with concurrent.futures.ThreadPoolExecutor() as pool:
        for result in [pool.submit(compare, item) for item in files.items()]:
            result.result()
    return problems


# ---- Which programs run

def states(coordinatord, seconds, seed, keep):
    files = sorted(file for file in (HERE / "files").iterdir() if not file.name.startswith("surroundings"))

    def storm(file):
        dice = random.Random(f"{seed} {file.name}")
        events = []
        with Pair(file, coordinatord, keep) as pair:
            try:
                return f"{file.name}: {len(events)} failures" if run(pair, dice, events) is None else ""
            except AssertionError as problem:
                raise AssertionError(f"{file.name} (seed {seed}) in {pair.root}: {problem}\n  theirs, ours: {pair.counts()}\n  after {events[-6:]}") from None

    def equal(pair, what):
        # The same twice, a moment apart: a program that is about to be started again isn't counted as ended.
        def settled():
            first = pair.counts()
            if first[0] != first[1] or not first[0] and not first[1]:
                return False
            time.sleep(0.5)
            return pair.counts() == first

        wait(what, settled)

    def run(pair, dice, events):
        equal(pair, "the same programs run at first")
        end = time.monotonic() + seconds
        # When each process was seen first: the two sides may begin a life at different times.
        born = {}
        while time.monotonic() < end:
            living = [side.living() for side in pair.sides]
            for pid in (pid for pids in living for numbers in pids.values() for pid in numbers):
                born.setdefault(pid, time.monotonic())
            names = sorted(name for name in living[0] if living[0].get(name) and living[1].get(name))
            if not names:
                break
            name = dice.choice(names)
            if pair.sides[0].kind == "honcho":
                # One that ends has honcho end all.
                break
            number = dice.choice([signal.SIGUSR1, signal.SIGUSR2, signal.SIGKILL])
            index = dice.randrange(min(len(living[0][name]), len(living[1][name])))
            # Ends within `startsecs` are failed starts, which are another matter.
            youngest = max(born[pid] for pids in living for pid in pids[name])
            if (age := time.monotonic() - youngest) < 2.5:
                time.sleep(2.5 - age)
                continue
            for pids in living:
                kill(sorted(pids[name])[index], number)
            events.append((name, number.name))
            wait(f"{name} is gone", lambda: all(sorted(l[name])[index] not in s.living().get(name, []) for l, s in zip(living, pair.sides)))
            equal(pair, f"the same programs run after {number.name} of {name}")
        if pair.sides[0].kind == "supervisord" and (victims := sorted(n for n in pair.counts()[0] if n in ("broken", "apache", "dovecot", "bench-web"))):
            # One that can't start any more is given up, and leaves the others alone.
            name = victims[0]
            for side in pair.sides:
                (side.root / "fail" / name).touch()
            for side in pair.sides:
                for pid in side.living().get(name, []):
                    kill(pid, signal.SIGKILL)
            wait(f"{name} is given up by supervisord", lambda: f"gave up: {name}" in (pair.sides[0].root / "super.log").read_text())
            wait(f"{name} is given up by ours", lambda: '"state":"failed"' in ours_tree(pair.sides[1]))
            for side in pair.sides:
                (side.root / "fail" / name).unlink()
            equal(pair, f"the same programs run after {name} was given up")
            assert name not in pair.counts()[0], f"{name} runs again"

    def ours_tree(side):
        control = pathlib.Path(side.coordinatord).with_name("coordinatorctl")
        return subprocess.run([control, "--runtime-dir", side.root / "run", "tree", "--json"], capture_output=True, text=True, env=ENVIRONMENT).stdout

    problems = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(files)) as pool:
        for result in [pool.submit(storm, file) for file in files]:
            try:
                result.result()
            except Exception as problem:
                problems.append(f"{type(problem).__name__}: {problem}")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["surroundings", "states"])
    parser.add_argument("coordinatord")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if options.mode == "surroundings":
        problems = surroundings(options.coordinatord, options.keep)
    else:
        problems = states(options.coordinatord, options.seconds, options.seed, options.keep)
    print("\n".join(problems) or "the same")
    sys.exit(1 if problems else 0)


main()
