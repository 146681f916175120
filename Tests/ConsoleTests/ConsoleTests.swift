import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("The console beside a real daemon", .timeLimit(minutes: 3))
struct ConsoleTests {
    /// Two children that do nothing, and one that writes and fails once in a while.
    static let children = """
          - { name: calm, program: { command: [sleep, "1000"] } }
          - { name: other, program: { command: [sh, -c, "echo words; exec sleep 1000"] } }
        """

    @Test("The page, its parts and the API are served with headers that let nothing else in")
    func page() async throws {
        try await RunningConsole.with(Self.children) { console in
            let page = try await console.get("/")
            #expect(page.status == 200 && page.body.contains("<title>coordinatord</title>"))
            #expect(page.head.contains("Content-Security-Policy: default-src 'none'; script-src 'self';"))
            #expect(page.head.contains("X-Content-Type-Options: nosniff"))
            // Nothing inline, and nothing of another origin.
            #expect(!page.body.contains("style=") && !page.body.contains("onclick") && !page.body.contains("http:"))
            for module in page.body.split(separator: "src=\"").dropFirst().map({ String($0.prefix { $0 != "\"" }) }) {
                #expect(try await console.get(module).status == 200, "\(module)")
            }
            let style = try await console.get("/console.css")
            let tag = try #require(style.head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }?.dropFirst("ETag: ".count))
            #expect(try await console.get("/console.css", headers: ["If-None-Match": String(tag)]).status == 304)
            #expect(try await console.get("/nothing").status == 404)
            #expect(try await console.get("/healthz").body == "ok\n")

            let shown = try ControlJSON.decode(TreeNode.self, from: try await console.get("/api/v1/tree").json)
            #expect(shown.children.map(\.path) == (try await console.tree()).children.map(\.path))
            #expect(shown.children.map(\.key) == ["console", "calm", "other"])
            try await eventually("the words are shown") {
                try await console.get("/api/v1/logs?path=/other").json["lines"]?[0]?["line"] == "words"
            }
            #expect(try await console.get("/api/v1/history?path=/calm").json["lives"]?[0]?["incarnation"] == 1)
            #expect(try await console.get("/api/v1/metrics").json["counting"] == true)
            #expect(try await console.get("/api/v1/config-diff").json["changes"] == [])
            try console.change { $0.replacing("name: calm", with: "name: calmer") }
            try await eventually("the difference is shown") {
                let changes = try await console.get("/api/v1/config-diff").json["changes"]?.arrayValue
                return changes?.compactMap { $0["path"]?.stringValue }.sorted() == ["/calm", "/calmer"]
            }
            // It's no node of a cluster.
            #expect(try await console.get("/api/v1/nodes").status == 400)
            #expect(try await console.get("/api/v1/where?path=/calm").status == 400)
            #expect(try await console.get("/api/v1/status?path=/none").status == 404)
            #expect(try await console.get("/api/v1/status").status == 400)
            #expect(try await console.get("/api/v1/logs?path=/calm&lines=0").status == 400)
            #expect(try await console.get("/api/v1/events?limit=1").json["events"]?.arrayValue?.count == 1)
            // A number of a console that has ended, which this one hasn't reached.
            #expect(try await console.get("/api/v1/events?limit=1&after=9007199254740992").json["events"]?.arrayValue?.count == 1)
        }
    }

