import CCurl
import ConcurrencySupport

/// The connections of one client.
///
/// A connection that was made with certificates whose files have changed since isn't used for another request: the next one begins on a new
/// thread with new connections, and the former thread ends with the last answer that it's still reading.
final class TransferPool: Sendable {
    private struct State {
        var thread: TransferThread?
        /// What the files were when the thread was made.
        var identity: TransferFiles.Identity?
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

    let files: TransferFiles?
    private let state = Lock(State())

    /// - Parameter files: The certificates; `nil`: connections aren't encrypted.
    init(_ files: TransferFiles?) throws(StoreError) {
        if let problem = Self.libraryProblem {
            throw StoreError(
                code: .unusable,
                message: "Could not load libcurl, by which etcd is spoken with: \(problem). Install it: apt-get install libcurl4"
            )
        }
        if let problem = files?.problem {
            throw StoreError(code: .unusable, message: "Could not read the certificates for etcd, which are PEM files: \(problem).")
        }
        self.files = files
    }

    deinit {
        let state = state.withLock { $0 }
        for thread in state.former + [state.thread].compactMap(\.self) { thread.close() }
    }

    /// Begins a request.
    func begin(_ request: Transfer.Request) throws(TransferError) -> Transfer {
        while true {
            let thread = try currentThread()
            let transfer = Transfer(request, on: thread)
            // Otherwise another request has seen meanwhile that files have changed.
            if thread.begin(transfer) { return transfer }
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

    private func currentThread() throws(TransferError) -> TransferThread {
        let identity = files?.identity
        let (thread, former) = try state.withLock { state throws(TransferError) -> (TransferThread, TransferThread?) in
            guard !state.isClosed else { throw TransferError(description: "The client is closed", mayHaveBeenSent: false) }
            if let thread = state.thread, state.identity == identity { return (thread, nil) }
            let thread = try TransferThread()
            let former = state.thread
            (state.thread, state.identity) = (thread, identity)
            state.former = state.former.filter { !$0.ended.isSettled } + [former].compactMap(\.self)
            return (thread, former)
        }
        former?.retire()
        return thread
    }
}
