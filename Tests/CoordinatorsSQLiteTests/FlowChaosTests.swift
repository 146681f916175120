import ConcurrencySupport
import Coordinators
import Glibc
import Processes
import TestSupport
import Testing

@testable import CoordinatorsSQLite

/// Orders of one store for twenty seconds, or half an hour, during which all goes wrong that may: the process is killed, stopped beside a second one,
/// its wall clock is set, and the disk is full.
@Suite("Durable flows in chaos", .timeLimit(.minutes(TestTier.current == .long ? 40 : 4)), .enabled(if: SteppedClocks.canBeBuilt))
struct FlowChaosTests {
    private enum Fault: CaseIterable {
        case kill, stop, clock, full
    }

    /// The orders of one round: those of even numbers are declined, and two of the others wait for an approval that doesn't come.
    private struct Round {
        static let count = 16
        let number: Int
        let directory: TemporaryDirectory

        var first: Int { number * Self.count + 1 }
        var orders: Range<Int> { first..<first + Self.count }
        var large: [Int] { orders.filter { $0 % 8 == 7 } }
        var declined: [Int] { orders.filter { $0 % 2 == 0 } }
        var paid: [Int] { orders.filter { $0 % 2 == 1 && $0 % 8 != 7 } }
        var ledger: String { directory.file("ledger-\(number)") }

        var environment: [String: String] {
            [
                "FLOW_STORE": directory.file("flows.sqlite"), "FLOW_LEDGER": ledger, "FLOW_FIRST": "\(first)",
                "FLOW_ORDERS": "\(Self.count)",
                "FLOW_LARGE": "8", "DISK_FULL": directory.file("full"), "HOME": directory.path, "TMPDIR": directory.path,
            ]
        }

        /// What the services have done so far, without the keys.
        func counts() -> [String: Int] {
            let lines = (Files.text(of: ledger) ?? "").split(separator: "\n").map { $0.split(separator: " ") }
            for undone in lines where undone[0] == "undo" {
                #expect(lines.contains { $0[0] == "do" && $0[2] == undone[2] }, "undone first")
            }
            return Dictionary(grouping: lines) { "\($0[0]) \($0[1])" }.mapValues(\.count)
        }
    }

    /// A disk that is full while there is a file, for the SQLite of a process.
    private static let disk = """
        #include <errno.h>
        static int is_full(void) { const char *file = getenv("DISK_FULL"); return file && access(file, F_OK) == 0; }
        ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t place) {
            if (is_full()) { errno = ENOSPC; return -1; }
            return syscall(SYS_pwrite64, file, bytes, count, place);
        }
        ssize_t pwrite(int file, const void *bytes, size_t count, off_t place) { return pwrite64(file, bytes, count, place); }
        """

    private let worker = BuiltProgram("FlowWorker")
    private static let day = 86_400

    @Test(
        "Each key's effect is had once, the user's row is there once, no timer is early or lost, and nothing is left but what is remembered"
    )
    func chaos() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var chance = SeededGenerator(seed: seed)
        let (began, length) = (MachineClock.now, Duration.seconds(rounds(short: 6, all: 20, long: 1_800)))
        let (clocks, directory) = (try await SteppedClocks(with: Self.disk), try TemporaryDirectory())
        var (number, offset, faults) = (0, 0, [Fault: Int]())
        repeat {
            var latest = offset
            let round = Round(number: number, directory: directory)
            // Fewer kills than would park a page that is worked on alone.
            for fault in [.kill, .kill] + (0..<3).map({ _ in Fault.allCases[1...].randomElement(using: &chance)! }).shuffled(using: &chance)
            {
                faults[fault, default: 0] += 1
                try await withChild(specification(round, clocks.wrapper)) { child in
                    try await realTime(.milliseconds(Int.random(in: 20...250, using: &chance)), because: "a fault comes at any moment")
                    try await make(fault, of: child, round, clocks, &offset, &chance)
                    try await realTime(
                        .milliseconds(Int.random(in: 0...100, using: &chance)),
                        because: "what goes on after it may be in its middle"
                    )
                    try? child.send(.terminate)
                    _ = await child.waitForExit()
                }
                latest = max(latest, offset)
            }
            // All that doesn't wait for an approval comes to its end.
            let small = try await run(round, clocks.wrapper, waiting: false)
            for order in round.paid { #expect(small.contains("\(order): 500"), "seed \(seed), round \(number): \(small)") }
            for order in round.declined {
                #expect(small.contains("\(order): unwound: the card was declined"), "seed \(seed), round \(number): \(small)")
            }
            // A timer of three days fires when three days have passed, and no clock has gone that far.
            #expect(round.counts()["undo reserve"] == round.declined.count, "seed \(seed), round \(number): a timer was early")
            // Then three days pass, while nobody runs.
            offset = latest + 3 * Self.day + 60
            try clocks.step(CLOCK_REALTIME, by: offset)
            let large = try await run(round, clocks.wrapper, waiting: true)
            for order in round.large {
                #expect(large.contains("\(order): unwound: not approved in three days"), "seed \(seed), round \(number): \(large)")
            }
            let expected = [
                "do reserve": Round.count, "do charge": round.paid.count, "do ship": round.paid.count,
                "undo reserve": round.declined.count + round.large.count,
            ]
            #expect(round.counts() == expected, "seed \(seed), round \(number)")
            try await check(round, through: number, "seed \(seed), round \(number)")
            number += 1
        } while MachineClock.now - began < length
        print(
            "\(number) rounds, faults: \(faults.sorted { "\($0.key)" < "\($1.key)" }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))"
        )
    }

