import ConcurrencySupport

/// A counter of all drops that keeps the latest ones; a worker sends its drops up to the root's process, so that they outlive the worker.
///
/// A drop isn't logged here: an overloaded coordinator may drop thousands in a second, so drops are counted. Two of them are faults of the
/// program, and the node that records the letter logs it too: a one-way message whose handler failed, and a page larger than a frame.
final class DeadLetters: Sendable {
    static let kept = 256

    private let instruments: Instruments
    private let observer: (@Sendable (DeadLetterReport) -> Void)?
    private let upward: UpwardReports<DeadLetterReport>?
    private let whole = Lock(DeadLetterReport())

    /// - Parameter observer: The function that gets all drops of this process and those below.
    init(instruments: Instruments, uplink: Uplink?, observer: (@Sendable (DeadLetterReport) -> Void)? = nil) {
        self.instruments = instruments
        self.observer = observer
        upward = uplink.map { UpwardReports($0, isPrompt: false) }
    }

    var report: DeadLetterReport { whole.withLock { $0 } }

    func record(_ letter: DeadLetter) {
        instruments.dropped(letter)
        add(DeadLetterReport(count: 1, letters: [letter]))
    }

    /// Adds drops of this process or of one below.
    func add(_ report: DeadLetterReport) {
        whole.withLock { $0.add(report) }
        observer?(report)
        upward?.add(report)
    }

    /// Sends the collected letters up, and returns when the link has them.
    func flush() async { await upward?.flushToEnd() }
}

extension DeadLetterReport: UpwardReport {
    static let notification = "coordinators.dead-letters"

    init() { self.init(count: 0, letters: []) }

    var isEmpty: Bool { count == 0 }

    func subjectOutside(of path: CoordinatorPath) -> String? { Self.subjectOutside(of: path, among: letters.lazy.map(\.target)) }

    /// Adds a report from another process, whose values aren't trusted.
    mutating func add(_ other: DeadLetterReport) {
        count = count.addingSaturating(other.count)
        letters += other.letters.suffix(DeadLetters.kept).map(\.shortened)
        if letters.count > DeadLetters.kept { letters.removeFirst(letters.count - DeadLetters.kept) }
    }
}

extension DeadLetter {
    /// The letter with its reason cut to a readable length.
    var shortened: DeadLetter {
        let reason: Reason =
            switch reason {
            case .handlerFailed(let error): .handlerFailed(error.shortened)
            case .undeliverable(let why): .undeliverable(why.shortened)
            case .mailboxFull, .observerTooSlow, .stopped, .poisoned: reason
            }
        return DeadLetter(name: name.shortened, sender: sender.shortened, target: target.shortened, reason: reason)
    }
}

/// A message or event that was dropped, and the reason.
public struct DeadLetter: Sendable, Hashable, Codable {
    /// The reason why the message or event was dropped.
    public enum Reason: Sendable, Hashable, Codable {
        /// The handler of a one-way message threw.
        case handlerFailed(String)
        /// The mailbox was full, and its policy dropped the message.
        case mailboxFull(MailboxPolicy.Overflow)
        /// An observer was too slow, and this was the oldest event that waited for it.
        case observerTooSlow
        /// The coordinator stopped before the message that it had taken was handled.
        case stopped
        /// The message couldn't be delivered; the text says why.
        case undeliverable(String)
        /// The members of a pool that handled the message have died, as often as a message may cause that.
        case poisoned
    }

    /// The name of the message or event.
    public let name: String
    /// The coordinator that sent it.
    public let sender: CoordinatorPath
    /// The coordinator that it was sent to.
    public let target: CoordinatorPath
    /// The reason why the message or event was dropped.
    public let reason: Reason

    init(name: String, sender: CoordinatorPath, target: CoordinatorPath, reason: Reason) {
        self.name = name
        self.sender = sender
        self.target = target
        self.reason = reason
    }
}

extension DeadLetter.Reason: CustomStringConvertible {
    /// The reason in words.
    public var description: String {
        switch self {
        case .handlerFailed(let error): "the handler failed: \(error)"
        case .mailboxFull(let overflow): "the mailbox was full (\(overflow.rawValue))"
        case .observerTooSlow: "the observer was too slow"
        case .stopped: "the coordinator stopped before it was handled"
        case .undeliverable(let why): "undeliverable: \(why)"
        case .poisoned: "each member of the pool that handled it has died"
        }
    }
}

/// The messages and events that were dropped in a whole tree.
public struct DeadLetterReport: Sendable, Hashable, Codable {
    /// The number of drops since the tree was started.
    public internal(set) var count: UInt64
    /// The latest dropped messages and events, oldest first: at most 256.
    public internal(set) var letters: [DeadLetter]
}
