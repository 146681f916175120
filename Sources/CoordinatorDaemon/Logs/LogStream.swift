import ConcurrencySupport
import Control
import Coordinators
import WireProtocol

extension ChildLogs {
    /// The time for which lines are collected before a follower gets them.
    private static let followInterval = Duration.milliseconds(20)

    /// Sends the lines that a query asks for.
    func send(_ query: LogQuery, to items: ItemWriter) async throws(ControlError) -> JSONValue {
        var paths: [CoordinatorPath] = []
        for text in query.paths { paths.append(try CoordinatorPath(operand: text)) }
        let places = try places(below: paths)
        guard places.isEmpty || places.contains(where: { $0.file != nil }) else {
            let paths = places.map(\.path).joined(separator: ", ")
            throw ControlError(.failed, "the output of \(paths) isn't kept in a file, by the configuration")
        }
        let reader = Reader()
        try await Self.offPool(reader) { reader throws(ControlError) in try reader.open(places, query) }
        while true {
            // Taken before the reading: what is written during it is read in the next round.
            let written = written
            let lines = try await Self.offPool(reader) { reader throws(ControlError) in try reader.page() }
            if !lines.isEmpty {
                try await items.send(lines)
                continue
            }
            guard query.follows else { return [:] }
            try await Self.wait(for: written)
            let present = try self.places(below: paths)
            try reader.add(present)
        }
    }

    private static func wait(for written: OneShot<Void>) async throws(ControlError) {
        // A file may be rotated or written by another program too.
        let isCancelled = await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await written.valueUnlessCancelled() }
            group.addTask { try? await Task.sleep(for: .seconds(1)) }
            await group.next()
            group.cancelAll()
            return Task.isCancelled
        }
        try? await Task.sleep(for: followInterval)
        if isCancelled || Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled") }
    }

    /// Runs a function that reads files where it may block.
    private static func offPool<Value: Sendable>(
        _ reader: Reader,
        _ body: @escaping @Sendable (Reader) throws(ControlError) -> Value
    ) async throws(ControlError) -> Value {
        let result: Result<Value, ControlError>
        do throws(BlockingCalls.Failure) {
            result = try await BlockingCalls.shared.run("logs for \(ObjectIdentifier(reader))") { () -> Result<Value, ControlError> in
                do throws(ControlError) { return .success(try body(reader)) } catch { return .failure(error) }
            }
        } catch {
            switch error {
            case .hangs(let since): throw ControlError(.timedOut, "the logs can't be read: their file system hangs, since \(since)")
            case .cancelled: throw ControlError(.cancelled, "the request was cancelled")
            case .noThread:
                throw ControlError(.failed, "no thread can be made to read the logs; the machine is short of memory or threads")
            }
        }
        return try result.get()
    }

    /// The state of a reading, which one thread at a time uses.
    private final class Reader: Sendable {
        private let reading = Lock<LogReading?>(nil)

        func open(_ places: [Place], _ query: LogQuery) throws(ControlError) {
            let made = try LogReading(places, query)
            reading.withLock { $0 = made }
        }

        func add(_ places: [Place]) throws(ControlError) {
            _ = try reading.withLock { reading throws(ControlError) in try reading?.add(places) }
        }

        func page() throws(ControlError) -> [JSONValue] {
            try reading.withLock { reading throws(ControlError) in try reading?.page() ?? [] }
        }

        // A call that hangs has a reference.
        deinit { reading.withLock { $0?.close() } }
    }
}
