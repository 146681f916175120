import CCurl
import ConcurrencySupport
import DequeModule
import Glibc

/// The thread that runs transfers, which share connections: in libcurl's words, a multi handle.
///
/// It sleeps until bytes come or a transfer begins; there are no periodic wake-ups.
final class TransferThread: Sendable {
    enum Command: Sendable {
        case begin(Transfer)
        /// There is room for what has come.
        case resume(Transfer)
        case end(Transfer)
    }

    enum Phase {
        /// Transfers begin. Can transition to: retired, closed.
        case open
        /// None begins any more, and those under way go on. Can transition to: closed.
        case retired
        /// Those under way are given up.
        case closed
    }

    private struct State {
        var phase = Phase.open
        var commands: [Command] = []
        /// Whether the thread has returned, or is about to: libcurl's handle is gone then.
        var isOver = false
    }

    // Unsafe: it belongs to the thread; others only wake it, under the lock, as long as the thread isn't over.
    nonisolated(unsafe) fileprivate let multi: OpaquePointer
    private let state = Lock(State())
    /// Settled at the end of the thread: all connections are closed.
    let ended = OneShot<Void>()

    init() throws(TransferError) {
        guard let multi = coordinator_curl_multi_create() else {
            throw TransferError(description: "There is no memory for connections", mayHaveBeenSent: false)
        }
        self.multi = multi
        guard DetachedThread.run({ [self] in TransferLoop(self).run() }) else {
            coordinator_curl_multi_destroy(multi)
            throw TransferError(description: "There is no thread for connections", mayHaveBeenSent: false)
        }
    }

    /// Begins a transfer.
    ///
    /// - Returns: False when none begins any more.
    func submit(_ transfer: Transfer) -> Bool {
        state.withLock { state in
            guard state.phase == .open else { return false }
            add(.begin(transfer), to: &state)
            return true
        }
    }

    func resume(_ transfer: Transfer) { state.withLock { add(.resume(transfer), to: &$0) } }

    func end(_ transfer: Transfer) { state.withLock { add(.end(transfer), to: &$0) } }

    /// Lets the transfers that are under way go on, and then ends the thread with its connections.
    func retire() { leave(for: .retired) }

    /// Ends all transfers, and the thread.
    func close() { leave(for: .closed) }

    private func leave(for phase: Phase) {
        state.withLock { state in
            guard !state.isOver, state.phase != .closed else { return }
            state.phase = phase
            coordinator_curl_multi_wake(multi)
        }
    }

    private func add(_ command: Command, to state: inout State) {
        guard !state.isOver else { return }
        if state.commands.isEmpty { coordinator_curl_multi_wake(multi) }
        state.commands.append(command)
    }

    // MARK: For the thread

    fileprivate func takeCommands() -> (commands: [Command], phase: Phase) {
        state.withLock { state in
            defer { state.commands = [] }
            return (state.commands, state.phase)
        }
    }

    /// Whether nothing can come any more, when no transfer is left.
    fileprivate func endIfEmpty() -> Bool {
        state.withLock { state in
            if state.phase != .open, state.commands.isEmpty { state.isOver = true }
            return state.isOver
        }
    }
}

/// What the thread does.
///
/// The loop isn't Sendable: everything in it belongs to that thread.
private final class TransferLoop {
    /// The answers that are awaited at the same time, each on a connection of its own; streams don't count.
    private static let limit = 8

    private let thread: TransferThread
    private let multi: OpaquePointer
    /// The transfers under way, with libcurl's part of each.
    private var running: [ObjectIdentifier: (transfer: Transfer, handle: OpaquePointer)] = [:]
    /// The transfers that wait for others to end.
    private var waiting: Deque<Transfer> = []
    /// The number of answers that are awaited.
    private var answerCount = 0

    init(_ thread: TransferThread) { (self.thread, multi) = (thread, thread.multi) }

