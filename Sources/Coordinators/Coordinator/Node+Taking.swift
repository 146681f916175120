import Acknowledgement
import ConcurrencySupport

extension Node {
    /// Returns the message that is handled for an acknowledged message from another process; `nil` if the message was taken before, or may
    /// have been handled.
    ///
    /// Every arrival of the message gets the end of the one that is handled.
    func take(_ arrival: Envelope, _ delivery: AcknowledgedDelivery) -> Envelope? {
        let taking = state.withLock { state -> Taking in
            if let taking = state.extras.taking { return taking }
            let taking = Taking(since: born)
            state.extras.taking = taking
            return taking
        }
        switch taking.admit(arrival, delivery.label) {
        case .new(let message): return message
        case .known: return nil
        case .uncertain:
            let text = "\(arrival.body.name) comes to \(path) a second time, and a former life of it may have handled the first"
            arrival.end(.failure(CoordinatorError(.peerLost, text, maybeExecuted: true)))
            return nil
        }
    }
}

/// The acknowledged messages from other processes that a coordinator has taken.
final class Taking: Sendable {
    /// The decision about an arrival.
    enum Admission {
        /// This is to be handled.
        case new(Envelope)
        /// The message was taken before, and the arrival gets its end.
        case known
        case uncertain
    }

    private let messages: Lock<TakenMessages<TakenMessage>>

    init(since birth: MonotonicTime) { messages = Lock(TakenMessages(since: birth.sinceOrigin, limit: CreditWindow.link.messages)) }

    func admit(_ arrival: Envelope, _ label: DeliveryLabel) -> Admission {
        let new = TakenMessage(label, of: self)
        let admission = messages.withLock { $0.admit(label, now: MonotonicTime.now.sinceOrigin) { new } }
        switch admission {
        case .new: return .new(new.begin(for: arrival))
        case .known(let taken):
            taken.join(arrival)
            return .known
        case .uncertain: return .uncertain
        }
    }

    fileprivate func ended(_ label: DeliveryLabel) {
        messages.withLock { $0.ended(label, now: MonotonicTime.now.sinceOrigin) }
    }
}

/// A message that a coordinator handles once, for every arrival of it.
final class TakenMessage: Sendable {
    private enum State {
        /// The handler hasn't ended; the arrivals wait for that. The message itself is known once the first arrival is.
        /// Can transition to: ended.
        case open(Taking, message: Envelope?, arrivals: [Envelope])
        /// The end, which a later arrival gets too.
        case ended(Result<Answer, any Error>)
    }

    private let label: DeliveryLabel
    private let state: Lock<State>

    init(_ label: DeliveryLabel, of taking: Taking) {
        self.label = label
        state = Lock(State.open(taking, message: nil, arrivals: []))
    }

    /// Returns the message that is handled, in the place of its first arrival.
    fileprivate func begin(for arrival: Envelope) -> Envelope {
        let message = Envelope(
            arrival.body,
            asker: .taken(self),
            sender: arrival.sender,
            deadline: arrival.deadline,
            trace: arrival.trace,
            isBuiltin: false,
            lingers: arrival.lingers
        )
        let early = state.withLock { state -> [Envelope] in
            guard case .open(let taking, _, let arrivals) = state else { return [] }
            state = .open(taking, message: message, arrivals: arrivals + [arrival])
            return arrivals
        }
        for arrival in early + [arrival] { Self.bind(message, to: arrival) }
        return message
    }

    /// Gives a later arrival the message's end, now or when it comes.
    fileprivate func join(_ arrival: Envelope) {
        // It takes no room here.
        arrival.release()
        let (message, result) = state.withLock { state -> (Envelope?, Result<Answer, any Error>?) in
            switch state {
            case .ended(let result): return (nil, result)
            case .open(let taking, let message, let arrivals):
                state = .open(taking, message: message, arrivals: arrivals + [arrival])
                return (message, nil)
            }
        }
        if let message { Self.bind(message, to: arrival) }
        if let result { arrival.complete(result) }
    }

    /// Has the message end when the sender gives an arrival up.
    private static func bind(_ message: Envelope, to arrival: Envelope) {
        let deadline = arrival.deadline
        arrival.work(
            .function {
                // Every other arrival gets the error that this one has got.
                if let deadline, deadline <= .now { message.timeOut() } else { message.cancel() }
            }
        )
    }

    /// Notes that the message isn't under way any more.
    func release() { for arrival in arrivals { arrival.release() } }

    /// Notes that the message's handler begins, for every arrival.
    ///
    /// - Returns: False when all arrivals were withdrawn.
    func begin() -> Bool { arrivals.count { $0.begin() } > 0 }

    private var arrivals: [Envelope] {
        state.withLock { state in
            if case .open(_, _, let arrivals) = state { arrivals } else { [] }
        }
    }

    /// Ends the message for every arrival, and keeps the end for later ones.
    func end(_ result: Result<Answer, any Error>) {
        let former = state.withLock { state -> (taking: Taking, arrivals: [Envelope])? in
            guard case .open(let taking, _, let arrivals) = state else { return nil }
            state = .ended(result)
            return (taking, arrivals)
        }
        guard let former else { return }
        former.taking.ended(label)
        for arrival in former.arrivals { arrival.complete(result) }
    }
}
