import ConcurrencySupport

/// The token that etcd has given a user; it lives for some minutes, and is asked for anew when etcd doesn't take it any more.
///
/// etcd computes for a tenth of a second before it gives one (bcrypt), also for those that have stopped waiting. Therefore all that need a token wait
/// for the same login, which goes on when they give up: on an overloaded machine each would otherwise begin one that none of them waits for long
/// enough, and so take etcd the time for the others.
final class EtcdToken: Sendable {
    /// What a login gives: the token, or `nil` when this etcd has no users.
    typealias Outcome = Result<String?, EtcdFault>

    private struct State {
        var form: EtcdForms.Credentials
        var known: String??
        /// The logins that are under way, by the members that are asked.
        var logins: [Int: (task: Task<Void, Never>, outcome: OneShot<Outcome>)] = [:]
    }

    /// The longest time that a login goes on, also when nothing waits for it.
    static let limit = Duration.seconds(15)

    private let state: Lock<State>

    init(_ credentials: EtcdOptions.Credentials) {
        state = Lock(State(form: EtcdForms.Credentials(name: credentials.user, password: credentials.password)))
    }

    /// Returns the token, or waits for the login to a member, which is begun when none is under way.
    ///
    /// - Throws: ``EtcdFault/late`` when the time comes first; the login goes on.
    func text(
        at member: Int,
        before limit: ContinuousClock.Instant,
        _ login: @escaping @Sendable (EtcdForms.Credentials) async -> Outcome
    ) async throws(EtcdFault) -> String? {
        let (known, outcome) = state.withLock { state -> (String??, OneShot<Outcome>) in
            if let outcome = state.logins[member]?.outcome { return (state.known, outcome) }
            let outcome = OneShot<Outcome>()
            guard state.known == nil else { return (state.known, outcome) }
            let form = state.form
            let task = Task { self.end(member, outcome, await login(form)) }
            state.logins[member] = (task, outcome)
            return (nil, outcome)
        }
        if let known { return known }
        let result = try await within(limit) { await outcome.valueUnlessCancelled() }
        guard let result else { throw .cancelled }
        return try result.get()
    }

    private func end(_ member: Int, _ outcome: OneShot<Outcome>, _ result: Outcome) {
        state.withLock { state in
            state.logins[member] = nil
            if case .success(let text) = result { state.known = .some(text) }
        }
        outcome.settle(result)
    }

    /// The next request needs a new token, unless there is another one already than that which etcd didn't take.
    func forget(_ text: String?) {
        state.withLock { state in
            if state.known == .some(text) { state.known = nil }
        }
    }

    func forget() { state.withLock { $0.known = nil } }

    /// Uses another password for the next token; the present one serves until etcd doesn't take it any more.
    func use(password: String) { state.withLock { $0.form = EtcdForms.Credentials(name: $0.form.name, password: password) } }

    /// Ends the logins that are under way.
    func cancel() {
        for login in state.withLock({ $0.logins.values.map(\.task) }) { login.cancel() }
    }
}
