import ConcurrencySupport
import Glibc
import Synchronization
import WireProtocol

/// The distributor of all events of a process to its viewers, in this process or in one above.
final class Tap: Sendable {
    /// The number of events that may wait for one viewer; beyond it the oldest are dropped.
    private static let capacity = 4_096

    private struct State {
        var viewers: [UInt64: AsyncStream<TreeEvent>.Continuation] = [:]
        var isWantedAbove = false
        var next: UInt64 = 0

        var isWanted: Bool { isWantedAbove || !viewers.isEmpty }
    }

    private let uplink: Uplink?
    let activity: ObservationActivity
    /// The number of events that weren't sent to the process above, because it reads too slowly or can't be reached.
    let dropped = Atomic<UInt64>(0)
    private let state = Lock(State())
    /// Tells when the first viewer comes and when the last one has gone.
    private let switched = ChangeTeller(false)

    init(uplink: Uplink?, activity: ObservationActivity = ObservationActivity()) { (self.uplink, self.activity) = (uplink, activity) }

    var isActive: Bool { activity.has(.tap) }

    func publish(_ event: @autoclosure () -> TreeEvent) {
        guard isActive else { return }
        let event = event()
        let (viewers, isWantedAbove) = state.withLock { (Array($0.viewers.values), $0.isWantedAbove) }
        for viewer in viewers { viewer.yield(event) }
        if isWantedAbove, uplink?.notify(TreeEvent.notification, event) == false { dropped.add(1, ordering: .relaxed) }
    }

    /// Opens a stream of all events from now on.
    func open() -> AsyncStream<TreeEvent> {
        let (stream, continuation) = AsyncStream<TreeEvent>.makeStream(bufferingPolicy: .bufferingNewest(Self.capacity))
        let id = state.withLock { state -> UInt64 in
            state.next += 1
            state.viewers[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.viewers.removeValue(forKey: id) }
            self?.update()
        }
        update()
        return stream
    }

    /// Sets whether the process above wants the events of this one.
    func setWantedAbove(_ isWanted: Bool) {
        state.withLock { $0.isWantedAbove = isWanted }
        update()
    }

    /// Adds a function that is called when this process begins or ends to view events: for a link to a process below.
    func whenSwitched(_ change: @escaping @Sendable (Bool) -> Void) -> UInt64 {
        switched.add(change)
    }

    func forget(_ id: UInt64) { switched.remove(id) }

    /// Ends every stream.
    func close() {
        for viewer in state.withLock({ Array($0.viewers.values) }) { viewer.finish() }
    }

    private func update() {
        state.withLock { _ = activity.set(.tap, $0.isWanted) }
        switched.tell { state.withLock { $0.isWanted } }
    }
}

extension TreeEvent: UpwardNotice {
    static let notification = "coordinators.tap"

    func subjectOutside(of path: CoordinatorPath) -> String? { Self.subjectOutside(of: path, among: CollectionOfOne(self.path)) }

    init(_ kind: Kind, at path: CoordinatorPath, trace: TraceContext? = nil) {
        self.init(path: path, processID: getpid(), trace: trace, kind: kind)
    }
}

/// The tap is an instrument itself: viewers get what the installed ones get.
extension Tap: CoordinatorInstrument {
    func around<R: Sendable>(_ message: MessageInfo, next: () async throws -> R) async throws -> R {
        guard isActive, message.direction == .incoming else { return try await next() }
        let began = MonotonicTime.now
        do {
            let result = try await next()
            publish(message, since: began)
            return result
        } catch {
            publish(message, since: began, error)
            throw error
        }
    }

    func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        guard isActive, message.direction == .incoming else { return try next() }
        let began = MonotonicTime.now
        do {
            let result = try next()
            publish(message, since: began)
            return result
        } catch {
            publish(message, since: began, error)
            throw error
        }
    }

    private func publish(_ message: MessageInfo, since began: MonotonicTime, _ error: (any Error)? = nil) {
        let (name, duration) = (message.name, MonotonicTime.now - began)
        let kind = TreeEvent.Kind.handled(message: name, sender: message.sender, duration: duration, error: error.map { "\($0)" })
        publish(TreeEvent(kind, at: message.path, trace: message.trace))
    }

    func changed(_ path: CoordinatorPath, _ change: LifecycleChange) { publish(TreeEvent(.lifecycle(change), at: path)) }

    func dropped(_ letter: DeadLetter) { publish(TreeEvent(.dropped(letter), at: letter.target)) }
}

