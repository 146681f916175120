import Control
import Processes
import TestSupport
import Testing

@Suite("Instances know their numbers, and the daemon the files that its file includes", .timeLimit(.minutes(5)))
struct InstanceNumberTests {
    private static let tree = """
        include: "conf-*.yaml"
        defaults: { restart_limits: { backoff: { minimum: 1ms, maximum: 1ms } } }
        children:
          - name: web
            program:
              command: [sh, -c, "sleep 1000; true", "arg-{instance}-{{instance}}"]
              environment: { PORT: "808{instance}" }
            instances: 2
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, environment: { SHARD: "s{instance}" } }
            instances: 2
        """

    /// The variables of a child's process.
    private static func variables(_ path: String, _ daemon: RunningDaemon) async throws -> Set<String> {
        let pid = try #require(try await daemon.node(path).pid)
        return Set((Files.text(of: "/proc/\(pid)/environ") ?? "").split(separator: "\0").map(String.init))
    }

    @Test("Each process has its number and their count, after a change of the number and an upgrade too")
    func numbers() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.allActive()
            func expect(_ path: String, _ variables: Set<String>) async throws {
                let found = try await Self.variables(path, daemon)
                #expect(variables.isSubset(of: found), "\(path) \(found.filter { $0.hasPrefix("COORD") })")
            }
            try await expect("/web-2", ["COORDINATOR_INSTANCE=2", "COORDINATOR_INSTANCES=2", "PORT=8082"])
            try await expect("/app-1", ["COORDINATOR_INSTANCE=1", "COORDINATOR_INSTANCES=2", "SHARD=s1"])
            let pid = try await daemon.runningPID(of: "/web-1")
            #expect(daemon.arguments(of: pid).contains("arg-1-{instance}"))

            #expect(try await daemon.control("scale", "web", "3").exitCode == 0)
            try await daemon.allActive()
            try await expect("/web-3", ["COORDINATOR_INSTANCE=3", "COORDINATOR_INSTANCES=3"])
            // The others go on as they are; their next lives know of the third.
            #expect(try await daemon.node("/web-1").pid == pid)
            try await daemon.call(.kill(path: "/web-1"))
            try await daemon.eventually("another life") { try await daemon.node("/web-1").pid.map { $0 != pid } ?? false }
            try await daemon.allActive()
            try await expect("/web-1", ["COORDINATOR_INSTANCE=1", "COORDINATOR_INSTANCES=3", "PORT=8081"])

            _ = try await daemon.upgrade()
            #expect(try await daemon.control("restart", "web").exitCode == 0)
            try await daemon.allActive()
            for number in 1...3 { try await expect("/web-\(number)", ["COORDINATOR_INSTANCE=\(number)", "COORDINATOR_INSTANCES=3"]) }
        }
    }

    @Test("Files that come, change and go are followed by diff, apply and an upgrade")
    func files() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.allActive()
            let file = "\(daemon.directory)/conf-1.yaml"
            try Files.write("children:\n  - { name: extra, program: { command: [sleep, '1000'] } }\n", to: file)
            let difference = try await daemon.control("config", "diff")
            #expect(difference.exitCode == 0 && difference.output.hasPrefix("+ /extra\n    at \(file):2:5\n"), "\(difference)")
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            try await daemon.allActive()
            let pid = try await daemon.node("/extra").pid
            #expect(pid != nil)

            _ = try await daemon.upgrade()
            #expect(try await daemon.node("/extra").pid == pid)
            try Files.write("children:\n  - { name: extra, program: { command: [] } }\n", to: file)
            let broken = try await daemon.control("config", "apply")
            #expect(broken.exitCode == 78 && broken.errors.contains("\(file):2:40: `command` is an empty list"), "\(broken)")
            #expect(try await daemon.node("/extra").pid == pid)

            Files.remove(file)
            let gone = try await daemon.control("config", "apply")
            #expect(gone.exitCode == 0 && gone.output.contains("- /extra\n"), "\(gone)")
        }
    }
}

extension RunningDaemon {
    /// The arguments of a process.
    fileprivate func arguments(of pid: Int32) -> [String] {
        (Files.text(of: "/proc/\(pid)/cmdline") ?? "").split(separator: "\0").map(String.init)
    }
}
