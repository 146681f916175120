import WireProtocol

extension Node {
    /// Ends a message that no coordinator up to the root responds to, and reports it to the root.
    func endUnhandled(_ envelope: Envelope) {
        envelope.end(.failure(unhandled(envelope.body.name, of: envelope.sender)))
    }

    /// Reports a message that no coordinator up to the root responds to.
    ///
    /// - Returns: The error for the message's sender.
    func unhandled(_ name: String, of sender: CoordinatorPath) -> CoordinatorError {
        let message = UnhandledMessage(name: name, sender: sender)
        if let upward = runtime.unhandled { upward.add(UnhandledReport(messages: [message])) } else { root.observeUnhandled(message) }
        return CoordinatorError(unhandled: message)
    }

    /// Has this coordinator, which is the root of the tree, observe a message, unless it's known to have no hook for that.
    private func observeUnhandled(_ message: UnhandledMessage) {
        if !type.lacks(.unhandled) { post(.unhandled(message)) }
    }

    /// Reports messages that no coordinator up to the root responded to: to the root's hook, in whichever process the root is.
    func reportUnhandled(_ report: UnhandledReport) {
        if let upward = runtime.unhandled { return upward.add(report) }
        var bounded = UnhandledReport()
        bounded.add(report)
        let root = root
        for message in bounded.messages { root.observeUnhandled(message) }
    }

    /// The topmost coordinator of this process.
    private var root: Node {
        var node = self
        while let parent = node.parent { node = parent }
        return node
    }
}

extension Node {
    /// Records a message from another process that wants no answer, and can't be handled.
    func recordLoss(of envelope: Envelope, because error: any Error) {
        guard !envelope.isBuiltin else { return }
        let code = (error as? CoordinatorError)?.code
        let hasStopped = code == .stopped || code == .draining
        let reason: DeadLetter.Reason = hasStopped ? .stopped : .undeliverable("\(error)")
        for _ in 0..<envelope.count {
            runtime.deadLetters.record(DeadLetter(name: envelope.body.name, sender: envelope.sender, target: path, reason: reason))
        }
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

    func stranger(to path: CoordinatorPath) -> String? { nil }

    /// The report as that of a worker: a message whose sender isn't below it has climbed from the worker all the same.
    func climbed(from path: CoordinatorPath) -> UnhandledReport {
        UnhandledReport(messages: messages.map { $0.sender.isWithin(path) ? $0 : UnhandledMessage(name: $0.name, sender: path) })
    }

    mutating func add(_ other: UnhandledReport) {
        messages += other.messages.prefix(Self.limit - messages.count).map {
            UnhandledMessage(name: $0.name.shortened, sender: $0.sender.shortened)
        }
    }
}
