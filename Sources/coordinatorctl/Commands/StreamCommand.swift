import ArgumentParser
import ConcurrencySupport
import Control
import Glibc
import Processes
import WireProtocol

/// A command that prints the items of a stream as they come.
protocol StreamCommand: AsyncParsableCommand {
    associatedtype Item: Codable & Sendable

    var root: CoordinatorControl { get }
    var options: CommonOptions { get }
    /// Whether the stream goes on when there is nothing more at the moment, and with the next daemon when the present one ends.
    var follow: Bool { get }

    /// Returns the operation that the arguments describe.
    func operation() throws(ControlError) -> ControlOperation

    /// Returns the operation that goes on after an item, on another connection.
    static func operation(_ operation: ControlOperation, after item: Item) -> ControlOperation

    /// Returns the operation that goes on, on another connection, when no item has come since a time in milliseconds since 1970.
    ///
    /// - Parameter isAnother: Whether the daemon is gone to which the operation was sent, so that another one gets it.
    static func operation(_ operation: ControlOperation, begunAt milliseconds: Int64, byAnother isAnother: Bool) -> ControlOperation

    /// Returns the operation without the path that it's about.
    static func unbounded(_ operation: ControlOperation) -> ControlOperation

    /// Returns the time by which items are known that come again on another connection; nil when none comes again.
    static func time(of item: Item) -> String?

    /// Returns an item as a line for people, without its end.
    static func text(of item: Item, _ layout: inout StreamLayout) -> String

    /// Returns the origins that lines about some paths may have.
    static func origins(below paths: [String], in tree: TreeNode) -> [String]

    /// Whether an item is about one of some paths, where the operation takes one path alone.
    static func isAbout(_ item: Item, _ paths: [String]) -> Bool
}

extension StreamCommand {
    static func unbounded(_ operation: ControlOperation) -> ControlOperation { operation }

    static func isAbout(_ item: Item, _ paths: [String]) -> Bool { true }

    static func origins(below paths: [String], in tree: TreeNode) -> [String] { [] }
}

extension StreamCommand {
    func run() async throws {
        let options = options.merged(over: root.options)
        let request = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) -> StreamRequest<Self> in
            let operation = try self.operation()
            let directory = try options.directory()
            var request = StreamRequest<Self>(directory: directory, isJSON: options.isJSON, follows: follow, operation: operation)
            guard !operation.operands.isEmpty else { return request }
            var client = try BlockingControlClient.connected(to: directory)
            let operations = try client.resolved(operation)
            let operands = operations.flatMap(\.operands)
            let tree = options.isJSON || isatty(STDOUT_FILENO) == 0 ? nil : try? client.tree()
            request.layout = StreamLayout(expecting: tree.map { Self.origins(below: operands, in: $0) } ?? [])
            // Of several paths the stream is that of all, from which theirs are taken.
            (request.operation, request.paths) = operations.count == 1 ? (operations[0], []) : (Self.unbounded(operation), operands)
            return request
        }
        let failure = await request.failure()
        try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in if let failure { throw failure } }
    }
}

/// A stream on a connection of its own, or on several one after the other.
struct StreamRequest<Command: StreamCommand>: Sendable {
    /// The time between two attempts to reach the next daemon.
    private static var interval: Duration { .milliseconds(500) }
    /// The same while another program takes the daemon's place.
    private static var upgradeInterval: Duration { .milliseconds(20) }
    /// The time that a daemon may take to close the connection after its last answer, also on a busy machine.
    private static var farewell: Duration { .seconds(2) }

    let directory: RuntimeDirectory
    let isJSON: Bool
    let follows: Bool
    var operation: ControlOperation
    /// The paths of which items are printed; empty: all.
    var paths: [String] = []
    /// The layout of the first line.
    var layout = StreamLayout()

