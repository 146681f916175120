package import ConcurrencySupport
import Glibc
package import Logging

/// The reports of processes that break the rules of their links: a few violations of each sender at once, and then their number, once in an
/// interval.
///
/// A hostile process breaks rules as often as it can: the log and the events have room for what others do all the same.
package final class Violations: Sendable {
    package struct Limit: Sendable {
        /// The number of violations of a sender that are told one by one.
        package var atOnce: Int
        /// The time between two entries about the others; a sender that has broken no rule in it begins anew.
        package var interval: Duration

        package init(atOnce: Int = 10, interval: Duration = .seconds(10)) { (self.atOnce, self.interval) = (atOnce, interval) }
    }

    /// Tells of a violation, and of the number of others of the same sender that nothing was told of.
    package typealias Tell = @Sendable (_ others: Int) -> Void

    private struct Sender {
        var told = 0
        var untold = 0
        var latest: Tell?
    }

    private let limit: Limit
    private let time: TimeSource
    /// Those that have broken a rule in the present interval.
    private let senders = Lock<[String: Sender]>([:])

    package init(_ limit: Limit, _ time: TimeSource) { (self.limit, self.time) = (limit, time) }

    /// Tells of a violation now, or counts it.
    package func report(by sender: String, _ tell: @escaping Tell) {
        let (isTold, isFirst) = senders.withLock { senders -> (Bool, Bool) in
            let isFirst = senders[sender] == nil
            var entry = senders[sender] ?? Sender()
            let isTold = entry.told < limit.atOnce
            if isTold { entry.told += 1 } else { (entry.untold, entry.latest) = (entry.untold + 1, tell) }
            senders[sender] = entry
            return (isTold, isFirst)
        }
        if isFirst { awaitEnd(of: sender) }
        if isTold { tell(0) }
    }

    /// The number of violations that were counted, and not told of yet.
    var untold: Int { senders.withLock { $0.values.reduce(0) { $0 + $1.untold } } }

    /// Tells of those that were counted and not told of.
    func tellRest() {
        let rest = senders.withLock { senders in
            defer { senders = [:] }
            return Array(senders.values)
        }
        for sender in rest { sender.latest?(sender.untold - 1) }
    }

    private func awaitEnd(of sender: String) {
        _ = time.schedule(at: time.now + limit.interval) { [weak self] in self?.endInterval(of: sender) }
    }

    private func endInterval(of sender: String) {
        let former = senders.withLock { senders -> Sender? in
            guard let former = senders.removeValue(forKey: sender), former.latest != nil else { return nil }
            senders[sender] = Sender(told: limit.atOnce)
            return former
        }
        guard let former else { return }
        awaitEnd(of: sender)
        former.latest?(former.untold - 1)
    }
}

extension Logger.Metadata {
    /// The metadata of an entry that stands for others too.
    package func counting(_ others: Int) -> Logger.Metadata { others == 0 ? self : merging(["unlogged": "\(others)"]) { $1 } }
}

extension String {
    /// The text of an event that stands for others too.
    package func counting(_ others: Int) -> String { others == 0 ? self : "\(self); and \(others) more since the event before" }
}

// MARK: - Messages without a log

/// The messages of a worker before its log exists, or after its end.
enum Diagnostics {
    static func print(_ message: String) {
        let line = Array("\(CommandLine.arguments.first ?? "worker")[\(getpid())]: \(message)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
