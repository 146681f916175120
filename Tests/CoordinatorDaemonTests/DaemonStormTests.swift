import ConcurrencySupport
import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// A storm of `kill -9` against the daemon, each time with the next one started at once.
///
/// The guarantee: no path ever lives twice, and no process is left when the last daemon has ended, although all programs fork, some of
/// them out of their group.
@Suite(
    "A storm of kill -9 against the daemon",
    .timeLimit(minutes: 30),
    .disabled(if: Sanitizer.isOn, "it's about processes, whose ends no thread of this one can race with, and takes very long")
)
struct DaemonStormTests {
    private static let kills = rounds(short: 6, all: 25, long: 250)

    @Test(
        "After a kill -9 and the next daemon's start at once, no path lives twice and no process is left, whether workers are adopted or not",
        arguments: ["0s", "10s"]
    )
    func storm(_ orphanGrace: String) async throws {
        let census = Census()
        defer { census.end() }
        let tree = """
            orphan_grace: ORPHAN_GRACE
            children:
              - name: app
                worker:
                  executable: FIXTURE
                  coordinator: RootCoordinator
                  configuration: { children: [a, b], placement: worker }
                  environment: { CENSUS: "\(census.name)" }
              - name: forks
                program: { command: [sh, -c, "\(census.program("forks", child: "sleep"))"] }
              - name: leaves
                program: { command: [sh, -c, "\(census.program("leaves", child: "setsid sleep"))"] }
            """.replacing("ORPHAN_GRACE", with: orphanGrace)
        try await RunningDaemon.with(tree) { daemon in
            let observation = Task.detached { await census.observe() }
            defer { observation.cancel() }
            var current = daemon.process
            for round in 0..<Self.kills {
                // Sometimes in the middle of the start, sometimes when all is up.
                if round % 3 != 0 { try await daemon.allUp(3) }
                try current.send(.kill)
                current = try await daemon.startNext()
            }
            try await daemon.allUp(3)
            #expect(await census.isSettled, "each program runs once")
            _ = await current.terminate(grace: .patient(.seconds(20)))
            observation.cancel()
            let violations = await observation.value
            #expect(violations.isEmpty, "\(violations)")
            #expect(census.living.isEmpty, "processes are left: \(census.living)")
            #expect(daemon.sockets.isEmpty)
        }
    }
}

extension DaemonStormTests {
    private static let workers = rounds(short: 4, all: 8, long: 50)
    private static let adoptions = rounds(short: 3, all: 10, long: 100)

    @Test(
        "After a kill -9 under load and the next daemon's start at once, all workers are adopted: same processes, same incarnations, same state"
    )
    func adoptions() async throws {
        var tree = "orphan_grace: 60s\nchildren:\n"
        for number in 0..<Self.workers {
            tree += "  - name: w\(number)\n    worker: { executable: FIXTURE, coordinator: RootCoordinator }\n"
        }
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.allUp(Self.workers)
            let before = try await daemon.lives()
            #expect(before.count == Self.workers)
            var current = daemon.process
            var times: [Duration] = []
            let answered = Count()
            for _ in 0..<Self.adoptions {
                // Under load: asks are on their way when the daemon dies.
                let former = answered.value.withLock { $0 }
                let load = Task.detached {
                    for number in 0... {
                        let path = "/w\(number % Self.workers)"
                        guard !Task.isCancelled, (try? await daemon.add(1, to: path)) != nil else { return }
                        answered.value.withLock { $0 += 1 }
                    }
                }
                try await daemon.eventually("asks are answered") { answered.value.withLock { $0 } > former + 2 }
                let begin = ContinuousClock.now
                try await daemon.kill(current)
                load.cancel()
                await load.value
                current = try await daemon.startNext()
                try await daemon.allUp(Self.workers)
                times.append(ContinuousClock.now - begin)
                let after = try await daemon.lives()
                #expect(after == before)
            }
            // What was answered was applied; of each round one more may have been, whose answer was lost.
            var sum = 0
            for path in before.keys { sum += try await daemon.add(0, to: path) }
            let added = answered.value.withLock { $0 }
            #expect(added...added + Self.adoptions ~= sum)
            times.sort()
            print(
                "\(Self.adoptions) kills, \(Self.workers) workers each time adopted; recovery p50 \(times[times.count / 2]), worst \(times[times.count - 1])"
            )
            _ = await current.terminate(grace: .patient(.seconds(20)))
            #expect(before.values.allSatisfy { !$0.process.isAlive })
        }
    }
}

