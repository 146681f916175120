import ConcurrencySupport

/// The members of etcd, of which one is used until it fails.
final class EtcdEndpoints: Sendable {
    /// The use of one member, until it fails.
    final class Endpoint: Sendable {
        let address: String
        let index: Int
        /// Settled when a request to this member has failed, for those that would wait for it in vain.
        let failure = OneShot<Void>()

        init(address: String, index: Int) { (self.address, self.index) = (address, index) }
    }

    private let addresses: [String]
    private let state: Lock<Endpoint>

    init(_ addresses: [String]) throws(StoreError) {
        self.addresses = addresses.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        for address in self.addresses where !Self.isEndpoint(address) {
            throw StoreError(
                code: .unusable,
                message: "\"\(address)\" isn't an endpoint of etcd. Write https://HOST:PORT or http://HOST:PORT."
            )
        }
        guard let first = self.addresses.first else {
            throw StoreError(code: .unusable, message: "There is no endpoint of etcd. Name one, such as https://10.0.0.1:2379.")
        }
        state = Lock(Endpoint(address: first, index: 0))
    }

    private static func isEndpoint(_ address: String) -> Bool {
        for scheme in ["http://", "https://"] where address.hasPrefix(scheme) {
            let host = address.dropFirst(scheme.count)
            return !host.isEmpty && !host.contains("/") && !host.contains(" ")
        }
        return false
    }

    var current: Endpoint { state.withLock { $0 } }

    /// Goes on to the next member, unless another request has done so already.
    func fail(_ endpoint: Endpoint) {
        state.withLock { current in
            guard current === endpoint else { return }
            let next = (endpoint.index + 1) % addresses.count
            current = Endpoint(address: addresses[next], index: next)
        }
        endpoint.failure.settle()
    }
}
