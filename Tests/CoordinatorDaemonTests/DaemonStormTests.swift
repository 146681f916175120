import Control
import Glibc
import Processes
import TestSupport
import Testing

/// A storm of `kill -9` against the daemon, each time with the next one started at once.
///
/// What is promised: no path ever lives twice, and nothing is left when the last daemon has ended, though all programs fork, some of them
/// out of their group.
@Suite("A storm of kill -9 against the daemon", .timeLimit(.minutes(30)))
struct DaemonStormTests {
    /// How many times; more with `Deploy/test --long`.
    private static let kills = getenv("COORDINATORS_TEST_KILLS").flatMap { Int(String(cString: $0)) } ?? 50

    @Test("The next daemon is started at once: no path lives twice, and nobody is left")
    func storm() async throws {
        let census = Census()
        defer { census.end() }
        let tree = """
            children:
              - key: app
                worker:
                  executable: FIXTURE
                  coordinator: RootCoordinator
                  configuration: { children: [a, b], placement: worker }
                  environment: { CENSUS: "\(census.name)" }
              - key: forks
                program: { command: [sh, -c, "\(census.program("forks", child: "sleep"))"] }
              - key: leaves
                program: { command: [sh, -c, "\(census.program("leaves", child: "setsid sleep"))"] }
            """
        try await RunningDaemon.with(tree) { daemon in
            let observation = Task.detached { await census.observe() }
            defer { observation.cancel() }
            var current = daemon.process
            for round in 0..<Self.kills {
                // Sometimes in the middle of the start, sometimes when all is up.
                if round % 3 != 0 { try await daemon.allUp() }
                try current.send(.kill)
                current = try await daemon.startNext()
            }
            try await daemon.allUp()
            #expect(await census.isSettled, "each program runs once")
            _ = await current.terminate(grace: .seconds(20))
            observation.cancel()
            let violations = await observation.value
            #expect(violations.isEmpty, "\(violations)")
            #expect(census.living.isEmpty, "processes are left: \(census.living)")
            #expect(daemon.sockets.isEmpty)
        }
    }
}

extension RunningDaemon {
    fileprivate func allUp() async throws {
        try await eventually("all is up") { try await tree().children.allSatisfy { $0.state == "active" } }
    }
}

/// Who lives, by names that only this test gives to processes.
private struct Census: Sendable {
    /// A number of seconds that nobody else sleeps.
    let name = "\(Int.random(in: 100_000...999_999)).\(getpid())"

    /// The script of a program that has a child beside itself; both can be told by their arguments.
    func program(_ key: String, child: String) -> String {
        "\(child) \(name)1 \(key.count) & exec sleep \(name)2 \(key.count)"
    }

    /// The processes of the programs and the workers, by what they are.
    var living: [String: [ProcessIdentity]] {
        var found: [String: [ProcessIdentity]] = [:]
        for number in Files.numbers(in: "/proc") {
            guard let arguments = Files.text(of: "/proc/\(number)/cmdline"), isOurs(arguments, number), !isUnborn(number, arguments),
                let identity = ProcessIdentity(processID: Int32(number)), identity.isAlive
            else { continue }
            found[arguments, default: []].append(identity)
        }
        return found
    }

    /// Ends what a test that has failed has left.
    func end() {
        for process in living.values.joined() { try? process.send(.kill) }
    }

    /// Programs are told by their arguments, workers by their environment.
    private func isOurs(_ arguments: String, _ number: Int) -> Bool {
        if arguments.hasPrefix("sleep") { return arguments.contains(name) }
        return arguments.contains("FixtureWorker") && Files.text(of: "/proc/\(number)/environ")?.contains("CENSUS=\(name)") == true
    }

    /// Between clone and execve a child looks like its parent.
    private func isUnborn(_ number: Int, _ arguments: String) -> Bool {
        let fields = Files.text(of: "/proc/\(number)/stat")?.split(separator: ")").last?.split(separator: " ")
        guard let fields, fields.count > 1 else { return false }
        return Files.text(of: "/proc/\(fields[1])/cmdline") == arguments
    }

    /// Two programs, each with a child beside itself, and three workers, each once.
    var isSettled: Bool {
        get async { await eventually { living.count == 7 && living.values.allSatisfy { $0.count == 1 } } }
    }

    /// Looks every ten milliseconds until it's cancelled.
    ///
    /// - Returns: what lived twice.
    func observe() async -> Set<String> {
        var violations: Set<String> = []
        while !Task.isCancelled {
            for (what, processes) in living where processes.count > 1 {
                // Looking takes a while: the first may have ended before the last began.
                let isTwice = processes.allSatisfy(\.isAlive) && processes.allSatisfy(\.isAlive)
                if isTwice { violations.insert("\(what) lives as \(processes)") }
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return violations
    }
}
