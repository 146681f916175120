import ConcurrencySupport
import TestSupport
import Testing

@testable import Coordinators

@Suite("Replies: a stream's window", .timeLimit(minutes: 1))
struct ReplyFlowTests {
    @Test("Sixty-four replies may be unread, then the handler waits")
    func window() async throws {
        let replies = Collected<Int>()
        let flow = makeFlow(to: replies)
        #expect(!flow.hasPassed)
        for number in 0..<ReplyFlow.window { try await flow.send(.value(number)) }
        #expect(flow.hasPassed)
        // It runs at once, up to where it waits.
        let next = Task.immediate { try await flow.send(.value(64)) }
        #expect(replies.all == Array(0..<64))
        flow.grant(1)
        try await next.value
        #expect(replies.all == Array(0...64))
    }

    @Test("Grants beyond the sent replies never widen the window beyond sixty-four")
    func granted() async throws {
        let replies = Collected<Int>()
        let flow = makeFlow(to: replies)
        flow.grant(10)
        for number in 0..<64 { try await flow.send(.value(number)) }
        let next = Task.immediate { try await flow.send(.value(64)) }
        #expect(replies.all.count == 64)
        flow.grant(1)
        try await next.value
        #expect(replies.all.count == 65)
    }

    @Test("Every waiting sender is considered once, whatever is granted", .timeLimit(minutes: 1))
    func maxima() async throws {
        let replies = Collected<Int>()
        let flow = try await exhausted(to: replies)
        let waiting = (0..<100).map { number in Task.immediate { try await flow.send(.value(100 + number)) } }
        // At a loop's turn for each it would take minutes.
        let began = MachineClock.now
        flow.grant(.max)
        #expect(MachineClock.now - began < .seconds(20))
        try await eventually("as many as the window is wide are let through") { replies.all.count >= 128 }
        #expect(replies.all.count == 128)
        let beganAgain = MachineClock.now
        for count in [Int(UInt32.max), 0, -1, .min] { flow.grant(count) }
        #expect(MachineClock.now - beganAgain < .seconds(20))
        for task in waiting { try await task.value }
        let grants = Collected<Int>()
        flow.relayGrants { grants.append($0) }
        flow.grant(.max)
        #expect(grants.all.allSatisfy { $0 <= ReplyFlow.window })
    }

    @Test("Replies that can't be passed on take no room, and the handler goes on")
    func refused() async throws {
        let replies = Collected<Int>()
        let flow = ReplyFlow { answer in
            let value = try answer.decoded(as: Int.self)
            guard value >= 0 else { throw CoordinatorError(.messageTooLarge, "too large") }
            replies.append(value)
            return ReplyFlow.largeWindow
        }
        for _ in 0..<(2 * ReplyFlow.window) {
            await #expect(throws: CoordinatorError.self) { try await flow.send(.value(-1)) }
        }
        try await flow.send(.value(1))
        let next = Task.immediate { try await flow.send(.value(2)) }
        #expect(replies.all == [1])
        flow.grant(1)
        try await next.value
        #expect(replies.all == [1, 2])
    }

    @Test("A flood that isn't read ends with an error")
    func flood() throws {
        let replies = Collected<Int>()
        let flow = makeFlow(to: replies)
        let error = #expect(throws: CoordinatorError.self) { for number in 0..<1_000 { try flow.pass(.value(number)) } }
        #expect(error?.code == .mailboxFull)
        #expect(replies.all.count == 2 * ReplyFlow.window)
        flow.grant(1)
        try flow.pass(.value(1_000))
    }

    @Test("As many waiting senders continue as replies are granted")
    func several() async throws {
        let replies = Collected<Int>()
        let flow = try await exhausted(to: replies)
        let waiting = (0..<5).map { number in Task.immediate { try await flow.send(.value(100 + number)) } }
        #expect(replies.all.count == 64)
        flow.grant(5)
        for task in waiting { try await task.value }
        #expect(replies.all.dropFirst(64).sorted() == Array(100..<105))
    }

    @Test("A sender that is cancelled while it waits sends nothing")
    func cancel() async throws {
        let replies = Collected<Int>()
        let flow = try await exhausted(to: replies)
        let waiting = Task.immediate { try await flow.send(.value(100)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(replies.all.count == 64)
        // It has taken nothing either.
        flow.grant(1)
        try await flow.send(.value(101))
        #expect(replies.all.last == 101)
    }

    @Test("A cancelled sender doesn't use up a grant")
    func cancelledTurn() async throws {
        let replies = Collected<Int>()
        let flow = try await exhausted(to: replies)
        let cancelled = Task.immediate { try await flow.send(.value(100)) }
        let waiting = Task.immediate { try await flow.send(.value(101)) }
        cancelled.cancel()
        _ = await cancelled.result
        flow.grant(1)
        try await eventually("the one that still waits is let through") { replies.all.last == 101 }
        // Whatever the result, no sender waits when the test ends.
        flow.grant(2)
        try await waiting.value
    }

    @Test("A reply that can't be handed on is the sender's error")
    func undeliverable() async {
        let flow = ReplyFlow { _ in throw CoordinatorError(.messageTooLarge, "a reply") }
        await expect(.messageTooLarge) { try await flow.send(.value(1)) }
    }

    // MARK: Relaying

    @Test("Grants before a relay is set are relayed, and all later ones")
    func early() {
        let flow = makeFlow(to: Collected())
        let grants = Collected<Int>()
        flow.grant(2)
        flow.grant(3)
        flow.relayGrants { grants.append($0) }
        #expect(grants.all == [5])
        flow.grant(4)
        #expect(grants.all == [5, 4])
    }

    @Test("Nothing is relayed where nothing was granted")
    func notEarly() {
        let flow = makeFlow(to: Collected())
        let grants = Collected<Int>()
        flow.relayGrants { grants.append($0) }
        #expect(grants.all.isEmpty)
    }

    @Test("A second relay doesn't get the grants of the first again")
    func secondRelay() {
        let flow = makeFlow(to: Collected())
        let (first, second) = (Collected<Int>(), Collected<Int>())
        flow.grant(2)
        flow.relayGrants { first.append($0) }
        flow.relayGrants { second.append($0) }
        flow.grant(1)
        #expect(first.all == [2])
        #expect(second.all == [1])
    }

    @Test("The asker's flow makes room in the one nearer to the handler")
    func chained() async throws {
        let replies = Collected<Int>()
        let outer = makeFlow(to: replies)
        let inner = ReplyFlow { try outer.pass($0) }
        outer.relayGrants(to: inner)
        for number in 0..<64 { try await inner.send(.value(number)) }
        let next = Task.immediate { try await inner.send(.value(64)) }
        #expect(replies.all.count == 64)
        outer.grant(1)
        try await next.value
        #expect(replies.all == Array(0..<65))
        #expect(outer.hasPassed && inner.hasPassed)
    }

    private func makeFlow(to replies: Collected<Int>) -> ReplyFlow {
        ReplyFlow {
            replies.append(try $0.decoded(as: Int.self))
            return 0
        }
    }

    /// A flow whose window is used up.
    private func exhausted(to replies: Collected<Int>) async throws -> ReplyFlow {
        let flow = makeFlow(to: replies)
        for number in 0..<ReplyFlow.window { try await flow.send(.value(number)) }
        return flow
    }
}

/// The collected values, in order.
final class Collected<Element: Sendable>: Sendable {
    private let elements = Lock<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
    func removeAll() { elements.withLock { $0 = [] } }
}
