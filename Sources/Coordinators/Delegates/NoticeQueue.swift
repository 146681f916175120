/// The notices that wait for one observer: at most 256, then the oldest goes to the dead letters.
final class NoticeQueue: Sendable {
    static let capacity = 256

    let notices: AsyncStream<ChildObservers.Notice>
    private let continuation: AsyncStream<ChildObservers.Notice>.Continuation
    private let path: CoordinatorPath
    private let deadLetters: DeadLetters

    init(of path: CoordinatorPath, deadLetters: DeadLetters) {
        self.path = path
        self.deadLetters = deadLetters
        (notices, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.capacity))
    }

    func append(_ notice: ChildObservers.Notice) {
        if case .dropped(let dropped) = continuation.yield(notice) { record(dropped, .observerTooSlow) }
    }

    func finish() { continuation.finish() }

    /// The event as the observer wants it; one that is none goes to the dead letters.
    func decoded<Event: Codable & Sendable>(_ event: Answer, as type: Event.Type) -> Event? {
        do {
            return try event.decoded(as: type)
        } catch {
            record(.event(event), .undeliverable("\(error)"))
            return nil
        }
    }

    private func record(_ notice: ChildObservers.Notice, _ reason: DeadLetter.Reason) {
        let name = if case .change(let change) = notice { "\(change)" } else { "event" }
        deadLetters.record(DeadLetter(name: name, sender: path, target: path, reason: reason))
    }
}
