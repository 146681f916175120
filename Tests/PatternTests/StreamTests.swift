import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: streams", .timeLimit(minutes: 3))
struct StreamTests {
    @Test(
        "Replies arrive in order, and the stream ends with its handler, after the replies before its error; in one process or through two",
        arguments: [(FixtureFlow.Count(to: 5_000), 5_000, "ended"), (FixtureFlow.Count(to: 10, failsAt: 4), 4, "no further")],
        Where.allCases
    )
    func order(_ row: (count: FixtureFlow.Count, last: Int, end: String), _ place: Where) async throws {
        try await PageTree.run { tree in
            _ = try await tree.reader(place)
            try await tree.runtime.ask(FixtureFlow.StartAlike("inner", inWorker: place.isWorker), at: "/reader", timeout: .seconds(20))
            for path: CoordinatorPath in ["/reader", "/reader/inner"] {
                let read = try await tree.runtime.ask(FixtureFlow.Read(row.count), at: path, timeout: .seconds(30))
                #expect(read.numbers == Array(1...row.last))
                #expect(read.end == row.end)
            }
            let ends = Array(repeating: row.end == "ended" ? "whole" : "failed", count: 2)
            try await eventually("both handlers' ends are told") {
                try await tree.runtime.ask(FixtureFlow.EndedStreams(), timeout: .seconds(15)) == ends
            }
        }
    }

    @Test("The first reply arrives while the handler still works", arguments: Where.allCases)
    func early(_ place: Where) async throws {
        try await PageTree.run { tree in
            let reader = try await tree.reader(place)
            let reading = Task { try await reader.ask(FixtureFlow.Read(FixtureFlow.Count(to: 2, holdsAt: 1)), timeout: .seconds(600)) }
            try await tree.reads("/reader first")
            let ended = try await tree.runtime.ask(FixtureFlow.EndedStreams(), timeout: .seconds(15))
            #expect(ended == [])
            reading.cancel()
            _ = try? await reading.value
        }
    }

    @Test("A slow reader makes the handler wait", arguments: Where.allCases)
    func backpressure(_ place: Where) async throws {
        // Times 200 bytes: far more than any buffer between the two should hold.
        let total = rounds(short: 20_000, all: 50_000, long: 50_000)
        try await PageTree.run { tree in
            let reader = try await tree.reader(place)
            let count = FixtureFlow.Count(to: total, padding: String(repeating: "x", count: 200))
            let reading = Task { try await reader.ask(FixtureFlow.Read(count, holdsAfter: 3), timeout: .seconds(120)) }
            try await tree.reads("/reader holding")
            // Wait until the handler makes no progress.
            var (sent, since) = (-1, ContinuousClock.now)
            try await eventually("the handler stands still", within: .seconds(60)) {
                let now = try await tree.runtime.ask(FixtureFlow.SentSoFar(), timeout: .seconds(15))
                if now != sent { (sent, since) = (now, .now) }
                return since.duration(to: .now) > .milliseconds(300)
            }
            #expect(sent < total / 2)
            tree.notebook.note(ReaderCoordinator.readOn)
            let read = try await reading.value
            #expect(read.numbers.count == total)
            #expect(read.numbers == Array(1...total))
            #expect(read.end == "ended")
        }
    }

    @Test("Leaving the loop cancels the handler", arguments: Where.allCases)
    func leavingTheLoop(_ place: Where) async throws {
        try await PageTree.run { tree in
            let reader = try await tree.reader(place)
            let before = "\(tree.runtime.counters)"
            for round in 1...10 {
                let read = try await reader.ask(
                    FixtureFlow.Read(FixtureFlow.Count(to: 5, holdsAt: 3), stopsAfter: 3),
                    timeout: .seconds(20)
                )
                #expect(read.numbers == [1, 2, 3])
                #expect(read.end == "stopped")
                try await eventually("the handler is cancelled") {
                    try await tree.runtime.ask(FixtureFlow.EndedStreams(), timeout: .seconds(15)).count == round
                }
            }
            let ended = try await tree.runtime.ask(FixtureFlow.EndedStreams(), timeout: .seconds(15))
            #expect(ended == Array(repeating: "cancelled", count: 10))
            try await eventually("nothing is left of the streams") { "\(tree.runtime.counters)" == before }
        }
    }

