import ConcurrencySupport
import DequeModule

/// Values that a coordinator shows to any number of readers, each at its own pace.
///
///     actor CartCoordinator: Coordinator {
///         let context: Context
///         private let changes: Broadcast<Contents>
///         private var contents = Contents() { didSet { changes.send(contents) } }
///
///         init(_ context: Context) { (self.context, changes) = (context, context.broadcast(latest: Contents())) }
///
///         static let responders: Responders = [.broadcast(Cart.Watch.self) { me, _ in me.changes }]
///     }
///
/// Its readers are the streams of a `.broadcast` row, in other processes too, and loops of this process. A broadcast of the latest value has
/// a reader begin with the present one, and skip those that came while it was busy. A broadcast of all values has it begin with the next
/// one; a reader that is slower than the values come is marked: its next ``Reading`` says how many it has missed. A broadcast keeps its
/// values once, however many readers there are, and never waits for one.
///
/// It ends when the coordinator stops or begins to drain, and by ``finish()``; readers read what is left, then the regular end. The readers
/// of a coordinator that has failed get the error that its askers get.
public final class Broadcast<Value: Sendable>: Sendable, AsyncSequence {
    /// A value as one reader gets it.
    public struct Reading: Sendable {
        /// The value.
        public let value: Value
        /// The number of values between the reader's last one and this one.
        public let missed: Int
    }

    private struct State {
        /// The newest values, at most as many as a reader may have unread.
        var values: Deque<Value> = []
        /// The number of values that were sent.
        var sent = 0
        var hasFinished = false
        /// For each reader, the number of the value that it reads next.
        var readers = Slab<Int>()
        var waiters = Slab<OneShot<Void>>()

        /// The number of the oldest value that is kept.
        var first: Int { sent - values.count }
    }

    private let state = Lock(State())
    private let limit: Int
    /// Whether only the latest value counts, and a reader that misses others misses nothing.
    let isOfLatest: Bool
    private weak let owner: CoordinatorCell?

    init(_ values: [Value], limit: Int, isOfLatest: Bool, owner: CoordinatorCell) {
        (self.limit, self.isOfLatest, self.owner) = (Swift.max(limit, 1), isOfLatest, owner)
        state.withLock { ($0.values, $0.sent) = (Deque(values), values.count) }
    }

    deinit { owner?.forget(ObjectIdentifier(self)) }

    /// The value that was sent last, or with which the broadcast was made.
    public var latest: Value? { state.withLock { $0.values.last } }

    /// The number of present readers.
    public var readers: Int { state.withLock { $0.readers.count } }

    /// The number of present readers that have missed values since the last one that they read.
    public var slowReaders: Int {
        state.withLock { state in state.readers.elements.count(where: { $0 < state.first }) }
    }

    /// Shows a value to all readers; after the end it does nothing.
    public func send(_ value: Value) {
        let (waiters, former) = state.withLock { state -> ([OneShot<Void>], Value?) in
            guard !state.hasFinished else { return ([], nil) }
            state.values.append(value)
            state.sent += 1
            // Released outside the lock.
            let former = state.values.count > limit ? state.values.popFirst() : nil
            return (state.waiters.removeAll(), former)
        }
        _ = former
        for waiter in waiters { waiter.settle(()) }
    }

    /// Ends the broadcast: readers read what is left, then the end.
    public func finish() {
        let waiters = state.withLock { state in
            state.hasFinished = true
            return state.waiters.removeAll()
        }
        for waiter in waiters { waiter.settle(()) }
    }

    /// Returns a reader, which counts until it's released.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: Reader(of: self)) }

    /// A reader of a broadcast.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader

        /// Returns the next value; `nil` at the end, and when the task is cancelled.
        public mutating func next() async -> Reading? { await reader.next() }

        /// Returns the next value, if there is one at present.
        fileprivate func nextIfAny() -> Reading? { reader.nextIfAny() }
    }

    /// The place of a reader among the values.
    fileprivate final class Reader: Sendable {
        private let broadcast: Broadcast
        private let number: UInt64

        init(of broadcast: Broadcast) {
            self.broadcast = broadcast
            number = broadcast.state.withLock { state in state.readers.insert(broadcast.isOfLatest ? state.first : state.sent) }
        }

        deinit { broadcast.state.withLock { _ = $0.readers.remove(number) } }

        func nextIfAny() -> Reading? {
            guard case .reading(let reading) = broadcast.look(for: number) else { return nil }
            return reading
        }

        func next() async -> Reading? {
            while !Task.isCancelled {
                switch broadcast.look(for: number) {
                case .reading(let reading): return reading
                case .end: return nil
                case .wait(let change, let waiter):
                    await withTaskCancellationHandler {
                        await change.value
                    } onCancel: {
                        change.settle(())
                    }
                    broadcast.state.withLock { _ = $0.waiters.remove(waiter) }
                }
            }
            return nil
        }
    }

    private enum Look {
        case reading(Reading)
        case wait(OneShot<Void>, UInt64)
        case end
    }

    /// Takes the next value for a reader, or a place among those that wait for it.
    private func look(for reader: UInt64) -> Look {
        state.withLock { state in
            guard let next = state.readers[reader] else { return .end }
            if next < state.sent {
                let number = Swift.max(next, state.first)
                state.readers[reader] = number + 1
                return .reading(Reading(value: state.values[number - state.first], missed: number - next))
            }
            if state.hasFinished { return .end }
            let change = OneShot<Void>()
            return .wait(change, state.waiters.insert(change))
        }
    }

    fileprivate var hasFinished: Bool { state.withLock { $0.hasFinished } }
}

