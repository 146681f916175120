import ConcurrencySupport
import Control
import Glibc
import Processes
import TestSupport
import Testing

/// The time for which they operate; none, and no test, in the short tier.
private let duration = Duration.seconds(rounds(short: 0, all: 10, long: 60))

/// Many operators who start and stop the same children at the same time.
@Suite(.timeLimit(minutes: 5), .enabled(if: duration > .zero, "a storm and nothing else")) struct OperatorStormTests {
    private static let keys = (0..<6).map { "c\($0)" }
    private static var configuration: String {
        "children:\n" + keys.map { "  - { name: \($0), program: { command: [sleep, \"100000\"] }, stop_timeout: 5s }\n" }.joined()
            + "supervision: { strategy: one_for_one, max_restarts: 1000, period: 1s }\n"
    }

    /// A command, and when it was carried out.
    private struct Record: Sendable {
        var operation: ControlOperation
        var began: MonotonicTime
        var ended: MonotonicTime
        var failure: ControlError?

        /// The state that the command asks for; nil for a question.
        var wish: String? {
            switch operation.name {
            case "stop": "inactive"
            case "start", "restart": "active"
            default: nil
            }
        }
    }

    @Test("Fifty operators at random: no command is refused, and each child ends up as the last command wants it")
    func fiftyOperators() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        try await RunningDaemon.with(Self.configuration) { daemon in
            let directory = RuntimeDirectory(path: "\(daemon.directory)/run")
            try await daemon.eventually("all are up") { try await daemon.tree().children.count { $0.state == "active" } == Self.keys.count }
            let end = MonotonicTime.now + duration
            let records = try await withThrowingTaskGroup(of: [Record].self) { group in
                for number in 0..<50 {
                    group.addTask { try await Self.operate(directory, until: end, seed: seed &+ UInt64(number)) }
                }
                var records: [Record] = []
                for try await more in group { records += more }
                return records
            }
            print("\(records.count) commands")
            // A start is told that a stop has overtaken it; no other command fails.
            let failures = records.filter { $0.failure.map { $0.code != .notRunning } ?? false }
            #expect(failures.map { "\($0.operation): \($0.failure?.description ?? "")" } == [])
            #expect(records.allSatisfy { $0.failure == nil || $0.wish == "active" })
            for key in Self.keys {
                let path = "/\(key)"
                let changes = records.filter { $0.operation.path == path && $0.wish != nil }
                // Commands that overlapped may have been carried out in either order.
                let latest = changes.map(\.began).max() ?? .now
                let wishes = Set(changes.filter { $0.ended >= latest }.compactMap(\.wish))
                try await daemon.eventually("\(path) is \(wishes)") { wishes.contains(try await daemon.node(path).state) }
            }
            // One command after all others decides alone.
            for key in Self.keys {
                try await daemon.call(.stop(path: "/\(key)"))
                #expect(try await daemon.node("/\(key)").state == "inactive")
                try await daemon.call(.start(path: "/\(key)"))
                #expect(try await daemon.node("/\(key)").state == "active")
            }
        }
    }

    /// One operator with a connection of its own.
    private static func operate(_ directory: RuntimeDirectory, until end: MonotonicTime, seed: UInt64) async throws -> [Record] {
        var generator = SeededGenerator(seed: seed)
        let client = try await ControlClient.connect(runtimeDirectory: directory, timeout: .seconds(20))
        defer { client.close() }
        var records: [Record] = []
        while MonotonicTime.now < end {
            let path = "/\(keys.randomElement(using: &generator) ?? "")"
            let operations: [ControlOperation] = [
                .start(path: path), .stop(path: path), .restart(path: path), .status(path: path), .tree, .ps,
            ]
            let operation = operations.randomElement(using: &generator) ?? .tree
            var record = Record(operation: operation, began: .now, ended: .now)
            do throws(ControlError) {
                _ = try await client.call(operation)
            } catch {
                record.failure = error
            }
            record.ended = .now
            records.append(record)
        }
        return records
    }

    @Test(
        "A stop wins over the starts and restarts that were pending when it came",
        .disabled(if: Sanitizer.isOn, "with a sanitizer some of them come after it")
    )
    func stopWins() async throws {
        let configuration = """
            children:
              - name: slow
                program: { command: [sh, -c, "trap 'sleep 0.3; exit 0' TERM; while :; do sleep 0.05; done"] }
                stop_timeout: 5s
            """
        try await RunningDaemon.with(configuration) { daemon in
            let directory = RuntimeDirectory(path: "\(daemon.directory)/run")
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            try await daemon.eventually("it is up") { try await daemon.node("/slow").state == "active" }
            for round in 0..<6 {
                let pending: ControlOperation = round.isMultiple(of: 2) ? .restart(path: "/slow") : .start(path: "/slow")
                try await daemon.call(round.isMultiple(of: 2) ? .start(path: "/slow") : .stop(path: "/slow"))
                let before = try await daemon.node("/slow")
                // One that a stop has ended may report that; it must not win. Of several, only the first could be seen to have come before.
                async let outcome = try? client.call(pending)
                // The daemon is at it: the child has another state or another life.
                try? await daemon.eventually("it has begun") {
                    let now = try await daemon.node("/slow")
                    return now.state != before.state || now.incarnation != before.incarnation
                }
                _ = try? await client.call(.stop(path: "/slow"))
                _ = await outcome
                #expect(try await daemon.node("/slow").state == "inactive", "round \(round), \(pending.name)")
            }
        }
    }
}