    @Test("Cancelling the reader's task cancels the handler", arguments: Where.allCases)
    func cancel(_ place: Where) async throws {
        try await PageTree.run { tree in
            let reader = try await tree.reader(place)
            let reading = Task { try await reader.ask(FixtureFlow.Read(FixtureFlow.Count(to: 5, holdsAt: 3)), timeout: .seconds(600)) }
            try await tree.reads("/reader first")
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
            try await eventually("the handler is cancelled") {
                try await tree.runtime.ask(FixtureFlow.EndedStreams(), timeout: .seconds(15)) == ["cancelled"]
            }
        }
    }

    @Test("A stream's deadline ends it and cancels the handler", arguments: Where.allCases)
    func timeout(_ place: Where) async throws {
        try await PageTree.run { tree in
            let reader = try await tree.reader(place)
            // It may pass before the handler begins, on a busy machine.
            let read = try await reader.ask(
                FixtureFlow.Read(FixtureFlow.Count(to: 5, holdsAt: 3), milliseconds: 500),
                timeout: .seconds(20)
            )
            #expect(read.end == "timedOut")
            #expect(read.numbers == Array([1, 2, 3].prefix(read.numbers.count)))
            let whole = try await reader.ask(FixtureFlow.Read(FixtureFlow.Count(to: 3)), timeout: .seconds(20))
            #expect(whole.numbers == [1, 2, 3])
            // Both ends are told, each by itself; a handler that never began has none.
            let ends: Set = read.numbers.isEmpty ? ["whole"] : ["cancelled", "whole"]
            try await eventually("the handlers have ended") {
                ends.isSubset(of: try await tree.runtime.ask(FixtureFlow.EndedStreams(), timeout: .seconds(15)))
            }
        }
    }

    @Test("An ask of a stream gets the first reply", arguments: Where.allCases)
    func first(_ place: Where) async throws {
        try await PageTree.run { tree in
            let reader = try await tree.reader(place)
            let first = try await reader.ask(FixtureFlow.ReadFirst(), timeout: .seconds(20))
            #expect(first == 1)
            // The handler would go on for ever.
            try await eventually("the handler is cancelled") {
                try await tree.runtime.ask(FixtureFlow.EndedStreams(), timeout: .seconds(15)) == ["cancelled"]
            }
        }
    }

    @Test("The end of the reader ends the handler", arguments: Where.allCases)
    func readerLost(_ place: Where) async throws {
        try await PageTree.run { tree in
            let reader = try await tree.reader(place)
            let reading = Task { try await reader.ask(FixtureFlow.Read(FixtureFlow.Count(to: 5, holdsAt: 3)), timeout: .seconds(600)) }
            try await tree.reads("/reader first")
            if place.isWorker { _ = try await tree.runtime.kill("/reader") } else { _ = try await tree.runtime.restart("/reader") }
            if place.isWorker {
                await Support.expect(.peerLost) { try await reading.value }
            } else {
                // A restart is a stop: the reader sees its stream end, and may still answer.
                let read = try await reading.value
                #expect(read.end == "stopped")
            }
            try await eventually("the handler is cancelled") {
                try await tree.runtime.ask(FixtureFlow.EndedStreams(), timeout: .seconds(15)) == ["cancelled"]
            }
        }
    }

    @Test("A stream whose handler's process dies ends with peerLost")
    func peerLost() async throws {
        // One placement: only another process can be lost. A handler is above its reader, so the reader dies with it; a listener from the
        // side survives, whose stream of events ends.
        try await PageTree.run { tree in
            try await tree.step("middle", .worker)
            try await tree.step("child", below: "/middle", .inProcess)
            try await tree.start(EventListener.self, as: "listener", .worker) { $0.subject = "/middle/child" }
            try await tree.perform(.emit(.count(1)), at: "/middle/child")
            try await tree.reads("/listener heard count(1)")
            // It follows the path through restarts of the child, but not of the process that supervises it.
            _ = try await tree.runtime.kill("/middle")
            try await tree.reads("/listener heard the end")
        }
    }

    @Test("Many streams at once don't mix", arguments: Where.allCases)
    func concurrent(_ place: Where) async throws {
        try await PageTree.run { tree in
            let reader = try await tree.reader(place)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 1...20 {
                    group.addTask {
                        let read = try await reader.ask(FixtureFlow.Read(FixtureFlow.Count(to: number * 10)), timeout: .seconds(60))
                        return read.numbers == Array(1...number * 10) && read.end == "ended"
                    }
                }
                for try await isWhole in group { #expect(isWhole) }
            }
        }
    }
}

extension PageTree {
    func reader(_ place: Where) async throws -> Child<ReaderCoordinator> {
        try await root.start(ReaderCoordinator.self, as: "reader", in: place.isWorker ? .worker : .inProcess) { $0.notebook = notebook }
    }
}
