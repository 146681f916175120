"""What an operator missed on the first day, in the order of the complaint: each as commands, their output and their exit statuses."""
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

CONFIGURATION = """
children:
  - name: steady
    program: { command: [sleep, "100000"] }
  - name: flapping
    program: { command: [sh, -c, "echo up and down; exit 1"] }
    restart_limits: { max_restarts: unlimited, backoff: { minimum: 1s, maximum: 1m, jitter: 0 } }
  - name: limited
    program: { command: [sh, -c, "exit 3"] }
    restart_limits: { max_restarts: 1, period: 1m, backoff: { minimum: 1ms, maximum: 1ms } }
  - name: writer
    program: { command: [sh, -c, "n=0; while [ $n -lt 60 ]; do n=$((n + 1)); echo line $n of LONG; done; exec sleep 100000"] }
    logging: { file: DIRECTORY/writer.log, maximum_size: 16KiB, keep: 9 }
  - name: parent
    program: { command: [sh, -c, "setsid sleep 100000 & echo $! > DIRECTORY/grandchild; exec sleep 100000"] }
  - name: settings
    program:
      command: [sh, -c, "echo $(id -un) $(umask) $(ulimit -n) $GREETING; exec sleep 100000"]
      umask: 027
      limits: { nofile: 100 }
      environment_files: [DIRECTORY/variables, -DIRECTORY/none]
      USER
  - name: database
    program:
      command: [sh, -c, "until test -e DIRECTORY/go; do sleep 0.05; done; echo >&3; exec sleep 100000"]
      ready: { fd: 3 }
  - name: migration
    program: { command: [echo, migrated] }
    restart: on_failure
    requires: [database]
  - name: server
    program:
      command: [sh, -c, "trap 'echo asked by QUIT; exit 0' QUIT; while :; do sleep 0.05; done"]
      start_seconds: 200ms
      stop_signal: QUIT
      health: { command: [test, -e, DIRECTORY/healthy], interval: 100ms, on_failure: report }
    requires: [database]
    after: [migration]
  - name: manual
    program: { command: [sleep, "100000"] }
    autostart: false
  - name: web
    children:
      - name: front
        program: { command: [sleep, "100000"] }
      - name: back
        program: { command: [sleep, "100000"] }
        instances: 2
  - name: notifier
    program:
      command:
        - PYTHON
        - -c
        - |
          import os, signal, socket
          peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
          peer.sendto(b"READY=1\\nSTATUS=serving 3 of 4", os.environ["NOTIFY_SOCKET"])
          signal.pause()
      ready: notify
  - name: stubborn
    program: { command: [sh, -c, "trap '' TERM; touch DIRECTORY/stubborn; while :; do sleep 0.05; done"] }
    stop_timeout: infinity
"""