    private func specification(_ round: Round, _ wrapper: [String]) -> ProcessSpecification {
        ProcessSpecification(
            executable: wrapper[0],
            arguments: wrapper.dropFirst() + [worker.path],
            environment: round.environment.merging(["PATH": "/usr/bin:/bin"]) { given, _ in given },
            standardOutput: .null,
            standardError: .null
        )
    }

    private func make(
        _ fault: Fault,
        of child: ChildProcess,
        _ round: Round,
        _ clocks: SteppedClocks,
        _ offset: inout Int,
        _ chance: inout SeededGenerator
    ) async throws {
        switch fault {
        case .kill: try? child.send(.kill)
        case .stop:
            // Whoever has the store is stopped, another one wants it, and the former one goes on.
            try? child.send(.stop)
            try await withChild(specification(round, clocks.wrapper)) { other in
                try await realTime(.milliseconds(200), because: "it has the time to open the store, if it can")
                try? other.send(.kill)
                _ = await other.waitForExit()
            }
            try? child.send(.continue)
        case .clock:
            // There are three of these at most, so that three days are never over.
            offset += Int.random(in: -Self.day...Self.day - 3_600, using: &chance)
            try clocks.step(CLOCK_REALTIME, by: offset)
        case .full:
            try Files.write("", to: round.environment["DISK_FULL"] ?? "")
            try await realTime(.milliseconds(150), because: "changes fail meanwhile")
            unlink(round.environment["DISK_FULL"] ?? "")
        }
    }

    /// Lets a process come to its end, and returns what it says of its orders.
    private func run(_ round: Round, _ wrapper: [String], waiting: Bool) async throws -> [String] {
        let environment = round.environment.merging(["FLOW_WAITS": waiting ? "yes" : "no"]) { given, _ in given }
        let end = try await BuiltProgram(path: wrapper[0]).run(wrapper.dropFirst() + [worker.path], environment: environment)
        try #require(end.exitCode == 0, "\(end.errors)")
        return end.output.split(separator: "\n").map(String.init)
    }

    /// Checks that the store has nothing open, and that the user's rows are those of the orders that were paid.
    private func check(_ round: Round, through last: Int, _ when: String) async throws {
        let path = round.directory.file("flows.sqlite")
        let storage = SQLiteFlowStorage(path)
        _ = try await storage.open()
        let rows = try await storage.rows(after: nil, limit: 1_000)
        #expect(rows.allSatisfy { $0.due == nil && ($0.status == .finished || $0.status == .unwound) }, "\(when)")
        // Three days pass in each round, and what is over is remembered for seven: what is older is forgotten when a process begins.
        #expect(rows.count <= 4 * Round.count, "\(when): \(rows.count) rows")
        let booked = try await FlowStore(storage).read { try $0.rows("SELECT number FROM booked ORDER BY number") { Int($0.integer(0)) } }
        #expect(booked == (0...last).flatMap { Round(number: $0, directory: round.directory).paid }, "\(when)")
        await storage.close().value
        var size = 0
        for name in Files.names(in: round.directory.path) where name.hasPrefix("flows.sqlite") {
            var status = stat()
            if stat(round.directory.file(name), &status) == 0 { size += status.st_size }
        }
        #expect(size < 32 << 20, "\(when): \(size) bytes")
    }
}
