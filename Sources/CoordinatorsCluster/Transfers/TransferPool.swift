import CCurl
import ConcurrencySupport

/// The connections of one client.
///
/// A connection that was made with other certificates than those in use isn't used for another request: the next one begins on a new thread with
/// new connections, and the former thread ends with the last answer that it's still reading.
final class TransferPool: Sendable {
    private struct State {
        /// The certificates; `nil`: connections aren't encrypted.
        var files: TransferFiles?
        /// The thread whose connections were made with these certificates.
        var thread: TransferThread?
        /// The threads before it, which may have ended.
        var former: [TransferThread] = []
        var isClosed = false
    }

    /// Why libcurl, which is loaded by the first use of this, can't be used; `nil`: it can.
    private static let libraryProblem: String? = {
        var reason = [CChar](repeating: 0, count: 1000)
        if coordinator_curl_load(&reason, reason.count) == 1 { return nil }
        return String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    private let state: Lock<State>

    /// - Parameter certificates: The certificates; `nil`: connections aren't encrypted.
    init(_ certificates: EtcdCertificates?) throws(StoreError) {
        if let problem = Self.libraryProblem {
            throw StoreError(
                code: .unusable,
                message: "Could not load libcurl, by which etcd is spoken with: \(problem). Install it: apt-get install libcurl4"
            )
        }
        state = Lock(State(files: try certificates.map { certificates throws(StoreError) in try TransferFiles(certificates) }))
    }

    /// Uses other certificates for the requests that begin from now on.
    func use(_ certificates: EtcdCertificates) throws(StoreError) {
        guard state.withLock({ $0.files.map { $0.certificates != certificates } ?? false }) else { return }
        let files = try TransferFiles(certificates)
        let former = state.withLock { state in
            state.files = files
            defer { state.thread = nil }
            state.former = state.former.filter { !$0.ended.isSettled } + [state.thread].compactMap(\.self)
            return state.thread
        }
        former?.retire()
    }

    deinit {
        let state = state.withLock { $0 }
        for thread in state.former + [state.thread].compactMap(\.self) { thread.close() }
    }

    /// Begins a request.
    func startTransfer(_ request: Transfer.Request) throws(TransferError) -> Transfer {
        while true {
            let (thread, files) = try current()
            let transfer = Transfer(request, with: files, on: thread)
            // Otherwise other certificates have come into use meanwhile.
            if thread.submit(transfer) { return transfer }
        }
    }

    /// Ends all transfers, and returns when all connections are closed.
    func close() async {
        let threads = state.withLock { state in
            state.isClosed = true
            return state.former + [state.thread].compactMap(\.self)
        }
        for thread in threads { thread.close() }
        for thread in threads { await thread.ended.value }
    }

    private func current() throws(TransferError) -> (TransferThread, TransferFiles?) {
        try state.withLock { state throws(TransferError) in
            guard !state.isClosed else { throw TransferError(description: "The client is closed", mayHaveBeenSent: false) }
            if let thread = state.thread { return (thread, state.files) }
            let thread = try TransferThread()
            state.thread = thread
            return (thread, state.files)
        }
    }
}
