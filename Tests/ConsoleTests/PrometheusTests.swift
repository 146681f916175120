import Control
import TestSupport
import Testing
import WireProtocol

@Suite("Prometheus and the console", .enabled(if: Programs.have("prometheus") && Programs.have("promtool")), .timeLimit(minutes: 3))
struct PrometheusTests {
    private static let children = """
          - { name: shaky, program: { command: [sh, -c, "sleep 0.3; exit 3"] } }
          - { name: "odd name", program: { command: [sleep, "1000"] } }
          - name: tree
            worker: { executable: \(BuiltProgram("FixtureWorker").path), coordinator: RootCoordinator }
        """

    @Test("promtool has nothing to say about the metrics, the configuration, the alert rules and their tests")
    func promtool() async throws {
        try await RunningConsole.with(Self.children) { console in
            let metrics = try await console.get("/metrics")
            #expect(metrics.head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"))
            try Files.write(metrics.body, to: "\(console.directory)/metrics")
            let check = try await Programs.shell("promtool check metrics < \(console.directory)/metrics 2>&1")
            #expect(check.exitCode == 0 && check.output.isEmpty, "\(check.output)")
        }
        // The configuration names the rules, which are checked with it.
        let files = Programs.deploy("prometheus")
        let check = try await Programs.shell("cd \(files) && promtool check config prometheus.yaml && promtool test rules alerts.test.yaml")
        #expect(check.exitCode == 0, "\(check.output)")
    }

    @Test("A Prometheus that scrapes the console agrees with coordinatorctl, and answers every query of the dashboard")
    func scrape() async throws {
        try await RunningConsole.with(Self.children) { console in
            let configuration = """
                global: { scrape_interval: 1s }
                rule_files: [\(Programs.deploy("prometheus"))/alerts.yaml]
                scrape_configs:
                  - { job_name: console, static_configs: [{ targets: ["127.0.0.1:\(console.port)"] }] }
                """
            try Files.write(configuration, to: "\(console.directory)/prometheus.yaml")
            try await RunningPrometheus.with(in: console.directory) { prometheus in
                let query = prometheus.query
                try await eventually("restarts are counted") {
                    let found = try? await query("coordinator_restarts_total{path=\"/shaky\"} >= 3")
                    return found?.isEmpty == false
                }
                // Nothing restarts it any more: both must name one number.
                _ = try await console.control("stop", "/shaky")
                let restarts = try await console.node("/shaky").restarts
                try await eventually("PromQL has the restarts that coordinatorctl has") {
                    try await query("coordinator_restarts_total{path=\"/shaky\"} == \(restarts)").count == 1
                }
                // The last scrape may be from before the stop.
                try await eventually("PromQL has as many that serve as coordinatorctl") {
                    let serving = try await console.tree().subtreeServing
                    return try await query("sum(coordinator_up) == \(serving)").count == 1
                }
                for _ in 0..<20 { _ = try await console.control("ask", "/tree", "Fixture.WhereAmI") }
                try await eventually("PromQL has the latency of asks that coordinatorctl has") {
                    let asks = try await console.metrics().asks.filter { $0.path == "/tree" && $0.message == "Fixture.WhereAmI" }
                    guard asks.count == 1, asks[0].count == 20 else { return false }
                    let labels = "{path=\"/tree\",message=\"Fixture.WhereAmI\",outcome=\"success\"}"
                    let name = "coordinator_ask_duration_seconds"
                    let counted = try await query("\(name)_count\(labels) == 20")
                    let summed = try await query("abs(\(name)_sum\(labels) - \(asks[0].sumSeconds)) < 1e-6")
                    let all = try await query("\(name)_bucket{path=\"/tree\",message=\"Fixture.WhereAmI\",le=\"+Inf\"} == 20")
                    return counted.count == 1 && summed.count == 1 && all.count == 1
                }
                for name in ["cpu_seconds_total", "resident_memory_bytes", "open_fds"] {
                    #expect(try await query("coordinator_process_\(name){path=\"/tree\"} >= 0").count == 1, "\(name)")
                }
                #expect(try await query("coordinator_process_resident_memory_bytes{path=\"/tree\"} > 1e6").count == 1)
                #expect(try await query("coordinator_up{path=\"/odd name\"} == 1").count == 1)
                #expect(try await query("ALERTS").allSatisfy { $0["metric"]?["alertname"] != "CoordinatorDaemonDown" })
                let queries = try RunningPrometheus.dashboardQueries()
                for query in queries { _ = try await prometheus.query(query.query) }
                #expect(queries.count >= 10)
            }
        }
    }
}

extension TreeNode {
    /// The number of nodes that are active or paused.
    fileprivate var subtreeServing: Int { (isServing ? 1 : 0) + children.reduce(0) { $0 + $1.subtreeServing } }
}