// MARK: - An event of the tree

/// An event somewhere in the tree, for tracing and audit.
public struct TreeEvent: Sendable, Hashable, Codable {
    /// The kind of the event.
    public enum Kind: Sendable, Hashable, Codable {
        /// A coordinator has changed.
        case lifecycle(LifecycleChange)
        /// A row of the coordinator has handled a message: with its sender, the time that it took, and the error that it threw.
        case handled(message: String, sender: CoordinatorPath, duration: Duration, error: String?)
        /// A coordinator has sent an event to its delegates.
        case event(type: String)
        /// A message was dropped.
        case dropped(DeadLetter)
    }

    /// The coordinator that the event is about.
    public let path: CoordinatorPath
    /// The number of the process in which the event occurred.
    public let processID: Int32
    /// The trace of the message.
    public let trace: TraceContext?
    /// The kind of the event.
    public let kind: Kind
}

// MARK: - Whether anything observes

/// What observes the messages of a process at the moment: one number, so that a message that nothing observes only reads that.
final class ObservationActivity: Sendable {
    struct Observers: OptionSet, Sendable {
        let rawValue: UInt8
        /// The instruments of the program's own.
        static let installed = Observers(rawValue: 1)
        static let tap = Observers(rawValue: 2)
        static let traces = Observers(rawValue: 4)
        static let telemetry = Observers(rawValue: 8)
    }

    private let bits = Atomic<UInt8>(0)

    var isAny: Bool { bits.load(ordering: .relaxed) != 0 }

    func has(_ observer: Observers) -> Bool { bits.load(ordering: .relaxed) & observer.rawValue != 0 }

    /// Whether others than these are active too.
    func hasMore(than observers: Observers) -> Bool { bits.load(ordering: .relaxed) & ~observers.rawValue != 0 }

    /// Sets whether an observer is active.
    ///
    /// - Returns: Whether it was.
    @discardableResult
    func set(_ observer: Observers, _ isActive: Bool) -> Bool {
        let former =
            isActive
            ? bits.bitwiseOr(observer.rawValue, ordering: .relaxed).oldValue
            : bits.bitwiseAnd(~observer.rawValue, ordering: .relaxed).oldValue
        return former & observer.rawValue != 0
    }
}

// MARK: - Whether processes below observe

/// What tells listeners that a value has changed: one thread at a time tells, so that no older value comes after a newer one.
///
/// No lock is held meanwhile: a listener sends over a link, and a link that closes by that calls others. A thread whose change comes while
/// another tells doesn't wait; the other goes on with the newer value.
final class ChangeTeller<Value: Equatable & Sendable>: Sendable {
    private struct State {
        var told: Value
        var listeners = ChangeListeners<Value>()
        var isTelling = false
        /// Whether the value may be another than the one that was told last.
        var isStale = false
    }

    private let state: Lock<State>

    /// - Parameter value: The value at the beginning, which isn't told.
    init(_ value: Value) { state = Lock(State(told: value)) }

    func add(_ listener: @escaping @Sendable (Value) -> Void) -> UInt64 { state.withLock { $0.listeners.add(listener) } }

    func remove(_ id: UInt64) { state.withLock { $0.listeners.remove(id) } }

    /// Tells the value if it has changed.
    ///
    /// - Parameter present: Reads the value, which was changed before this call.
    func tell(_ present: () -> Value) {
        let isMine = state.withLock { state -> Bool in
            let isMine = !state.isTelling
            (state.isTelling, state.isStale) = (true, true)
            return isMine
        }
        guard isMine else { return }
        while takeTurn() {
            let value = present()
            let listeners = state.withLock { state -> [@Sendable (Value) -> Void] in
                guard state.told != value else { return [] }
                state.told = value
                return state.listeners.all
            }
            for listener in listeners { listener(value) }
        }
    }

    private func takeTurn() -> Bool {
        state.withLock { state -> Bool in
            state.isTelling = state.isStale
            state.isStale = false
            return state.isTelling
        }
    }
}
