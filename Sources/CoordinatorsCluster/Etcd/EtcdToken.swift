import ConcurrencySupport

/// The token that etcd has given a user; it lives for some minutes, and is asked for anew when etcd doesn't take it any more.
final class EtcdToken: Sendable {
    struct Known: Sendable {
        /// The token; `nil`: this etcd has no users.
        let text: String?
    }

    private let state: Lock<(form: EtcdForms.Credentials, known: Known?)>

    init(_ credentials: EtcdOptions.Credentials) {
        state = Lock((EtcdForms.Credentials(name: credentials.user, password: credentials.password), nil))
    }

    var form: EtcdForms.Credentials { state.withLock { $0.form } }

    var known: Known? { state.withLock { $0.known } }

    func keep(_ text: String?) { state.withLock { $0.known = Known(text: text) } }

    func forget() { state.withLock { $0.known = nil } }

    /// Uses another password for the next token; the present one serves until etcd doesn't take it any more.
    func use(password: String) { state.withLock { $0.form = EtcdForms.Credentials(name: $0.form.name, password: password) } }
}