    @Test("A change needs the token, this origin and the life that is meant")
    func changes() async throws {
        try await RunningConsole.with(Self.children) { console in
            let before = try await console.node("/calm")
            let body = #"{"path":"/calm"}"#
            #expect(try await console.get("/api/v1/tree", headers: ["Host": "evil.example"]).status == 421)
            #expect(try await console.post("/api/v1/restart", body, token: nil).status == 401)
            #expect(try await console.post("/api/v1/restart", body, token: "0123456789-a-tokem").status == 401)
            #expect(try await console.post("/api/v1/restart", body, headers: ["Origin": "http://evil.example"]).status == 403)
            #expect(try await console.post("/api/v1/restart", body, headers: ["Sec-Fetch-Site": "cross-site"]).status == 403)
            #expect(try await console.post("/api/v1/restart", body, headers: ["Content-Type": "text/plain"]).status == 415)
            // A token can be tried before there is anything to change.
            for (token, status) in [(nil, 401), ("0123456789-a-tokem", 401), (RunningConsole.token, 200)] {
                #expect(try await console.post("/api/v1/unlock", "{}", token: token).status == status)
            }
            #expect(try await console.get("/api/v1/restart").status == 405)
            #expect(try await console.post("/api/v1/tree", body).status == 405)
            #expect(try await console.post("/api/v1/restart", "[]").status == 400)
            #expect(try await console.post("/api/v1/restart", #"{"path":"/none"}"#).status == 404)
            let huge = #"{"path":"/calm","x":""# + String(repeating: "x", count: 70_000) + "\"}"
            #expect(try await console.post("/api/v1/restart", huge).status == 413)
            #expect(try await console.post("/api/v1/restart", #"{"path":"/calm","incarnation":7}"#).status == 409)
            #expect(try await console.node("/calm").pid == before.pid)

            let origin = "http://127.0.0.1:\(console.port)"
            let answer = try await console.post("/api/v1/restart", #"{"path":"/calm","incarnation":1}"#, headers: ["Origin": origin])
            let result = try answer.json
            #expect(answer.status == 200 && result["incarnation"] == 2)
            #expect(try await console.node("/calm").pid != before.pid)

            // The same change again has the first one's answer, although that one has ended the life that is meant.
            func named(_ length: Int) -> String {
                let name = String(repeating: "n", count: length)
                return #"{"path":"/calm","incarnation":2,"request_id":"\#(name)"}"#
            }
            let first = try await console.post("/api/v1/restart", named(128))
            let again = try await console.post("/api/v1/restart", named(128))
            #expect(first.status == 200 && again.status == 200 && first.body == again.body)
            #expect(try await console.node("/calm").incarnation == 3)
            let late = try await console.post("/api/v1/restart", named(127))
            let refusal = try late.json
            #expect(late.status == 409 && refusal["error"]?["code"] == "otherLife")
            #expect(try await console.post("/api/v1/restart", named(129)).status == 400)
            #expect(try await console.node("/calm").incarnation == 3)
            // What isn't about a life says so, instead of doing it to whichever there is.
            for operation in ["flow-retry", "flow-skip", "flow-cancel", "flow-resume", "trace"] {
                let refused = try await console.post("/api/v1/\(operation)", #"{"path":"/calm","message":"M","incarnation":3}"#)
                #expect(refused.status == 400 && refused.body.contains("`incarnation` is for the changes of a lifecycle"), "\(operation)")
            }
        }
    }

    @Test("An ask that is traced and requested again under its name isn't asked again")
    func tracedOnce() async throws {
        let worker = "  - { name: tree, worker: { executable: \(BuiltProgram("FixtureWorker").path), coordinator: RootCoordinator } }"
        try await RunningConsole.with(worker) { console in
            try await eventually("it runs") { try await console.node("/tree").state == "active" }
            let body = #"{"path":"/tree","message":"Fixture.WhereAmI","request_id":"once"}"#
            let first = try await console.post("/api/v1/trace", body).json["trace"]
            let again = try await console.post("/api/v1/trace", body).json["trace"]
            #expect(first?.stringValue != nil && again == first)
            #expect(try await console.get("/api/v1/traces").json["traces"]?.arrayValue?.count == 1)
        }
    }

    @Test("A console without a token changes nothing")
    func readOnly() async throws {
        try await RunningConsole.with(Self.children, isReadOnly: true) { console in
            #expect(try await console.get("/api/v1/console").json["readOnly"] == true)
            let answer = try await console.post("/api/v1/kill", #"{"path":"/calm"}"#)
            let result = try answer.json
            #expect(answer.status == 403 && result["error"]?["code"] == "readOnly")
            #expect(try await console.post("/api/v1/unlock", "{}").status == 403)
            #expect(try await console.node("/calm").incarnation == 1)
        }
    }

    @Test("Killing the console touches no other child, and it comes back")
    func killed() async throws {
        try await RunningConsole.with(Self.children) { console in
            let before = try await console.tree()
            let victim = try #require(try await console.node("/console").pid)
            kill(victim, SIGKILL)
            try await eventually("another console answers") {
                guard let pid = try await console.node("/console").pid, pid != victim else { return false }
                return try? await console.get("/readyz").status == 200
            }
            let after = try await console.tree()
            for key in ["calm", "other"] {
                let (then, now) = (before.children.first { $0.key == key }, after.children.first { $0.key == key })
                #expect(then?.pid == now?.pid && now?.incarnation == 1 && now?.restarts == 0)
            }
            #expect(after.children.first { $0.key == "console" }?.restarts == 1)
        }
    }

    @Test("A browser gets all rows once, then those that change, and none twice when it comes back")
    func stream() async throws {
        // What runs has figures, which may change; what doesn't run has none.
        let still = "  - { name: still, program: { command: [sleep, \"1000\"] }, autostart: false }\n"
        try await RunningConsole.with(Self.children + "\n" + still) { console in
            let follower = try await StreamReader(console.port)
            try await follower.wait("all rows") { $0.rows.count == 5 && $0.wholes == 1 }
            _ = try await console.control("restart", "/calm")
            try await follower.wait("the new life") { $0.rows["/calm"]?["life"] == 2 }
            try await follower.wait("the event") { reader in reader.events.contains { $0["kind"] == "operator" } }
            #expect(follower.wholes == 1)
            let position = try #require(follower.position)

            _ = try await console.control("stop", "/other")
            let returned = try await StreamReader(console.port, position: position)
            try await returned.wait("the change meanwhile") { $0.rows["/other"]?["state"] == "inactive" }
            #expect(returned.wholes == 0 && returned.rows["/still"] == nil)
            let shown = try await StreamReader(console.port, parameter: position)
            try await shown.wait("the change meanwhile") { $0.rows["/other"]?["state"] == "inactive" }
            #expect(shown.wholes == 0 && shown.rows["/still"] == nil)
            // The header is what a browser has got since the address was made.
            let stranger = try await StreamReader(console.port, position: "another.1.1", parameter: position)
            try await stranger.wait("all rows") { $0.rows.count == 5 && $0.wholes == 1 }
        }
    }

    @Test("Rows have what their processes use with their descendants, what they run and as whom; a new process has figures of its own")
    func processes() async throws {
        let busy = "  - { name: busy, program: { command: [sh, -c, \"sleep 1000 & while :; do :; done\"], nice: 19 } }\n"
        try await RunningConsole.with(Self.children + "\n" + busy) { console in
            let follower = try await StreamReader(console.port)
            try await follower.wait("figures") { reader in
                guard let row = reader.rows["/busy"], let cpu = row["cpu"]?.numberValue else { return false }
                return cpu > 0 && row["processes"] == 2
            }
            let row = try #require(follower.rows["/busy"])
            #expect(row["command"] == "sh -c 'sleep 1000 & while :; do :; done'" && row["memory"]?.integerValue ?? 0 > 100_000)
            // A look-up that takes its time leaves the number until it has ended.
            let names = UserNames()
            try await follower.wait("the user's name") { $0.rows["/busy"]?["user"] == .string(names.name(of: geteuid()) ?? "\(geteuid())") }
            #expect(follower.rows["/calm"]?["command"] == "sleep 1000")
            try await follower.wait("an idle one") { $0.rows["/calm"]?["cpu"]?.numberValue == 0 }

            _ = try await console.control("stop", "/busy")
            try await follower.wait("nothing is known of no process") { reader in
                guard let row = reader.rows["/busy"], row["state"] == "inactive" else { return false }
                return row["memory"] == nil && row["command"] == nil
            }
            // The console's first look may have been too early.
            try await eventually("a point has the memory", within: .seconds(40)) {
                let memory = try await console.get("/api/v1/series?path=/calm").json["memory"]?.arrayValue
                return memory?.contains { $0.numberValue ?? 0 > 100_000 }
            }
        }
    }

    @Test("The figures of the last hour have the percentiles of asks")
    func percentiles() async throws {
        let worker = "  - { name: tree, worker: { executable: \(BuiltProgram("FixtureWorker").path), coordinator: RootCoordinator } }"
        try await RunningConsole.with(worker) { console in
            // Asks between two points, which are ten seconds apart.
            try await eventually("a point has the asks", within: .seconds(40)) {
                _ = try await console.control("ask", "/tree", "Fixture.WhereAmI")
                let (one, all) = (try await console.get("/api/v1/series?path=/tree").json, try await console.get("/api/v1/series").json)
                let medians = [one, all].compactMap { $0["p50"]?.arrayValue?.compactMap(\.numberValue).last }
                let most = [one, all].compactMap { $0["p99"]?.arrayValue?.compactMap(\.numberValue).last }
                return medians.count == 2 && most.count == 2 && medians[0] > 0 && medians[0] <= most[0] && most[0] < 10
            }
            #expect(try await console.get("/api/v1/series?path=/console").json["p99"]?.arrayValue?.allSatisfy(\.isNull) == true)
        }
    }

    @Test("Silent connections, more than the console accepts, hold it for no longer than their time")
    func silence() async throws {
        try await RunningConsole.with(Self.children) { console in
            var silent: [LoopbackConnection] = []
            for number in 0..<600 {
                let connection = try LoopbackConnection(console.port)
                // Every third one begins a request and never ends it.
                if number % 3 == 0 { connection.send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ") }
                silent.append(connection)
            }
            #expect(try await console.get("/healthz").status == 200)
            try await eventually("they are closed", within: .seconds(40)) { silent.allSatisfy(\.isClosed) }
        }
    }

    @Test("Who waits for room is answered as soon as there is some, also when all who had it have gone at once")
    func room() async throws {
        try await RunningConsole.with(Self.children) { console in
            let process = try #require(try await console.node("/console").pid)
            let descriptors = { Files.names(in: "/proc/\(process)/fd").count }
            let before = descriptors()
            // All that it accepts; the last one waits.
            var silent = try (0..<512).map { _ in try LoopbackConnection(console.port) }
            try await eventually("it has them") { descriptors() >= before + 512 }
            let last = try LoopbackConnection(console.port)
            last.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            // It learns of all the ends at once.
            try await stopProcess(process)
            silent.removeAll()
            kill(process, SIGCONT)
            #expect(try await last.receiveAll().hasSuffix("ok\n"))
        }
    }

    @Test("A browser that takes a large table so slowly that any part of it takes its time gets the whole")
    func slowReader() async throws {
        let name = String(repeating: "n", count: 200)
        let groups = (1...2).map { number in
            """
              - name: group-\(number)
                children: [{ name: \(name), program: { command: [sleep, "1000"] }, autostart: false, instances: 1000 }]

            """
        }
        try await RunningConsole.with(groups.joined()) { console in
            // The buffer of a port has room for all of the table, that of a socket for a fifth.
            let socket = "\(console.directory)/slow.sock"
            let other = ProcessSpecification(
                executable: BuiltProgram("coordinator-console").path,
                arguments: ["--listen", "unix:\(socket)", "--runtime-dir", "\(console.directory)/run"],
                standardOutput: .null,
                standardError: .null
            )
            try await withChild(other) { _ in
                let curl = "curl -sfN --unix-socket '\(socket)' --max-time 100"
                try await eventually("it's ready") { try await Programs.shell("\(curl) http://localhost/readyz").exitCode == 0 }
                let whole = "\(curl) --limit-rate 32k http://localhost/api/v1/stream | grep -m 1 -c '\"whole\":true}$'"
                #expect(try await Programs.shell(whole).output == "1\n")
            }
        }
    }

    @Test("A daemon that hangs is told by the metrics while its answer to another question is still waited for")
    func hung() async throws {
        try await RunningConsole.with { console in
            try await stopProcess(console.daemon)
            let first = try await withThrowingTaskGroup(of: HTTPExchange.Answer.self) { group in
                group.addTask { try await console.get("/api/v1/status?path=/console") }
                group.addTask { try await console.get("/metrics", headers: ["X-Prometheus-Scrape-Timeout-Seconds": "1"]) }
                defer { group.cancelAll() }
                return try #require(try await group.next())
            }
            try console.daemon.send(.continue)
            #expect(first.body.contains("coordinator_console_daemon_up 0\n"), "\(first)")
        }
    }

    @Test("A console without a daemon serves, and says that it isn't ready")
    func noDaemon() async throws {
        try await RunningConsole.with(Self.children) { console in
            let port = try FreePort.find()
            let second = ProcessSpecification(
                executable: BuiltProgram("coordinator-console").path,
                arguments: ["--listen", "127.0.0.1:\(port)", "--runtime-dir", "\(console.directory)/nowhere"],
                standardOutput: .null,
                standardError: .null
            )
            try await withChild(second) { _ in
                try await eventually("it listens") { try? await HTTPExchange.request("GET", "/healthz", port: port).status == 200 }
                let readiness = try await HTTPExchange.request("GET", "/readyz", port: port)
                #expect(readiness.status == 503 && readiness.body.contains("unreachable"))
                // A page that has rows keeps them: an empty table would say that there are none.
                let follower = try await StreamReader(port)
                try await follower.wait("the reason") { $0.problem != nil }
                #expect(follower.wholes == 0 && follower.rows.isEmpty)
                let metrics = try await HTTPExchange.request("GET", "/metrics", port: port)
                #expect(metrics.body.contains("coordinator_console_daemon_up 0"))
            }
        }
    }
}
