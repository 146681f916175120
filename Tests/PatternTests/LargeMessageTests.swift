import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

/// Values that are larger than a frame, between real processes.
@Suite("Large messages", .timeLimit(minutes: 3))
struct LargeMessageTests {
    /// The size of a frame at most.
    private static let frame = 1 << 20

    private enum Way: String, CaseIterable {
        /// Down to a worker, which asks its parent in turn; both replies are as large.
        case worker
        /// Through a worker to one below it, whose ask climbs as far.
        case chain
        case pool
        /// The elements of a stream, from the root to a worker.
        case stream
        /// A one-way message.
        case tell
    }

    @Test("Values of any size up to the maximum arrive by every way; larger ones are refused, and weren't executed")
    func sizes() async throws {
        var options = Support.options
        let maximum = 5 << 18
        options.maximumMessageSize = maximum
        try await PageTree.run(options: options) { tree in
            let child = try await tree.step("child", .worker)
            try await tree.step("inner", below: "/child", .worker)
            let reader = try await tree.start(ReaderCoordinator.self, as: "reader", .worker)
            let pool = try await tree.root.start(PressCoordinator.self, as: "presses", in: .pool(2, .worker)) {
                $0.notebook = tree.notebook
            }
            let sizes = [1_000, Self.frame + 1, maximum]
            // All at the same time, so that large and small ones share each link.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for way in Way.allCases {
                    for size in sizes {
                        let value = String(repeating: "x", count: size)
                        group.addTask {
                            do {
                                switch way {
                                case .worker:
                                    let echo = try await child.ask(FixtureFlow.Do(.echo(value)), timeout: .seconds(60))
                                    #expect(echo == value)
                                case .chain:
                                    let echo = try await tree.runtime.ask(
                                        FixtureFlow.Do(.echo(value)),
                                        at: "/child/inner",
                                        timeout: .seconds(60)
                                    )
                                    #expect(echo == value)
                                case .pool:
                                    let path = try await pool.ask(Press.Draw(value), timeout: .seconds(60))
                                    #expect(path.hasPrefix("/presses/"))
                                case .stream:
                                    let count = FixtureFlow.Count(to: 2, padding: value)
                                    let read = try await reader.ask(FixtureFlow.Read(count), timeout: .seconds(60))
                                    #expect(read.numbers == [1, 2])
                                case .tell: try await child.send(FixtureFlow.Do(.echo(value)))
                                }
                                #expect(size < maximum, "\(way.rawValue) of \(size) bytes was too large")
                            } catch let error as CoordinatorError {
                                #expect(size == maximum && error.code == .messageTooLarge, "\(way.rawValue) of \(size) bytes: \(error)")
                                #expect(!error.maybeExecuted)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await eventually("no ask is open") { tree.runtime.counters.openAsks == 0 }
            #expect(child.incarnation == 1)
        }
    }

    @Test("Messages of one sender to one receiver begin in their order, whatever their sizes")
    func order() async throws {
        try await PageTree.run { tree in
            let keeper = try await tree.root.start(OrderKeeper.self, as: "keeper", in: .worker)
            let count = 25
            var underWay: [Task<Void, any Error>] = []
            for number in 0..<count {
                let padding = String(repeating: "x", count: [1_200_000, 10, 10, 200_000, 10][number % 5])
                // On its way at once, before the next begins.
                underWay.append(
                    Task.immediate {
                        let note = Order.Padded(number, padding: padding)
                        if number % 2 == 0 { try await keeper.ask(note, timeout: .seconds(60)) } else { try await keeper.send(note) }
                    }
                )
            }
            for task in underWay { try await task.value }
            try await eventually("all have begun") { try await keeper.ask(Fixture.Notes(), timeout: .seconds(20)).count == count }
            #expect(try await keeper.ask(Fixture.Notes(), timeout: .seconds(20)) == Array(0..<count))
        }
    }
}