/// The number of asks that were answered.
private final class Count: Sendable {
    let value = Lock(0)
}

/// A life of a worker.
private struct WorkerLife: Equatable {
    let process: ProcessIdentity
    let incarnation: UInt32
}

extension RunningDaemon {
    fileprivate func lives() async throws -> [String: WorkerLife] {
        var lives: [String: WorkerLife] = [:]
        for child in try await tree().children {
            guard let process = child.pid.flatMap({ ProcessIdentity(processID: $0) }) else { continue }
            lives[child.path] = WorkerLife(process: process, incarnation: UInt32(child.incarnation))
        }
        return lives
    }

    /// Waits until so many children are active, and no other state is among theirs: a daemon answers before it has started them.
    fileprivate func allUp(_ count: Int) async throws {
        var states = ""
        try await eventually("all is up; the last look: \(states)") {
            let children = try await tree().children
            states = children.map { "\($0.path) is \($0.state), \($0.lastExit ?? "without an exit")" }.joined(separator: "; ")
            return children.count == count && children.allSatisfy { $0.state == "active" }
        }
    }
}

/// A count of living processes by names that only this test gives.
private struct Census: Sendable {
    /// A number of seconds for which no other process sleeps.
    let name = "\(Int.random(in: 100_000...999_999)).\(getpid())"

    /// Returns the script of a program that forks a child; the arguments identify both.
    func program(_ key: String, child: String) -> String {
        "\(child) \(name)1 \(key.count) & exec sleep \(name)2 \(key.count)"
    }

    /// Returns the processes of the programs and the workers, by their roles.
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

    /// Ends the processes that a failed test has left.
    func end() {
        for process in living.values.joined() { try? process.send(.kill) }
    }

    /// Whether a process is this test's: its arguments identify a program, its environment a worker.
    private func isOurs(_ arguments: String, _ number: Int) -> Bool {
        if arguments.hasPrefix("sleep") { return arguments.contains(name) }
        return arguments.contains("FixtureWorker") && Files.text(of: "/proc/\(number)/environ")?.contains("CENSUS=\(name)") == true
    }

    /// Whether a child is between clone and execve, where it looks like its parent.
    private func isUnborn(_ number: Int, _ arguments: String) -> Bool {
        let fields = Files.text(of: "/proc/\(number)/stat")?.split(separator: ")").last?.split(separator: " ")
        guard let fields, fields.count > 1 else { return false }
        return Files.text(of: "/proc/\(fields[1])/cmdline") == arguments
    }

    /// Whether there are two programs with a child each, and three workers, each once.
    var isSettled: Bool {
        get async { await eventually { living.count == 7 && living.values.allSatisfy { $0.count == 1 } } }
    }

    /// Counts every ten milliseconds until the task is cancelled.
    ///
    /// - Returns: the roles that two processes had at a time.
    func observe() async -> Set<String> {
        var violations: Set<String> = []
        while !Task.isCancelled {
            for (what, processes) in living where processes.count > 1 {
                // Looking takes a while: the first may have ended before the last began.
                let isTwice = processes.allSatisfy(\.isAlive) && processes.allSatisfy(\.isAlive)
                if isTwice { violations.insert("\(what) lives as \(processes)") }
            }
            try? await realTime(.milliseconds(10), because: "it looks at all processes of the machine, whatever they do")
        }
        return violations
    }
}