class FirstDay:
    def __init__(self, transcript):
        self.transcript = transcript
        self.run, self.both, self.node = transcript.run, transcript.both, transcript.node
        self.eventually, self.fail = transcript.eventually, transcript.fail
        self.directory = transcript.directory

    def expect(self, what, condition):
        if not condition:
            self.fail(f"not so: {what}")

    def state(self, path):
        return self.node(path).get("state")

    def write(self, name, text):
        (self.directory / name).write_text(text)

    @property
    def configuration(self):
        user = "user: nobody\n      directory: /" if os.geteuid() == 0 else ""
        text = CONFIGURATION.replace("USER", user).replace("LONG", "x" * 1000).replace("PYTHON", sys.executable)
        return text.replace("DIRECTORY", str(self.directory))

    def all(self):
        # Programs of another user pass through the directory.
        self.directory.chmod(0o711)
        self.write("variables", "GREETING='hello from a file'\n")
        self.write("healthy", "")
        with self.transcript.daemon(self.configuration):
            self.eventually("the tree is there", lambda: self.state("/steady") == "active")
            for section in (
                self.dependencies, self.settings, self.restart_limits, self.logs, self.whole_trees, self.readiness, self.chosen_children,
                self.figures, self.reload, self.audit, self.interrupted, self.everything,
            ):
                print(f"\n## {section.__doc__}\n")
                section()

    def reload(self):
        """A changed file is taken over by `config apply` and by SIGHUP, and what hasn't changed keeps its process."""
        pids = {path: self.node(path)["pid"] for path in ("/steady", "/database", "/web/front")}
        next = self.configuration.replace("name: manual", "name: added").replace("autostart: false", "autostart: true")
        self.write("tree.yaml", next.replace("max_restarts: unlimited", "max_restarts: 100"))
        self.run(["config", "check", f"{self.directory}/tree.yaml"], shows="ok; 13 children")
        plan = "~ /flapping: restart_limits (no restart)"
        self.both(["config", "diff"], "config-changes")
        self.run(["config", "diff"], shows=plan)
        self.run(["config", "apply", "--dry-run"], shows="1 to be started, 1 to be stopped")
        self.expect("a dry run changes nothing", self.state("/manual") == "active")
        self.run(["config", "apply"], shows="+ /added\n")
        self.run(["config", "diff"], shows="nothing to change")
        self.run(["status", "/added"], shows="active")
        self.run(["status", "/manual"], exit=4)
        self.write("tree.yaml", next + "  - { name: later, program: { command: [sleep, '100000'] } }\n")
        os.kill(self.node("/")["pid"], signal.SIGHUP)
        self.eventually("the daemon has followed SIGHUP", lambda: self.state("/later") == "active")
        self.run(["status", "/later"], shows="active")
        self.write("tree.yaml", next + "  - { name: wrong, auto_start: true }\n")
        self.both(["config", "apply"], "error", exit=78, shows="did you mean `autostart`?")
        self.expect("a wrong file changes nothing", self.state("/later") == "active")
        self.write("tree.yaml", next)
        self.run(["config", "apply"], shows="- /later\n")
        now = {path: self.node(path)["pid"] for path in pids}
        self.expect(f"the processes stay: {pids}, {now}", now == pids)

    def restart_limits(self):
        """Each child has its own restart limits; one retries for ever, failing, with a countdown; another is given up alone."""
        # Long enough for the commands that show it.
        self.eventually("a countdown", lambda: self.state("/flapping") == "failing" and self.node("/flapping").get("next_start_ms", 0) > 2000)
        waiting = self.both(["status", "/flapping"], "status", exit=3, shows="failing")
        self.expect("the attempt and the countdown are told", waiting["restart_attempt"] >= 3 and 0 <= waiting["next_start_ms"] <= 60_000)
        self.run(["tree"], shows=" in ")
        self.eventually("limited is given up", lambda: self.state("/limited") == "failed")
        self.both(["status", "/limited"], "status", exit=3, shows="exited with code 3")
        self.both(["history", "/limited"], "history", shows="exited with code 3")
        self.run(["start", "/limited"], exit=1, shows="exited with code 3")
        self.run(["status", "/steady"], shows="active")
        self.expect("a sibling has its first life", self.node("/steady")["incarnation"] == 1)

    def logs(self):
        """Output is in a log file for each child, rotated by its size, and shown by path, number, pattern and time."""
        self.eventually("all is written", lambda: "line 60 of" in self.run(["logs", "/writer", "-n", "1"]))
        files = sorted(file.name for file in self.directory.glob("writer.log*"))
        self.expect(f"the log was rotated: {files}", files[:3] == ["writer.log", "writer.log.1", "writer.log.2"])
        self.expect("none is above its size", all((self.directory / name).stat().st_size <= 16 << 10 for name in files))
        lines = self.run(["logs", "/writer", "--grep", "^line [0-9]+ of"]).splitlines()
        self.expect(f"{len(lines)} of 60 lines are there", len(lines) == 60)
        self.transcript.lines(["logs", "/flapping", "-n", "1", "--since", "1h"], "logs", shows="up and down")
        self.run(["logs", "/steady"])

    def whole_trees(self):
        """A stop ends all that descends from a program, also in a session of its own."""
        self.eventually("the grandchild is there", lambda: (self.directory / "grandchild").exists() and self.text("grandchild").strip())
        grandchild = pathlib.Path("/proc") / self.text("grandchild").strip()
        self.expect("the grandchild lives", grandchild.exists())
        self.both(["stop", "/parent"], "lifecycle", shows="inactive")
        self.expect("nothing is left of it", not grandchild.exists())
        self.run(["start", "/parent"], shows="active")

    def text(self, name):
        return (self.directory / name).read_text()

    def settings(self):
        """A program has a user, permissions, limits and variables of its own, from files that are read at each start."""
        user = "nobody" if os.geteuid() == 0 else subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        self.eventually("it has written", lambda: self.run(["logs", "/settings"]))
        self.run(["logs", "/settings"], shows=f"{user} 0027 100 hello from a file")
        self.write("variables", "GREETING='hello again'\n")
        self.run(["restart", "/settings"], shows="active")
        self.eventually("the next life has the file's text", lambda: "hello again" in self.run(["logs", "/settings", "-n", "1"]))

    def dependencies(self):
        """Children wait for those that they require; their order, stop signals and health checks are in the file."""
        self.eventually("they wait", lambda: self.state("/server") == "waiting")
        self.both(["status", "/database"], "status", exit=3, shows="starting")
        self.both(["status", "/server"], "status", exit=3, shows="waiting")
        self.both(["tree"], "tree", shows="waiting")
        self.run(["top", "--once", "--interval", "100ms"], schema="top")
        self.write("go", "")
        self.eventually("the server is up", lambda: self.state("/server") == "active")
        self.run(["logs", "/migration"], shows="migrated")
        numbers = [self.event("started", path) for path in ("/database", "/migration", "/server")]
        self.expect(f"they have started in order: {numbers}", None not in numbers and numbers == sorted(numbers))
        (self.directory / "healthy").unlink()
        self.eventually("it's unhealthy", lambda: self.state("/server") == "unhealthy")
        self.both(["status", "/server"], "status", exit=5, says="unhealthy")
        self.write("healthy", "")
        self.eventually("it's healthy", lambda: self.node("/server")["health"]["healthy"])
        self.both(["stop", "/database"], "lifecycle", shows="inactive")
        self.run(["status", "/server"], exit=3, shows="waiting")
        self.run(["logs", "/server"], shows="asked by QUIT")
        self.both(["start", "/database"], "lifecycle", shows="active")
        self.eventually("what requires it is back", lambda: self.state("/server") == "active")

    def event(self, kind, path):
        """The number of the first event of a kind about a path."""
        listed = subprocess.run(
            [f"{self.transcript.built}/coordinatorctl", "--json", "events", "--path", path], env=self.transcript.environment, capture_output=True, text=True
        )
        return next((event["number"] for event in map(json.loads, listed.stdout.splitlines()) if event["kind"] == kind), None)

    def audit(self):
        """Events are numbered, and tell who did what, when, with what outcome."""
        self.run(["stop", "/steady"], shows="inactive")
        self.run(["stop", "/nowhere"], exit=4)
        events = self.transcript.lines(["events", "--since", "1h"], "events", says="stop by ")
        requests = [event for event in events if event["kind"] == "operator" and event["request"]["operation"] == "stop"]
        done = [event for event in requests if event.get("path") == "/steady"]
        self.expect("the stop has its requester and outcome", done and (done[-1]["request"]["uid"], done[-1]["request"]["outcome"]) == (os.geteuid(), "ok"))
        self.expect("a refused one too", any(event["request"]["outcome"] == "noSuchPath" for event in requests))
        self.run(["start", "/steady"], shows="active")
        self.transcript.lines(["events", "--since", str(events[-1]["number"])], "events", says="start by ")
        self.both(["history", "/steady"], "history")
        self.run(["history", "/steady"], shows="lives")

    def chosen_children(self):
        """A child that isn't started by itself, groups, several paths and patterns in one command."""
        self.both(["status", "/manual"], "status", exit=3, shows="inactive")
        self.both(["start", "/manual"], "lifecycle", shows="active")
        self.both(["tree"], "tree", shows="back-2")
        self.both(["restart", "/manual", "/web/front"], "lifecycle-list", shows="/web/front")
        pids = {path: self.node(path)["pid"] for path in ("/web/front", "/web/back-1", "/web/back-2")}
        self.both(["status", "/web/**"], "status-list", shows="/web/back-2")
        restarted = self.both(["restart", "/web/**"], "lifecycle-list", shows="/web/back-2")
        self.expect(f"the group's members: {restarted}", [each["path"] for each in restarted["results"]] == list(pids))
        self.expect("each has another process", all(self.node(path)["pid"] != pid for path, pid in pids.items()))
        stopped = self.both(["stop", "/**/back-*"], "lifecycle-list", shows="/web/back-1")
        self.expect(f"they are stopped: {stopped}", {each["state"] for each in stopped["results"]} == {"inactive"})
        self.both(["start", "/web/*"], "lifecycle-list", shows="/web/back-1")
        self.both(["stop", "/web"], "lifecycle", shows="inactive")
        self.both(["start", "/web"], "lifecycle", shows="active")
        self.eventually("the group is whole", lambda: self.state("/web/back-2") == "active")

    def figures(self):
        """Processor time and memory of each process, and the countdown of one that waits."""
        top = self.both(["top", "--once", "--interval", "200ms", "--sort", "memory"], "top", shows="flapping")
        rows = {row["path"]: row for row in top["coordinators"]}
        self.expect("a process has memory and processor time", rows["/steady"]["memory_bytes"] > 0 and rows["/steady"]["cpu_percent"] >= 0)
        self.run(["top", "--once", "--interval", "100ms"], shows="MEM")

    def readiness(self):
        """sd_notify, the version and the shell's completion."""
        self.eventually("it has told", lambda: self.state("/notifier") == "active")
        told = self.both(["status", "/notifier"], "status", shows="serving 3 of 4")
        self.expect("the text of the program", told["status_text"] == "serving 3 of 4")
        self.run(["--version"])
        self.run(["completion", "bash"], shows="complete -")

    def interrupted(self):
        """A command that is interrupted ends at once, what it has requested goes on, and the daemon answers."""
        for command, next in (("stop", "inactive"), ("restart", "active")):
            self.eventually("it ignores SIGTERM", lambda: (self.directory / "stubborn").exists())
            pid = self.node("/stubborn")["pid"]
            waiting = self.begin([command, "/stubborn"])
            self.eventually("it's stopping", lambda: self.state("/stubborn") == "stopping")
            self.interrupt(waiting, [command, "/stubborn"])
            self.both(["status", "/stubborn"], "status", exit=3, shows="stopping" if command == "stop" else None)
            self.transcript.run_fast(["tree"], shows="stubborn")
            (self.directory / "stubborn").unlink()
            os.kill(pid, signal.SIGKILL)
            self.eventually(f"{command} has gone on", lambda: self.state("/stubborn") == next and self.node("/stubborn").get("pid") != pid)
            self.run(["start", "/stubborn"], shows="active")
        for arguments in (["logs", "-f", "/writer"], ["events", "-f"]):
            following = self.begin(arguments)
            # The first output: the command follows by now.
            self.expect("it follows", select.select([following.stdout], [], [], 20)[0])
            self.interrupt(following, arguments)
        self.transcript.run_fast(["ps"], shows="/steady")
        self.both(["doctor"], "doctor", shows="daemon")

    def begin(self, arguments):
        return subprocess.Popen(
            [f"{self.transcript.built}/coordinatorctl", *arguments], env=self.transcript.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def interrupt(self, process, arguments):
        """Sends what Ctrl-C sends, and expects that the command ends by it within a second; on a loaded machine, a few."""
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            status = process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            status = f"none after 5 s, then {process.wait()}"
        print(f"$ coordinatorctl {' '.join(arguments)}\n^C\n  exit {status}, {(time.monotonic() - began) * 1000:.0f} ms after the interrupt")
        self.expect(f"{arguments} is ended by SIGINT: {status}", status == -signal.SIGINT)
        process.stdout.close()

    def everything(self):
        """One command for all children."""
        self.both(["status", "--all"], "status-list", exit=3, shows="/web")
        self.run(["stop", "--all", "/web"], exit=64, shows="exclude each other")
        pid = self.node("/stubborn")["pid"]
        stopping = self.begin(["stop", "--all", "--json"])
        self.eventually("all others have ended", lambda: self.state("/stubborn") == "stopping" and self.state("/steady") == "inactive")
        os.kill(pid, signal.SIGKILL)
        output, _ = stopping.communicate(timeout=20)
        print(f"$ coordinatorctl stop --all --json\n{output.decode()}  exit {stopping.returncode}")
        self.expect("the stop has succeeded", stopping.returncode == 0)
        for problem in self.transcript.schemas.problems("lifecycle-list", json.loads(output)):
            self.fail(f"stop --all: {problem}")
        self.run(["tree"])
        states = {node["path"]: node["state"] for node in self.node("/")["children"]}
        self.expect(f"nothing runs: {states}", set(states.values()) == {"inactive", "failed"} and states["/limited"] == "failed")
        self.both(["start", "/web/**"], "lifecycle-list", exit=3, shows="the supervisor of /web/front isn't running")
        self.both(["start", "/steady", "/web"], "lifecycle-list", shows="/web")