    /// Prints the stream to its end.
    ///
    /// - Returns: the failure, if it ends with one.
    @concurrent func failure() async -> ControlError? {
        var position = Position(layout: layout)
        var began: Int64?
        var isAnother = false
        while true {
            var connected: ControlClient?
            defer { connected?.close() }
            do throws(ControlError) {
                let client = try await ControlClient.connect(runtimeDirectory: directory)
                connected = client
                position.note(presenceOf: Self.daemon)
                position.hasConnected = true
                position.resume()
                let next =
                    if let last = position.last {
                        Command.operation(operation, after: last)
                    } else {
                        began.map { Command.operation(operation, begunAt: $0, byAnother: isAnother) } ?? operation
                    }
                began = began ?? Timestamp.nowMicroseconds / 1000
                _ = try await client.stream(next) { json throws(ControlError) in
                    try print(json, &position)
                }
                return nil
            } catch {
                if position.isClosed { return nil }
                let provesAbsence = error.code.provesAbsence
                let isAbsence = provesAbsence || [.unreachable, .timedOut].contains(error.code) || isAbsenceOfNode(error, position)
                guard follows, position.hasConnected, isAbsence else { return error }
                if provesAbsence {
                    // The stream goes on in a moment, without a word: nothing is missing.
                    try? await Task.sleep(for: Self.upgradeInterval)
                    continue
                }
                let isDaemon = await hasDaemonEnded(connected, within: position.isGone(node) ? .zero : Self.farewell)
                isAnother = isAnother || isDaemon
                position.note(absenceOf: isDaemon ? Self.daemon : node)
            }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Returns whether the daemon is gone, rather than a node from which it had the stream: one that stops says so before it closes the connection.
    private func hasDaemonEnded(_ connected: ControlClient?, within farewell: Duration) async -> Bool {
        guard let connected else { return true }
        let limit = MonotonicTime.now + farewell
        while !connected.hasEnded, MonotonicTime.now < limit { try? await Task.sleep(for: Self.upgradeInterval) }
        return connected.hasEnded
    }

    private static var daemon: String { "the daemon" }

    /// The node from which the daemon gets the stream, if it isn't its own.
    private var node: String { (operation.content as? ControlOperation.OnNode)?.node ?? "the node that has it" }

    /// Whether a stream of another node has ended because that has left the cluster, into which it may come back.
    private func isAbsenceOfNode(_ error: ControlError, _ position: Position) -> Bool {
        guard operation.content is ControlOperation.OnNode, error.code == .noSuchPath else { return false }
        return position.last != nil || position.isGone(node)
    }

    private struct Position {
        /// The layout of the next line.
        var layout: StreamLayout
        var last: Command.Item?
        /// The number of items that were printed with the time of the last one.
        private var count = 0
        /// The items that come again: those before a time, and the first ones with it.
        private var repeated: (time: String, count: Int)?
        var hasConnected = false
        /// The daemon, or the node, that is gone and has been reported as gone.
        private var absent: Set<String> = []
        /// Whether what reads standard output has closed it.
        var isClosed = false

        init(layout: StreamLayout) { self.layout = layout }

        /// Expects the items of a new connection, which may begin with items that were printed.
        mutating func resume() {
            repeated = last.flatMap { Command.time(of: $0) }.map { ($0, count) }
        }

        /// Whether it was reported that a daemon or a node is gone.
        func isGone(_ subject: String) -> Bool { absent.contains(subject) }

        /// Takes note that a daemon or a node is gone, and says so once.
        mutating func note(absenceOf subject: String) {
            guard absent.insert(subject).inserted else { return }
            Terminal.printError("coordinatorctl: \(subject) is gone; waiting until it's back\n")
        }

        /// Takes note that a daemon or a node answers, and says so if it was gone.
        mutating func note(presenceOf subject: String) {
            guard absent.remove(subject) != nil else { return }
            Terminal.printError("coordinatorctl: \(subject) answers again\n")
        }

        /// Notes the next item.
        ///
        /// - Returns: whether it wasn't printed before.
        mutating func takes(_ item: Command.Item) -> Bool {
            let time = Command.time(of: item)
            if let time, let repeated {
                if time < repeated.time { return false }
                if time == repeated.time, repeated.count > 0 {
                    self.repeated?.count -= 1
                    return false
                }
            }
            count = last.flatMap { Command.time(of: $0) } == time ? count + 1 : 1
            last = item
            return true
        }
    }

    private func print(_ json: JSONValue, _ position: inout Position) throws(ControlError) {
        let item = try ControlJSON.decode(Command.Item.self, from: json)
        position.note(presenceOf: node)
        guard position.takes(item), paths.isEmpty || Command.isAbout(item, paths) else { return }
        let line = isJSON ? try ControlJSON.text(of: json) : Command.text(of: item, &position.layout)
        guard let error = Terminal.write(line + "\n", to: STDOUT_FILENO) else { return }
        position.isClosed = error == EPIPE
        throw ControlError(.failed, "the result can't be written: \(String(cString: strerror(error)))")
    }
}

/// The time from which on an operator wants to see something: a time, or a duration before now.
enum Since {
    /// - Returns: milliseconds since 1970.
    static func milliseconds(_ text: String?) throws(ControlError) -> Int64? {
        guard let text else { return nil }
        if let duration = Duration(configurationText: text) { return Timestamp.nowMicroseconds / 1000 - Int64(duration / .milliseconds(1)) }
        if let time = Timestamp.microseconds(of: text) { return time / 1000 }
        throw ControlError(
            .invalidRequest,
            "'\(text)' is neither a duration such as 10m nor a time such as 2026-11-22T20:41:00Z; give one of them"
        )
    }
}