    func run() {
        // libcurl leaves SIGPIPE to its caller, and the process's other signals are for other threads.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        while true {
            let (commands, phase) = thread.takeCommands()
            for command in commands { run(command) }
            if phase == .closed { giveUp() }
            let couldPerform = coordinator_curl_multi_perform(multi) == 1
            takeEnded()
            // What begins is to be performed at once, which the wait sees.
            while answerCount < Self.limit, let next = waiting.popFirst() { addHandle(next) }
            if running.isEmpty, waiting.isEmpty, thread.endIfEmpty() { break }
            if !couldPerform || coordinator_curl_multi_poll(multi) != 1 {
                // Memory may have run out: the pause keeps this from being a busy loop.
                usleep(10_000)
            }
        }
        coordinator_curl_multi_destroy(multi)
        thread.ended.settle()
    }

    private func run(_ command: TransferThread.Command) {
        switch command {
        case .begin(let transfer): if transfer.request.isStream { addHandle(transfer) } else { waiting.append(transfer) }
        case .resume(let transfer):
            guard let handle = running[ObjectIdentifier(transfer)]?.handle else { return }
            let code = coordinator_curl_transfer_resume(handle)
            if code != 0 { complete(transfer, code) }
        case .end(let transfer):
            waiting.removeAll { $0 === transfer }
            release(transfer)
        }
    }

    private func addHandle(_ transfer: Transfer) {
        if transfer.isOver { return }
        let request = transfer.request
        let files = transfer.files
        let paths = [files?.authority, files?.certificate, files?.key, files?.revocations]
        // Unsafe: C's copies of the texts, until libcurl has its own.
        let texts = ([request.address] + paths + request.headers).map { $0.flatMap { strdup($0) } }
        defer { for text in texts { free(text) } }
        var headers = texts.dropFirst(1 + paths.count).map { UnsafePointer($0) }
        var code: Int32 = 0
        let handle = headers.withUnsafeMutableBufferPointer { headers in
            var form = coordinator_curl_request()
            form.url = UnsafePointer(texts[0])
            (form.authority, form.certificate, form.key) = (UnsafePointer(texts[1]), UnsafePointer(texts[2]), UnsafePointer(texts[3]))
            form.revocations = UnsafePointer(texts[4])
            (form.headers, form.header_count) = (UnsafePointer(headers.baseAddress), Int32(headers.count))
            form.body_length = Int64(request.body.count)
            form.connect_milliseconds = Int(request.connectLimit.millisecondsRoundedUp)
            // Unsafe: `running` keeps the transfer as long as libcurl calls back.
            form.context = Unmanaged.passUnretained(transfer).toOpaque()
            form.give = { context, bytes, capacity in
                TransferLoop.transfer(context).give(UnsafeMutableRawBufferPointer(start: bytes, count: capacity))
            }
            form.take = { context, status, bytes, count in
                TransferLoop.transfer(context).receive(UnsafeRawBufferPointer(start: bytes, count: count), status: status)
            }
            return coordinator_curl_transfer_create(multi, &form, &code)
        }
        guard let handle else { return transfer.complete(status: 0, failure: String(cString: coordinator_curl_message(nil, code))) }
        running[ObjectIdentifier(transfer)] = (transfer, handle)
        if !request.isStream { answerCount += 1 }
    }

    /// Looks for transfers that have ended by themselves.
    private func takeEnded() {
        var code: Int32 = 0
        while let context = coordinator_curl_multi_ended(multi, &code) { complete(Self.transfer(context), code) }
    }

    private func complete(_ transfer: Transfer, _ code: Int32) {
        guard let handle = running[ObjectIdentifier(transfer)]?.handle else { return }
        let failure = code == 0 ? nil : String(cString: coordinator_curl_message(handle, code))
        let status = coordinator_curl_transfer_status(handle)
        release(transfer)
        transfer.complete(status: status, failure: failure)
    }

    private func release(_ transfer: Transfer) {
        guard let handle = running.removeValue(forKey: ObjectIdentifier(transfer))?.handle else { return }
        coordinator_curl_transfer_destroy(handle)
        if !transfer.request.isStream { answerCount -= 1 }
    }

    private func giveUp() {
        let transfers = running.values.map(\.transfer) + waiting
        waiting = []
        for transfer in transfers {
            release(transfer)
            transfer.finish(.failure(CancellationError()))
        }
    }

    private static func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer {
        // Unsafe: it's the transfer of a request that `running` has, and libcurl gives each context back as it was.
        Unmanaged<Transfer>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
    }
}
