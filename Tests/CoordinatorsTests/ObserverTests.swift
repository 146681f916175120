import ConcurrencySupport
import CoordinatorsTesting
import TestSupport
import Testing

@testable import Coordinators

/// A child that sends the events that it's told.
private actor Teller: Coordinator {
    typealias Event = Int

    struct Tell: ResponderMessage { var number: Int }

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.respond(to: Tell.self) { me, tell in me.context.delegates => tell.number }]
}

private actor Listener: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
}

private final class Ear: CoordinatorDelegate {
    typealias Subject = Teller
}

@Suite("The observers of a child", .timeLimit(.minutes(2)))
struct ObserverTests {
    private func withListener(_ body: (Listener.Context, CoordinatorRuntime) async throws -> Void) async throws {
        try await withRuntime(Listener.self, options: Support.options) { try await body(Listener.Context(cell: $0.root), $0) }
    }

    @Test("The end of a subscription to a removed child leaves that to the next child under the key")
    func nextUnderTheKey() async throws {
        try await withListener { context, _ in
            let heard = Lock<[Int]>([])
            var subscription: Subscription?
            for round in 1...3 {
                let child = try await context.start(Teller.self, as: "teller")
                let next = child.onEvent { number in heard.withLock { $0.append(number) } }
                // Released now, long after its child.
                subscription = next
                try await child.ask(Teller.Tell(number: round))
                try await eventually("the event is heard") { heard.withLock { $0 } == Array(1...round) }
                await child.remove()
            }
            withExtendedLifetime(subscription) {}
        }
    }

    @Test("Delegates that have gone don't add up at a child that is quiet")
    func goneDelegates() async throws {
        try await withListener { context, runtime in
            let child = try await context.start(Teller.self, as: "teller")
            for _ in 0..<100 { child.delegates += Ear() }
            #expect(runtime.counters.observers <= 1)
        }
    }
}
