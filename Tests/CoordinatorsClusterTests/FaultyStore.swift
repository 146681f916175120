import ConcurrencySupport
import CoordinatorsCluster
import TestSupport

/// A store whose tries fail at random: refused before they have an effect, without an answer after it, or late.
final class FaultyStore<Base: RevisionedStore>: RevisionedStore {
    private enum Fault {
        case refusal, lostAnswer, delay, none
    }

    let tryLimit = Duration.milliseconds(500)
    private let base: Base
    private let generator: Lock<SeededGenerator>
    private let share: Int

    /// - Parameter share: The percentage of tries that fail, in each of the three ways.
    init(_ base: Base, share: Int = 15, seed: UInt64 = .random(in: .min ... .max), test: String = #function) {
        (self.base, self.share) = (base, share)
        generator = Lock(SeededGenerator(seed: seed, test))
    }

    private func drawn() -> Fault {
        let number = generator.withLock { Int.random(in: 0..<100, using: &$0) }
        return number < share ? .refusal : number < 2 * share ? .lostAnswer : number < 3 * share ? .delay : .none
    }

    private func fail<Answer>(_ call: () async throws(StoreError) -> Answer) async throws(StoreError) -> Answer {
        switch drawn() {
        case .refusal: throw StoreError(code: .unavailable, message: "refused on purpose")
        case .lostAnswer:
            _ = try await call()
            throw StoreError(code: .timedOut, message: "lost on purpose", mayHaveHappened: true)
        case .delay:
            try? await realTime(.milliseconds(20), because: "a network is slow")
            return try await call()
        case .none: return try await call()
        }
    }

    func grant(_ id: LeaseIdentifier, timeToLive: Duration, before limit: ContinuousClock.Instant) async throws(StoreError) -> Duration? {
        try await fail { () async throws(StoreError) in try await base.grant(id, timeToLive: timeToLive, before: limit) }
    }

    func keepAlive(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) async throws(StoreError) -> Duration? {
        try await fail { () async throws(StoreError) in try await base.keepAlive(id, before: limit) }
    }

    func revoke(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) async throws(StoreError) {
        try await fail { () async throws(StoreError) in try await base.revoke(id, before: limit) }
    }

    func commit(_ transaction: Transaction, before limit: ContinuousClock.Instant) async throws(StoreError) -> TransactionResult {
        try await fail { () async throws(StoreError) in try await base.commit(transaction, before: limit) }
    }

    func read(_ range: StoreRange, before limit: ContinuousClock.Instant) async throws(StoreError) -> StoreListing {
        try await fail { () async throws(StoreError) in try await base.read(range, before: limit) }
    }

    func watch(_ range: StoreRange, after revision: StoreRevision) -> StoreWatch { base.watch(range, after: revision) }
}

/// A store that loses a transaction on its way, and can deliver it later, as a network may do; and whose answers take their time.
final class ForgetfulStore: RevisionedStore {
    private struct State {
        var losesNext = false
        var lost: Transaction?
        var unanswered: StoreKey?
    }

    let tryLimit = Duration.seconds(1)
    private let base: LocalStore
    /// The time that the answer to a renewal takes.
    private let answerDelay: Duration
    private let state = Lock(State())

    init(_ base: LocalStore, answerDelay: Duration = .zero) { (self.base, self.answerDelay) = (base, answerDelay) }

    /// The next transaction gets no answer, and can be carried out later.
    func loseNextTransaction() { state.withLock { $0.losesNext = true } }

    /// What is written to a key from now on is carried out, and gets no answer.
    func loseAnswers(of key: StoreKey) { state.withLock { $0.unanswered = key } }

    /// Carries the lost transaction out.
    func deliverLostTransaction() async throws -> TransactionResult? {
        guard let lost = state.withLock({ $0.lost }) else { return nil }
        return try await base.commit(lost, before: soon)
    }

    func commit(_ transaction: Transaction, before limit: ContinuousClock.Instant) async throws(StoreError) -> TransactionResult {
        let isLost = state.withLock { state in
            defer { state.losesNext = false }
            if state.losesNext { state.lost = transaction }
            return state.losesNext
        }
        guard !isLost else { throw StoreError(code: .timedOut, message: "lost on purpose", mayHaveHappened: true) }
        let result = try await base.commit(transaction, before: limit)
        if case .put = transaction.write, state.withLock({ $0.unanswered == transaction.key }) {
            // No try follows by itself.
            throw StoreError(code: .refused, message: "lost on purpose", mayHaveHappened: true)
        }
        return result
    }

    func grant(_ id: LeaseIdentifier, timeToLive: Duration, before limit: ContinuousClock.Instant) async throws(StoreError) -> Duration? {
        try await base.grant(id, timeToLive: timeToLive, before: limit)
    }

    func keepAlive(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) async throws(StoreError) -> Duration? {
        let answer = try await base.keepAlive(id, before: limit)
        try? await realTime(answerDelay, because: "a network is slow")
        return answer
    }

    func revoke(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) async throws(StoreError) {
        try await base.revoke(id, before: limit)
    }

    func read(_ range: StoreRange, before limit: ContinuousClock.Instant) async throws(StoreError) -> StoreListing {
        try await base.read(range, before: limit)
    }

    func watch(_ range: StoreRange, after revision: StoreRevision) -> StoreWatch { base.watch(range, after: revision) }
}
