import ConcurrencySupport
import Coordinators
import Glibc
import Processes
import TestSupport
import Testing

@testable import CoordinatorsSQLite

/// Processes of durable flows that are killed, by `kill -9` at random moments, and at each single write to the disk.
@Suite("Durable flows whose process is killed", .timeLimit(.minutes(5)))
struct KilledProcessTests {
    private let worker = BuiltProgram("FlowWorker")

    private func environment(_ directory: TemporaryDirectory, orders: Int) -> [String: String] {
        [
            "FLOW_STORE": "\(directory.path)/flows.sqlite", "FLOW_LEDGER": "\(directory.path)/ledger", "FLOW_ORDERS": "\(orders)",
            "HOME": directory.path, "TMPDIR": directory.path,
        ]
    }

    /// Lets a process come to its end, and checks what all processes together have done.
    private func finish(_ directory: TemporaryDirectory, orders: Int, _ when: String) async throws {
        let end = try await worker.run(environment: environment(directory, orders: orders))
        try #require(end.exitCode == 0, "\(when): \(end.errors)")
        for number in 1...orders {
            let outcome = number % 2 == 0 ? "\(number): unwound: the card was declined" : "\(number): 500"
            #expect(end.output.split(separator: "\n").contains(Substring(outcome)), "\(when): \(end.output)")
        }
        // Each effect has one key, a declined order undoes what it has reserved, and nothing else is done.
        let lines = (Files.text(of: "\(directory.path)/ledger") ?? "").split(separator: "\n").map { $0.split(separator: " ") }
        let good = (orders + 1) / 2
        let counts = Dictionary(grouping: lines) { "\($0[0]) \($0[1])" }.mapValues(\.count)
        let expected = ["do reserve": orders, "do charge": good, "do ship": good, "undo reserve": orders - good].filter { $0.value > 0 }
        #expect(counts == expected, "\(when)")
        for undone in lines where undone[0] == "undo" { #expect(lines.contains { $0[0] == "do" && $0[2] == undone[2] }, "\(when)") }
        let storage = SQLiteFlowStorage("\(directory.path)/flows.sqlite")
        _ = try await storage.open()
        let rows = try await storage.rows(after: nil, limit: 100)
        #expect(rows.count == orders && rows.allSatisfy { $0.due == nil && ($0.status == .finished || $0.status == .unwound) }, "\(when)")
        await storage.close().value
        // The user's own row, in the same commit as the flow's.
        let database = try Database(path: "\(directory.path)/flows.sqlite")
        let booked = try database.rows("SELECT number FROM booked ORDER BY number") { Int($0.integer(0)) }
        #expect(booked == Array(stride(from: 1, through: orders, by: 2)), "\(when)")
    }

    @Test("A process that a cluster moves gets no file of flows")
    func placed() async throws {
        try await withTemporaryDirectory { directory in
            let placed = environment(directory, orders: 1).merging(["COORDINATOR_FENCE": "7"]) { given, _ in given }
            let end = try await worker.run(environment: placed)
            // Whoever asks for a flow is told, and the owner of the store fails, one before the other.
            #expect((end.output + end.errors).contains("`placement: cluster` moves this process to others"), "\(end)")
            #expect(Files.text(of: "\(directory.path)/flows.sqlite") == nil && Files.text(of: "\(directory.path)/ledger") == nil)
        }
    }

    @Test("Killed at random moments, again and again, each order comes to its end, and each effect is had once")
    func random() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var chance = SeededGenerator(seed: seed)
        for round in 0..<rounds(short: 4, all: 16, long: 200) {
            try await withTemporaryDirectory { directory in
                let specification = ProcessSpecification(
                    executable: worker.path,
                    environment: environment(directory, orders: 8).merging(["PATH": "/usr/bin:/bin"]) { given, _ in given }
                )
                // Fewer than would park a page that is the last one.
                for _ in 0..<2 {
                    let time = Duration.milliseconds(Int.random(in: 20...250, using: &chance))
                    try await withChild(specification) { child in
                        try await realTime(time, because: "the process is killed at a moment that is none of its own")
                        try? child.send(.kill)
                        _ = await child.waitForExit()
                    }
                }
                try await finish(directory, orders: 8, "seed \(seed), round \(round)")
            }
        }
    }

