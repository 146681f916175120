import ConcurrencySupport
import CoordinatorsTesting
import TestSupport
import Testing

@testable import Coordinators

/// A coordinator that broadcasts numbers.
private actor Sender: Coordinator {
    struct All: ResponderMessage { typealias Reply = Int }
    struct Latest: ResponderMessage { typealias Reply = Int }
    struct Send: ResponderMessage { var numbers: ClosedRange<Int> }

    static let responders: Responders = [
        .broadcast(All.self) { me, _ in me.all },
        .broadcast(Latest.self) { me, _ in me.latest },
        .respond(to: Send.self) { me, send in
            for number in send.numbers {
                me.all.send(number)
                me.latest.send(number)
            }
        },
    ]

    nonisolated let context: Context
    private let all: Broadcast<Int>
    private let latest: Broadcast<Int>

    init(_ context: Context) {
        self.context = context
        all = context.broadcast(all: Int.self)
        latest = context.broadcast(latest: 0)
    }
}

private actor Studio: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
}

@Suite("The end of a broadcast", .timeLimit(.minutes(2)))
struct BroadcastEndTests {
    private func withSender(_ body: (CoordinatorRuntime, Child<Sender>) async throws -> Void) async throws {
        try await withRuntime(Studio.self, options: Support.options) { runtime in
            let child = try await Studio.Context(cell: try runtime.root).start(Sender.self, as: "sender")
            try await body(runtime, child)
        }
    }

    @Test("A reader that has room for what is left gets it, then the regular end")
    func withRoom() async throws {
        try await withSender { runtime, child in
            var all = try await child.stream(Sender.All()).accepted().makeAsyncIterator()
            var latest = try await child.stream(Sender.Latest()).accepted().makeAsyncIterator()
            // The first is unread, so that the row waits with the others.
            try await child.ask(Sender.Send(numbers: 1...3))
            await child.remove()
            var (read, last): ([Int], Int?) = ([], nil)
            while let number = try await all.next() { read.append(number) }
            #expect(read == [1, 2, 3])
            while let number = try await latest.next() { last = number }
            #expect(last == 3)
        }
    }

    @Test("A reader that has no room for all that is left is told that it has missed some")
    func withoutRoom() async throws {
        try await withSender { runtime, child in
            var all = try await child.stream(Sender.All()).accepted().makeAsyncIterator()
            try await child.ask(Sender.Send(numbers: 1...50))
            try await eventually("the first wait for their reader") { child.state == .active }
            try await child.ask(Sender.Send(numbers: 51...100))
            await child.remove()
            var read: [Int] = []
            await #expect(throws: CoordinatorError.self) { while let number = try await all.next() { read.append(number) } }
            #expect(read == Array((1...100).prefix(read.count)) && read.count < 100)
        }
    }
}
