import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("PostgreSQL, nginx and redis under a daemon that is killed, replaced and configured anew again and again", .timeLimit(minutes: 10))
struct ServersAdoptionTests {
    private static let kills = rounds(short: 5, all: 5, long: 100)
    private static let upgrades = rounds(short: 2, all: 5, long: 20)
    private static let reloads = rounds(short: 2, all: 5, long: 10)

    private static let postgres = ["/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/15/bin"]
        .first { access("\($0)/postgres", X_OK) == 0 }
    private static let others: [String] = ["/usr/sbin/nginx", "/usr/bin/redis-server"]
    private static let areInstalled = geteuid() == 0 && postgres != nil && others.allSatisfy { access($0, X_OK) == 0 }

    /// Keeps one connection to each server, and makes another again and again; each request is answered, or this ends with an error.
    private static let load = """
        import signal, socket, struct, sys, threading, time
        directory, port = sys.argv[1], int(sys.argv[2])
        over, counts, failures = threading.Event(), {}, []

        def exactly(connection, count):
            data = b""
            while len(data) < count:
                piece = connection.recv(count - len(data))
                if not piece: raise OSError("the connection was closed")
                data += piece
            return data

        def connect(address):
            connection = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
            connection.settimeout(20)
            connection.connect(address)
            return connection

        class Redis:
            def __init__(self): self.connection = connect(directory + "/redis.sock")
            def ask(self):
                self.connection.sendall(b"PING\\r\\n")
                assert exactly(self.connection, 7) == b"+PONG\\r\\n"

        class Nginx:
            def __init__(self): self.connection = connect(("127.0.0.1", port))
            def ask(self):
                self.connection.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
                answer = b""
                while b"\\r\\n\\r\\nfine" not in answer: answer += exactly(self.connection, 1)

        class Postgres:
            def __init__(self):
                self.connection = connect(directory + "/.s.PGSQL.5432")
                text = struct.pack("!I", 196608) + b"user\\0nobody\\0database\\0postgres\\0\\0"
                self.connection.sendall(struct.pack("!I", len(text) + 4) + text)
                self.read()
            def read(self):
                kind = None
                while kind != b"Z":
                    kind, length = exactly(self.connection, 1), struct.unpack("!I", exactly(self.connection, 4))[0]
                    body = exactly(self.connection, length - 4)
                    assert kind != b"E", body
            def ask(self):
                text = b"select 1\\0"
                self.connection.sendall(b"Q" + struct.pack("!I", len(text) + 4) + text)
                self.read()

        def work(kind):
            try:
                kept = kind()
                while not over.is_set():
                    kept.ask()
                    other = kind()
                    other.ask()
                    other.connection.close()
                    counts[kind.__name__] = counts.get(kind.__name__, 0) + 1
                    time.sleep(0.001)
            except Exception as error:
                failures.append(f"{kind.__name__}: {error!r}")
                over.set()

        signal.signal(signal.SIGTERM, lambda *_: over.set())
        threads = [threading.Thread(target=work, args=[kind]) for kind in (Redis, Nginx, Postgres)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(failures or "all answered", counts, flush=True)
        sys.exit(bool(failures) or len(counts) < 3)
        """

    @Test("No connection is lost, and the processes stay the same", .enabled(if: areInstalled, "needs root, nginx, redis and PostgreSQL"))
    func load() async throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o777)
        let (port, binaries) = (try FreePort.find(), Self.postgres ?? "")
        try Files.write(Self.load, to: directory.file("load.py"))
        try Files.write(
            """
            daemon off; pid \(directory.path)/nginx.pid; error_log stderr notice; worker_processes 2; user root;
            events { worker_connections 256; }
            http { access_log off; keepalive_requests 1000000000;
              server { listen 127.0.0.1:\(port); location / { return 200 "fine"; } } }
            """,
            to: directory.file("nginx.conf")
        )
        let asNobody = "setpriv --reuid=nobody --regid=nogroup --clear-groups"
        let prepare = "\(asNobody) \(binaries)/initdb -D \(directory.path)/data -A trust -N -U nobody"
        let initdb = try await ProcessSpawner.shared.spawn(
            ProcessSpecification(executable: "/bin/sh", arguments: ["-c", prepare], workingDirectory: "/", standardOutput: .null)
        )
        try #require(await initdb.waitForExit() == .exited(code: 0))
        let tree = """
            children:
              - name: postgres
                program:
                  command: [\(binaries)/postgres, -D, \(directory.path)/data, -k, \(directory.path), -h, '', -c, fsync=off]
                  user: nobody
                  stop_signal: INT
                  ready: { command: [\(binaries)/pg_isready, -q, -h, \(directory.path)], interval: 100ms }
              - name: nginx
                program: { command: [/usr/sbin/nginx, -c, \(directory.path)/nginx.conf], stop_signal: QUIT }
              - name: redis
                program:
                  command: [redis-server, --port, '0', --unixsocket, \(directory.path)/redis.sock, --save, '', --dir, \(directory.path)]
            """
        try await RunningDaemon.with(tree) { daemon in
            func pids() async throws -> [String: Int32] {
                var pids: [String: Int32] = [:]
                try await daemon.eventually("all are active") {
                    let children = try await daemon.tree().children
                    pids = Dictionary(children.compactMap { child in child.pid.map { (child.path, $0) } }) { first, _ in first }
                    return pids.count >= 3 && children.allSatisfy { $0.state == "active" }
                }
                return pids
            }
            let before = try await pids()
            try await daemon.eventually("nginx and redis listen") {
                _ = try RawSocket(port: port)
                return Files.names(in: directory.path).contains("redis.sock")
            }
            let output = Transcript()
            var specification = ProcessSpecification(
                executable: "/usr/bin/python3",
                arguments: [directory.file("load.py"), directory.path, "\(port)"],
                standardOutput: output.destination
            )
            specification.standardError = .sameAsOutput
            let load = try await ProcessSpawner.shared.spawn(specification)
            var current = daemon.process
            for _ in 0..<Self.kills {
                current = try await daemon.killAndReplace(current)
                #expect(try await pids() == before)
            }
            var longest: Int64 = 0
            for _ in 0..<Self.upgrades {
                longest = max(longest, try await daemon.upgrade().pauseMilliseconds)
                #expect(try await pids() == before)
            }
            for round in 0..<Self.reloads {
                // Another child comes and goes, and the servers' own keys change, as far as they are taken over while one runs.
                let other = round.isMultiple(of: 2) ? "  - { name: other, program: { command: [sleep, '1000'] } }\n" : ""
                try daemon.rewrite("defaults: { stop_timeout: \(11 + round)s }\n\(tree)\n\(other)")
                let reload = try await daemon.control("config", "apply")
                #expect(reload.exitCode == 0, "\(reload)")
                let names = try await daemon.tree().children.map(\.path)
                #expect(names.contains("/other") == !other.isEmpty, "\(names)")
                #expect(try await pids().filter { $0.key != "/other" } == before)
            }
            try load.send(.terminate)
            #expect(await load.waitForExit() == .exited(code: 0), "\(output.text)")
            #expect(output.text.contains("all answered"), "\(output.text)")
            print("\(Self.kills) kills, \(Self.upgrades) upgrades (longest pause \(longest) ms), \(Self.reloads) reloads: \(output.text)")
            try await daemon.endLeavingNothing(current)
        }
    }
}
