import ConcurrencySupport
import Control

/// The latest asks that were traced by way of this console.
///
/// The replies aren't kept: what messages carry is none of the console's business.
final class TraceShelf: Sendable {
    /// One ask.
    struct Entry: Codable, Sendable {
        var time: String
        var path: String
        var message: String
        var trace: TraceResult
    }

    private static let capacity = 64

    private let entries = Lock<[Entry]>([])

    /// Adds an ask; one that is there already, since a requester has repeated it, stays where it is.
    func add(_ trace: TraceResult, asked path: String, message: String) {
        var trace = trace
        trace.reply = nil
        let entry = Entry(time: Timestamp.now, path: path, message: message, trace: trace)
        entries.withLock { entries in
            guard !entries.contains(where: { $0.trace.trace == entry.trace.trace }) else { return }
            entries.append(entry)
            if entries.count > Self.capacity { entries.removeFirst() }
        }
    }

    /// Returns the asks that a path has sent or handled, or all of them; the latest first.
    func latest(of path: String?) -> [Entry] {
        let all = entries.withLock { $0 }
        return all.reversed().filter { entry in
            path == nil || entry.path == path || entry.trace.hops.contains { $0.path == path }
        }
    }
}