    @Test("A flow of a later build sleeps while a former one runs, as it is, and goes on with the later one")
    func rolledBack() async throws {
        try await withTemporaryDirectory { directory in
            // The first order waits for an approval.
            let environment = environment(directory, orders: 2).merging(["FLOW_LARGE": "2"]) { given, _ in given }
            func run(_ version: Int) async throws -> String {
                let end = try await worker.run(environment: environment.merging(["FLOW_VERSION": "\(version)"]) { given, _ in given })
                #expect(end.exitCode == 0, "\(end)")
                return end.output
            }
            func rows() async throws -> [FlowRow] {
                let storage = SQLiteFlowStorage(directory.file("flows.sqlite"))
                _ = try await storage.open()
                defer { _ = storage.close() }
                return try await storage.rows(after: nil, limit: 9)
            }
            #expect(try await run(2).contains("1: begun"))
            let former = try await rows()
            #expect(try await run(1).contains("has version 2, and this build knows 1"))
            #expect(try await rows() == former)
            #expect(try await run(2).contains("1: begun"))
        }
    }

    @Test("A file of the first form is read, and has the present one then")
    func firstForm() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.file("flows.sqlite")
            let storage = SQLiteFlowStorage(file)
            _ = try await storage.open()
            await storage.close().value
            let record =
                #"{"type":"Order","version":1,"id":7,"configuration":{},"state":{},"showings":[{"number":1,"page":"a","phase":"performed","isPopped":false,"failures":0,"interruptions":0}],"standing":{"open":{}},"outgoing":[],"inbox":{"origins":[]},"changed":8,"nextNumber":2}"#
            do {
                let database = try Database(path: file)
                try database.execute("INSERT INTO flow VALUES ('1', 1, 'open', NULL, 8, \(Array(record.utf8)))")
                try database.execute("PRAGMA user_version = 1")
            }
            let store = FlowStore.sqlite(at: file)
            #expect(try await store.flows().map(\.pages) == [["a"]])
            await store.storage.close().value
            #expect(try Database(path: file).rows("PRAGMA user_version") { $0.integer(0) } == [2])
        }
    }

    @Test(
        "Beside a process that was stopped no other one goes on: the store is its until it ends, and what it does when it goes on is had once",
        arguments: [Signal.continue, .kill]
    )
    func staleOwner(signal: Signal) async throws {
        try await withTemporaryDirectory { directory in
            let environment = environment(directory, orders: 100)
            let specification = ProcessSpecification(
                executable: worker.path,
                environment: environment.merging(["PATH": "/usr/bin:/bin"]) { given, _ in given }
            )
            try await withChild(specification) { child in
                try await eventually("it's at work") { (Files.text(of: directory.file("ledger")) ?? "").contains("do reserve") }
                try await stopProcess(child)
                let ledger = Files.text(of: directory.file("ledger"))
                let successor = try await worker.run(environment: environment)
                #expect(successor.exitCode != 0 && successor.errors.contains("another process has it open"), "\(successor)")
                #expect(Files.text(of: directory.file("ledger")) == ledger)
                try child.send(signal)
                let end = await child.waitForExit()
                #expect(end == (signal == .kill ? .signaled(.kill, coreDumped: false) : .exited(code: 0)), "\(end)")
            }
            try await finish(directory, orders: 100, "stopped, then \(signal)")
        }
    }

    @Test(
        "Those whose page ends the process are found among many, and are parked; all others come to their ends",
        arguments: [[3], [3, 5], [1, 7, 9, 21, 39]]
    )
    func poison(numbers: [Int]) async throws {
        try await withTemporaryDirectory { directory in
            let (orders, store) = (40, directory.file("flows.sqlite"))
            let words = numbers.map { "\($0)" }.joined(separator: " ")
            let environment = environment(directory, orders: orders).merging(["FLOW_POISON": words]) { given, _ in given }
            var lives = 0
            while lives < 60 {
                lives += 1
                let end = try await worker.run(environment: environment)
                if end.exitCode == 0 { break }
                try #require(end.exitCode == -9, "\(end)")
            }
            print("\(numbers): parked after \(lives) lives")
            // Three for each, and those in which they were found among the others.
            #expect(lives <= numbers.count * 8 + 10)
            let storage = SQLiteFlowStorage(store)
            _ = try await storage.open()
            let rows = try await storage.rows(after: nil, limit: 100)
            #expect(rows.filter { $0.status == .parked }.map(\.key).sorted() == numbers.map { "orders/\($0)" }.sorted())
            #expect(rows.count == orders && rows.filter { $0.status == .finished }.count == orders / 2 - numbers.count)
            await storage.close().value
        }
    }

    /// What is done to a call of the system.
    struct Injection: Sendable, CustomTestStringConvertible {
        let text: String
        /// The statuses of a process that it has ended; a store that can't be opened is its owner's failure, which the root's `main` throws.
        let ends: [Int32]

        var testDescription: String { text }
    }

    @Test(
        "Ended at each write to the disk and each sync, or by one that fails, an order comes to its end, and each effect is had once",
        arguments: [Injection(text: "signal=KILL", ends: [-9, 137]), Injection(text: "error=EIO", ends: [75, -4])]
    )
    func everyWrite(injection: Injection) async throws {
        let strace = BuiltProgram(path: "/usr/bin/strace")
        let step = rounds(short: 3, all: 1, long: 1)
        var kills = 0
        // Enough orders that a sync is one for several of them.
        for (call, orders) in [("pwrite64", 2), ("fdatasync", 8), ("ftruncate", 2)] {
            for number in stride(from: 1, to: 400, by: step) {
                let isDone = try await withTemporaryDirectory { directory in
                    let when = "\(injection.text) at \(call) \(number)"
                    let end = try await strace.run(
                        [
                            "-ff", "-y", "-qq", "-o", directory.file("trace"), "-e", "trace=\(call)",
                            "-e", "inject=\(call):\(injection.text):when=\(number)", worker.path,
                        ],
                        environment: environment(directory, orders: orders)
                    )
                    try #require(end.exitCode == 0 || injection.ends.contains(end.exitCode), "\(call) \(number): \(end)")
                    let later = callsAfterFailure(directory)
                    if end.exitCode != 0 { kills += 1 }
                    // What fails when the store is closed may go by: it's done once more by the next opening.
                    if end.exitCode == 0, call == "fdatasync" { #expect(later ?? 0 == 0, "\(when): it was synced again") }
                    try await finish(directory, orders: orders, when)
                    return end.exitCode == 0 && later == nil
                }
                if isDone { break }
            }
        }
        #expect(kills >= 3, "\(kills) kills")
    }

    /// Returns how often a call was made on the same file of the store after one that has failed, by the traces of all threads.
    ///
    /// - Returns: `nil`: none has failed.
    private func callsAfterFailure(_ directory: TemporaryDirectory) -> Int? {
        let counts = Files.names(in: directory.path).filter { $0.hasPrefix("trace.") }.compactMap { name -> Int? in
            let calls = (Files.text(of: directory.file(name)) ?? "").split(separator: "\n")
            guard let failure = calls.firstIndex(where: { $0.hasSuffix("(INJECTED)") }) else { return nil }
            // A descriptor has its file's path behind it, as in "fdatasync(7</tmp/flows.sqlite-wal>) = 0".
            func file(_ call: Substring) -> Substring { call.drop { $0 != "<" }.prefix { $0 != ">" } }
            return calls[(failure + 1)...].count { $0.contains("flows.sqlite") && file($0) == file(calls[failure]) }
        }
        return counts.isEmpty ? nil : counts.reduce(0, +)
    }
}
