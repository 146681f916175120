import ConcurrencySupport
public import Coordinators

/// An instrument that notes down what it observes, and continues the trace of each message, as a tracer does.
public final class Recorder: CoordinatorInstrument {
    /// The recorder of a worker's process.
    public static let ofProcess = Recorder()

    /// The error of an instrument that refuses a message.
    public struct Refusal: Error, Codable, Hashable, Sendable {
        public var name: String
        public init(_ name: String) { self.name = name }
    }

    /// The lines of a recorder, or of several, in order.
    public final class Log: Sendable {
        private let lines = Lock<[String]>([])

        public init() {}

        public var all: [String] { lines.withLock { $0 } }

        public func forget() { lines.withLock { $0 = [] } }

        fileprivate func note(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private let log: Log
    private let letter: String
    private let refused: @Sendable (MessageInfo) -> Bool
    private let notebook = Lock(Notebook())

    /// - Parameters:
    ///   - letter: What stands before each line.
    ///   - log: Where the lines are noted.
    ///   - refused: Whether the recorder throws instead of letting a message pass.
    public init(
        _ letter: String = "",
        into log: Log = Log(),
        refusing refused: @escaping @Sendable (MessageInfo) -> Bool = { _ in false }
    ) {
        (self.letter, self.log, self.refused) = (letter, log, refused)
    }

    public var all: [String] { log.all }

    /// What was noted down of messages with a name, and of nothing else.
    public func all(_ name: String) -> [String] { all.filter { $0.split(separator: " ").contains { $0 == name } } }

    /// Sets the notebook in which the recorder notes that it was flushed.
    public func noteFlush(in notebook: Notebook) { self.notebook.withLock { $0 = notebook } }

    public nonisolated(nonsending) func around<R: Sendable>(
        _ message: MessageInfo,
        next: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try begin(message, "awaits")
        do {
            let result = try await TraceContext.$current.withValue(continued(message)) { try await next() }
            note("end \(message.direction) \(message.name)")
            return result
        } catch {
            note("\(Swift.type(of: error)) \(message.direction) \(message.name)")
            throw error
        }
    }

    public func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        try begin(message, "at once")
        do {
            let result = try TraceContext.$current.withValue(continued(message)) { try next() }
            note("end \(message.direction) \(message.name)")
            return result
        } catch {
            note("\(Swift.type(of: error)) \(message.direction) \(message.name)")
            throw error
        }
    }

    public func changed(_ path: CoordinatorPath, _ change: LifecycleChange) { note("\(path) \(change)") }

    public func dropped(_ letter: DeadLetter) { note("dropped \(letter.name) \(letter.reason)") }

    public func flush() async {
        note("flushed")
        notebook.withLock { $0 }.note("flushed")
    }

    private func begin(_ message: MessageInfo, _ form: String) throws {
        if refused(message) { throw Refusal(message.name) }
        let remote = message.isRemote ? " remote" : ""
        let ways = "\(message.sender) \(message.target?.description ?? "up")"
        let type = message.coordinatorType ?? "outside"
        note("\(message.direction) \(message.kind) \(message.name) \(ways) \(type) \(form)\(remote) [\(message.trace?.traceparent ?? "")]")
    }

    private func continued(_ message: MessageInfo) -> TraceContext {
        TraceContext(traceparent: "\(message.trace?.traceparent ?? "")\(message.direction == .outgoing ? ">" : "<")\(letter)")
    }

    private func note(_ line: String) { log.note(letter + line) }
}