extension Broadcast.Reading: Equatable where Value: Equatable {}
extension Broadcast.Reading: Hashable where Value: Hashable {}
extension Broadcast.Reading: Encodable where Value: Encodable {}
extension Broadcast.Reading: Decodable where Value: Decodable {}

extension CoordinatorContext {
    /// Returns a broadcast of the latest value: a reader begins with the present one, and never reads one that is older than the last.
    ///
    /// - Parameter value: The present value.
    public func broadcast<Value: Sendable>(latest value: Value) -> Broadcast<Value> {
        cell.own(Broadcast([value], limit: 1, isOfLatest: true, owner: cell))
    }

    /// Returns a broadcast of all values: a reader gets each from its own beginning on.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - limit: The number of values that a reader may have unread; a slower one misses the oldest.
    public func broadcast<Value: Sendable>(all type: Value.Type, limit: Int = 64) -> Broadcast<Value> {
        cell.own(Broadcast([], limit: limit, isOfLatest: false, owner: cell))
    }
}

extension Responder {
    /// Answers a message with the values of a broadcast, as a stream.
    ///
    ///     .broadcast(Cart.Watch.self) { me, _ in me.changes }
    ///
    /// The request is accepted when the body has returned; what the body throws, the asker gets. Of the latest value at most one reply is
    /// unread, so that a slow reader's next one is new. Of all values a reader that has missed some gets `mailboxFull`; to be told how many
    /// instead, let the message's reply be a ``Broadcast/Reading``. An `ask` gets the first value.
    public static func broadcast<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (isolated C, M) async throws -> Broadcast<M.Reply>
    ) -> Responder {
        broadcast(message, body) { reading, isOfLatest in
            if isOfLatest || reading.missed == 0 { return reading.value }
            throw CoordinatorError(
                .mailboxFull,
                "a reader of \(M.name) has missed \(reading.missed) values: they come faster than it reads"
            )
        }
    }

    /// Answers a message with the values of a broadcast, as a stream whose replies say how many values the reader has missed.
    public static func broadcast<M: ResponderMessage, Value>(
        _ message: M.Type,
        _ body: @escaping @Sendable (isolated C, M) async throws -> Broadcast<Value>
    ) -> Responder where M.Reply == Broadcast<Value>.Reading {
        broadcast(message, body) { reading, _ in reading }
    }

    private static func broadcast<M: ResponderMessage, Value>(
        _ message: M.Type,
        _ body: @escaping @Sendable (isolated C, M) async throws -> Broadcast<Value>,
        _ reply: @escaping @Sendable (Broadcast<Value>.Reading, _ isOfLatest: Bool) throws -> M.Reply
    ) -> Responder {
        .stream(message) { me, message, replies in
            let broadcast = try await body(me, message)
            replies.accept()
            var readings = broadcast.makeAsyncIterator()
            var unsent: Broadcast<Value>.Reading?
            do {
                while true {
                    // Values that come while the asker has a reply to read replace one another.
                    if broadcast.isOfLatest { try await replies.envelope.flow?.waitUntilRead() }
                    unsent = await readings.next()
                    guard let reading = unsent else { break }
                    try await replies.send(reply(reading, broadcast.isOfLatest))
                    unsent = nil
                }
            } catch is CancellationError where broadcast.hasFinished {}
            if !broadcast.hasFinished { throw CancellationError() }
            // A stop ends the broadcast, and cancels the handler right after that: what is left goes as far as the asker has room for it. It mustn't
            // miss any of the rest without being told.
            while let reading = unsent ?? readings.nextIfAny(), let flow = replies.envelope.flow {
                guard try flow.sendIfRoom(.value(reply(reading, broadcast.isOfLatest))) else { throw CancellationError() }
                unsent = nil
            }
        }
    }
}

/// A broadcast, whatever its values are.
protocol OwnedBroadcast: AnyObject, Sendable {
    func finish()
}

extension Broadcast: OwnedBroadcast {}

/// A broadcast that its coordinator ends when it stops, and doesn't keep alive.
struct BroadcastReference: Sendable {
    weak let broadcast: (any OwnedBroadcast)?
}

/// The broadcasts of a coordinator, which end with it.
struct BroadcastsState: Emptiable, Sendable {
    var all: [ObjectIdentifier: BroadcastReference] = [:]

    var isEmpty: Bool { all.isEmpty }
}

extension CoordinatorCell.State {
    fileprivate var broadcasts: BroadcastsState {
        get { extras.features[BroadcastsState.self] }
        _modify { yield &extras.features[BroadcastsState.self] }
    }
}

extension CoordinatorCell {
    /// Has a broadcast end with the coordinator.
    fileprivate func own<Value>(_ broadcast: Broadcast<Value>) -> Broadcast<Value> {
        let isOver = state.withLock { state -> Bool in
            switch state.life.phase {
            case .starting, .active:
                state.broadcasts.all[ObjectIdentifier(broadcast)] = BroadcastReference(broadcast: broadcast)
                return false
            case .draining, .stopping, .stopped: return true
            }
        }
        if isOver { broadcast.finish() }
        return broadcast
    }

    /// Forgets a broadcast that nothing refers to any more.
    fileprivate func forget(_ broadcast: ObjectIdentifier) {
        state.withLock { state in if state.hasExtras { state.broadcasts.all[broadcast] = nil } }
    }

    /// Ends the broadcasts of a coordinator that begins to drain or to stop.
    func finishBroadcasts() {
        let broadcasts = state.withLock { state -> [BroadcastReference] in
            guard state.hasExtras else { return [] }
            defer { state.broadcasts.all = [:] }
            return Array(state.broadcasts.all.values)
        }
        for reference in broadcasts { reference.broadcast?.finish() }
    }
}
