import WireProtocol

extension Node {
    /// Ends a message that no coordinator up to the root responds to, and reports it to the root.
    func endUnhandled(_ envelope: Envelope) {
        let message = UnhandledMessage(name: envelope.body.name, sender: envelope.sender)
        if let upward = runtime.unhandled { upward.add(UnhandledReport(messages: [message])) } else { root.post(.unhandled(message)) }
        let text = "nobody from \(envelope.sender) up to \(CoordinatorPath.root) responds to \(message.name)"
        envelope.end(.failure(CoordinatorError(.unhandled, text)))
    }

    /// Reports messages that no coordinator up to the root responded to: to the root's hook, in whichever process the root is.
    func reportUnhandled(_ report: UnhandledReport) {
        if let upward = runtime.unhandled { return upward.add(report) }
        var bounded = UnhandledReport()
        bounded.add(report)
        for message in bounded.messages { root.post(.unhandled(message)) }
    }

    /// The topmost coordinator of this process.
    private var root: Node { sequence(first: self, next: \.parent).reduce(self) { $1 } }
}

extension Node {
    /// Records a message from another process that wants no answer, and can't be handled.
    func recordLoss(of envelope: Envelope, because error: any Error) {
        guard !envelope.isBuiltin else { return }
        let hasStopped = (error as? CoordinatorError)?.code == .stopped
        let reason: DeadLetter.Reason = hasStopped ? .stopped : .undeliverable("\(error)")
        runtime.deadLetters.record(DeadLetter(name: envelope.body.name, sender: envelope.sender, target: path, reason: reason))
    }
}

/// The messages that no coordinator responded to within a moment.
struct UnhandledReport: UpwardReport {
    /// The number of messages that are reported at a time; further ones are only failed.
    static let limit = 256
    static let notification = "coordinators.unhandled"

    private(set) var messages: [UnhandledMessage]

    init() { messages = [] }

    init(messages: [UnhandledMessage]) { self.messages = messages }

    var isEmpty: Bool { messages.isEmpty }

    mutating func add(_ other: UnhandledReport) {
        messages += other.messages.prefix(Self.limit - messages.count).map {
            UnhandledMessage(name: $0.name.shortened, sender: $0.sender.shortened)
        }
    }
}
