import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// Every shipped alert × what brings it about, done to a real daemon under a real Prometheus with the shipped files.
@Suite("Alerts and their causes", .timeLimit(minutes: 10))
struct AlertTests {
    /// What is done, in this order; the causes within one are side by side.
    enum Act: CaseIterable {
        /// Prometheus has the targets in a job of another name.
        case misnamed
        /// Children fail, messages wait, and certificates expire.
        case troubled
        /// The daemon is stopped by SIGSTOP.
        case hung
        /// The daemon has no descriptor for another console when that has ended.
        case starved
        /// The daemon is killed by SIGKILL: one console lives on, the other ends with it.
        case killed
    }

    /// The alerts, each with its labels; `FIRST` and `SECOND` stand for the addresses of the two consoles.
    static let causes: [(act: Act, alert: String, labels: String)] = [
        (.misnamed, "CoordinatorsNotScraped", #"job="coordinators""#),
        (.troubled, "CoordinatorFailed", #"path="/hopeless""#),
        (.troubled, "CoordinatorFailing", #"path="/crashing""#),
        (.troubled, "CoordinatorRestartsOften", #"path="/crashing""#),
        (.troubled, "CoordinatorForcedKill", #"path="/deaf""#),
        (.troubled, "CoordinatorUnhealthy", #"path="/sick""#),
        (.troubled, "CoordinatorUnresponsive", #"path="/blocked""#),
        (.troubled, "CoordinatorFlowsParked", #"path="/till""#),
        (.troubled, "CoordinatorMessagesWait", #"path="/paused""#),
        (.troubled, "CoordinatorAsksSlow", #"path="/tree",message="Fixture.Stall""#),
        (.troubled, "CoordinatorAsksFail", #"path="/tree",message="Fixture.Refuse""#),
        (.troubled, "CoordinatorDeadLetters", #"instance="FIRST""#),
        (.troubled, "CoordinatorCertificateExpires", #"file="link_tls.certificate""#),
        (.troubled, "CoordinatorRenewalFails", #"file="token_file""#),
        (.hung, "CoordinatorDaemonDown", #"instance="FIRST""#),
        (.starved, "CoordinatorConsoleDown", #"instance="SECOND""#),
        (.killed, "CoordinatorDaemonDown", #"instance="FIRST""#),
        (.killed, "CoordinatorConsoleDown", #"instance="SECOND""#),
    ]

    /// The text of a shipped file.
    private static func shipped(_ name: String) throws -> String {
        try #require(Files.text(of: "\(Programs.deploy("prometheus"))/\(name)"))
    }

    @Test("Each shipped rule has a cause here and a row in the runbook, and each state with a gauge has a rule")
    func complete() throws {
        let rules = try Self.shipped("alerts.yaml")
        let alerts = rules.matches(of: /- alert: (\w+)/).map { String($0.1) }
        #expect(Set(alerts).count == alerts.count && Set(alerts) == Set(Self.causes.map(\.alert)))
        #expect(Set(Self.causes.map(\.act)) == Set(Act.allCases))
        let runbook = try #require(Files.text(of: "\(Files.packageRoot)/Sources/Coordinators/Coordinators.docc/Runbook.md"))
        for alert in alerts { #expect(runbook.contains("| `\(alert)` |"), "\(alert)") }
        let expressions = rules.split(separator: "\n").filter { $0.contains(" expr: ") }
        for gauge in ShownState.allCases.compactMap(\.gauge) {
            #expect(expressions.contains { $0.contains("\(gauge.name)[") || $0.contains("\(gauge.name) ==") }, "\(gauge.name)")
        }
    }

    /// The children that are in trouble, and a second console, which ends with its daemon.
    private static func children(secondPort: UInt16) -> String {
        let fixture = BuiltProgram("FixtureWorker").path
        return """
              - name: till
                worker:
                  executable: \(BuiltProgram("FlowWorker").path)
                  coordinator: Till
                  environment: { FLOW_STORE: DIRECTORY/till.sqlite, FLOW_ORDERS: "1", FLOW_FAILURES: "100" }
              - name: second
                program:
                  command: [CONSOLE, --listen, "127.0.0.1:\(secondPort)", --runtime-dir, DIRECTORY/run]
                  ready: notify
                  on_daemon_loss: end
                restart_limits: { max_restarts: unlimited, backoff: { minimum: 500ms, maximum: 1s } }
              - { name: calm, program: { command: [sleep, "1000"] } }
              - { name: hopeless, program: { command: [sh, -c, "exit 78"] } }
              - name: crashing
                program: { command: [sh, -c, "exit 3"] }
                restart_limits: { max_restarts: unlimited, backoff: { minimum: 100ms, maximum: 1s } }
              - { name: deaf, stop_timeout: 200ms, program: { command: [sh, -c, "trap '' TERM; while :; do sleep 0.1; done"] } }
              - name: sick
                program:
                  command: [sleep, "1000"]
                  health: { command: ["false"], interval: 50ms, retries: 1, on_failure: report }
              - { name: tree, worker: { executable: \(fixture), coordinator: RootCoordinator } }
              - { name: paused, worker: { executable: \(fixture), coordinator: RootCoordinator } }
              - { name: blocked, stop_timeout: 1s, worker: { executable: \(fixture), coordinator: MiddleCoordinator } }
            """
    }

    /// What is done again and again meanwhile: a rate needs more than one scrape.
    private static func trouble(_ console: RunningConsole) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for command in [
                ["ask", "/tree", "Fixture.Stall", #"{"every":1,"milliseconds":1500}"#],
                ["ask", "/tree", "Fixture.Refuse", #"{"asCodable":true}"#],
                ["send", "/tree", "Fixture.Refuse", #"{"asCodable":true}"#],
                ["restart", "/deaf"],
            ] {
                group.addTask { try await console.attempt(command) }
            }
            try await group.waitForAll()
        }
    }

    /// Writes the shipped files to a directory, with short times and the targets of the test.
    private static func writeFiles(to directory: String, targets: [String], job: String) throws {
        let rules = try shipped("alerts.yaml").replacing(/for: [0-9]+[smh]/, with: "for: 0s")
        try Files.write(rules, to: "\(directory)/alerts.yaml")
        let changes = [
            ("scrape_interval: 15s, evaluation_interval: 15s", "scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s"),
            ("job_name: coordinators", "job_name: \(job)"),
            ("[\"127.0.0.1:7077\"]", "[\(targets.map { "\"\($0)\"" }.joined(separator: ", "))]"),
        ]
        var text = try shipped("prometheus.yaml")
        for (old, new) in changes {
            try #require(text.contains(old), "\(old)")
            text.replace(old, with: new)
        }
        try Files.write(text, to: "\(directory)/prometheus.yaml")
    }

    @Test(
        "Each alert fires by its real cause, those of the daemon's end too, and none for a child that is well",
        .enabled(if: Programs.have("prometheus"), "needs prometheus"),
        .enabled(if: TestTier.current >= .all)
    )
    func fired() async throws {
        let certificates = try await Certificates("a")
        try await certificates.expire("a", inDays: 3)
        let (own, secret) = (certificates.directory, "a secret of this test\n")
        let token = "\(own)/token"
        try Files.write(secret, to: token)
        let cluster = """
            cluster:
              name: alerts
              node: a
              directory: DIRECTORY/cluster
              listen: 127.0.0.1:0
              token_file: \(token)
              link_tls: { authority: \(own)/ca.crt, certificate: \(own)/a.crt, key: \(own)/a.key }
            """
        let secondPort = try FreePort.find()
        try await RunningConsole.with(Self.children(secondPort: secondPort), settings: cluster) { console in
            let targets = [console.port, secondPort].map { "127.0.0.1:\($0)" }
            func selector(_ cause: (act: Act, alert: String, labels: String)) -> String {
                let labels = cause.labels.replacing("FIRST", with: targets[0]).replacing("SECOND", with: targets[1])
                return "ALERTS{alertname=\"\(cause.alert)\",alertstate=\"firing\",\(labels)}"
            }
            try Self.writeFiles(to: console.directory, targets: targets, job: "others")
            try await RunningPrometheus.with(in: console.directory) { prometheus in
                /// Waits until the alerts of an act have fired, each at some time since now.
                func expectAlerts(_ act: Act, doing body: () async throws -> Void) async throws {
                    let causes = Self.causes.filter { $0.act == act }
                    // What has fired of an earlier act says nothing about this one.
                    for cause in causes where [.hung, .starved, .killed].contains(act) {
                        try await eventually("\(cause.alert) is quiet before \(act)", within: .seconds(60)) {
                            try await prometheus.query(selector(cause)).isEmpty
                        }
                    }
                    let began = ContinuousClock.now
                    try await body()
                    for cause in causes {
                        try await eventually("\(cause.alert) fires of \(act)", within: .seconds(60)) {
                            let seconds = max(1, (ContinuousClock.now - began).components.seconds)
                            return try await !prometheus.query("present_over_time(\(selector(cause))[\(seconds)s])").isEmpty
                        }
                    }
                }
                for act in Act.allCases {
                    switch act {
                    case .misnamed:
                        try await expectAlerts(act) {}
                        try Self.writeFiles(to: console.directory, targets: targets, job: "coordinators")
                        try prometheus.reload()
                    case .troubled:
                        _ = try await console.control("pause", "/paused")
                        try Files.write("\n", to: token)
                        try console.daemon.send(.hangup)
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            group.addTask { try await console.attempt(["send", "/paused", "Fixture.Note", #"{"number":1}"#]) }
                            let occupation = #"{"action":{"occupyExecutor":{"milliseconds":120000,"blocks":true}}}"#
                            group.addTask { try await console.attempt(["ask", "/blocked", "Fixture.Do", occupation, "--timeout", "1s"]) }
                            group.addTask { while !Task.isCancelled { try await Self.trouble(console) } }
                            try await expectAlerts(act) {}
                            // While there is trouble, each panel has something to show.
                            for (panel, query) in try RunningPrometheus.dashboardQueries() {
                                try await eventually("\(panel) shows \(query)", within: .seconds(60)) {
                                    try await !prometheus.query(query).isEmpty
                                }
                            }
                            group.cancelAll()
                        }
                        try Files.write(secret, to: token)
                        try console.daemon.send(.hangup)
                        #expect(try await prometheus.query("ALERTS{path=\"/calm\"}").isEmpty)
                    case .hung:
                        try await expectAlerts(act) { try await stopProcess(console.daemon) }
                        try console.daemon.send(.continue)
                    case .starved:
                        let pid = try #require(try await console.node("/second").pid)
                        func limit(to count: Int) async throws {
                            let command = "prlimit --pid \(console.daemon.identity.processID) --nofile=\(count):"
                            #expect(try await Programs.shell(command).exitCode == 0)
                        }
                        try await expectAlerts(act) {
                            try await limit(to: 8)
                            kill(pid, SIGKILL)
                        }
                        #expect(console.isAlive, "\(console.log.text.suffix(4_000))")
                        try await limit(to: 1024)
                    case .killed:
                        try await expectAlerts(act) { try console.daemon.send(.kill) }
                        try await console.startNextDaemon()
                        // It adopts what has lived on, the first console too.
                        try await eventually("the next daemon answers", within: .seconds(60)) {
                            try await prometheus.query("coordinator_console_daemon_up == 1").count == targets.count
                        }
                    }
                }
            }
        }
    }
}
