import ConcurrencySupport

/// The token that etcd has given a user; it lives for some minutes, and is asked for anew when etcd doesn't take it any more.
final class EtcdToken: Sendable {
    struct Known: Sendable {
        /// The token; `nil`: this etcd has no users.
        let text: String?
    }

    let form: EtcdForms.Credentials
    private let state = Lock<Known?>(nil)

    init(_ credentials: EtcdOptions.Credentials) {
        form = EtcdForms.Credentials(name: credentials.user, password: credentials.password)
    }

    var known: Known? { state.withLock { $0 } }

    func keep(_ text: String?) { state.withLock { $0 = Known(text: text) } }

    func forget() { state.withLock { $0 = nil } }
}
