import ConcurrencySupport

/// The open asks of one coordinator that equal ones may join, because their messages coalesce.
final class SharedAsks: Sendable {
    private typealias Wait = OneShot<Result<Answer, any Error>>

    /// A message and its way.
    struct Key: Hashable, Sendable {
        private let message: any ResponderMessage
        /// The child that is asked; `nil`: the message climbs.
        private let child: String?

        /// - Throws: `unsupported` when messages of the type can't be compared.
        init<M: ResponderMessage>(_ message: M, child: String? = nil) throws(CoordinatorError) {
            guard message is any Hashable else {
                throw CoordinatorError(.unsupported, Self.refusal(of: M.self))
            }
            (self.message, self.child) = (message, child)
        }

        static func refusal(of message: any ResponderMessage.Type) -> String {
            "\(message.name) coalesces, and isn't Hashable: make it so"
        }

        private var value: AnyHashable? { (message as? any Hashable).map { Self.erased($0) } }

        private static func erased(_ value: some Hashable) -> AnyHashable { AnyHashable(value) }

        static func == (left: Key, right: Key) -> Bool { left.child == right.child && left.value == right.value }

        func hash(into hasher: inout Hasher) {
            hasher.combine(child)
            hasher.combine(value)
        }
    }

    private struct Ask {
        let number: UInt64
        var waits: [Wait]
        var task: Task<Void, Never>?
    }

    private struct State {
        var asks: [Key: Ask] = [:]
        var number: UInt64 = 0
    }

    private let time: TimeSource
    private let state = Lock(State())

    init(_ time: TimeSource) { self.time = time }

    /// Asks, or joins an equal ask that is open.
    ///
    /// An asker whose deadline is later than that of the ask that it has joined asks anew then.
    func answer(_ key: Key, by deadline: MonotonicTime, _ ask: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        let waiting = HandlerScope.current?.beginWait()
        defer { waiting?.end() }
        while true {
            try Task.checkCancellation()
            let wait = Wait()
            let number = join(key, wait)
            if let number { sendShared(key, number, ask) }
            let outcome = await withTaskCancellationHandler {
                await wait.value(before: deadline, of: time)
            } onCancel: {
                leave(key, wait)
                wait.settle(.failure(CancellationError()))
            }
            guard let outcome else {
                leave(key, wait)
                throw CoordinatorError(.timedOut, "a shared ask was not answered in time", maybeExecuted: true)
            }
            if number == nil, case .failure(let error as CoordinatorError) = outcome, error.code == .timedOut, time.now < deadline {
                continue
            }
            return try outcome.get()
        }
    }

    /// - Returns: The number of the ask that the caller must begin; `nil` if there is one.
    private func join(_ key: Key, _ wait: Wait) -> UInt64? {
        state.withLock { state in
            if state.asks[key] != nil {
                state.asks[key]?.waits.append(wait)
                return nil
            }
            state.number += 1
            state.asks[key] = Ask(number: state.number, waits: [wait])
            return state.number
        }
    }

    private func sendShared(_ key: Key, _ number: UInt64, _ ask: @escaping @Sendable () async throws -> Answer) {
        // The ask is no part of the handler that begins it, which may end before others that have joined it.
        let task = HandlerScope.perform(in: nil) {
            Task.immediate(executorPreference: time.executor) {
                let outcome: Result<Answer, any Error>
                do { outcome = .success(try await ask()) } catch { outcome = .failure(error) }
                for wait in self.remove(key, number)?.waits ?? [] { wait.settle(outcome) }
            }
        }
        let isOpen = state.withLock { state in
            guard state.asks[key]?.number == number else { return false }
            state.asks[key]?.task = task
            return true
        }
        if !isOpen { task.cancel() }
    }

    private func remove(_ key: Key, _ number: UInt64) -> Ask? {
        state.withLock { $0.asks[key]?.number == number ? $0.asks.removeValue(forKey: key) : nil }
    }

    /// Takes an asker out; the ask is cancelled with its last one.
    private func leave(_ key: Key, _ wait: Wait) {
        let abandoned = state.withLock { state -> Ask? in
            guard let index = state.asks[key]?.waits.firstIndex(where: { $0 === wait }) else { return nil }
            state.asks[key]?.waits.remove(at: index)
            return state.asks[key]?.waits.isEmpty == true ? state.asks.removeValue(forKey: key) : nil
        }
        abandoned?.task?.cancel()
    }
}
