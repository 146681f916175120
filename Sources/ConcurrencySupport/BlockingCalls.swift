import Glibc

/// Threads for calls that a file system can delay for any time, such as open(2) of a file on a server that is gone.
///
/// A call has a subject, such as the child whose file is read. Of each subject one call runs at a time: as long as one hangs, those that
/// follow wait for it, each until its own deadline. So the number of threads is bounded by that of the subjects, and no subject takes a
/// thread that another one needs. A call that hangs can't be interrupted: its thread is left to itself, and serves again once the call
/// returns.
package final class BlockingCalls: Sendable {
    /// The calls of the whole process.
    package static let shared = BlockingCalls()

    /// The time that a file system is given, as a rule: disks that sleep and servers that are restarted answer within it.
    package static let usualLimit = Duration.seconds(10)

    /// The reason why a call has no result.
    package enum Failure: Error, Sendable, CustomStringConvertible {
        /// The call, or an earlier one with the same subject, hasn't returned in time.
        case hangs(since: DateTime)
        /// The task that waits was cancelled.
        case cancelled
        /// No thread can be made for the call.
        case noThread

        /// The continuation of "can't be read: ".
        package var description: String {
            switch self {
            case .hangs(let since): "its file system hangs, since \(since)"
            case .cancelled: "it was given up"
            case .noThread: "there is no thread for it; try again"
            }
        }
    }

    private typealias Job = @Sendable () -> Void

    /// A call that runs.
    private struct Call {
        let since = DateTime.now
        let began = MonotonicTime.now
        let end = OneShot<Void>()
    }

    /// A thread that waits for calls.
    private final class Worker: Sendable {
        let job = Lock<Job?>(nil)
        let isGiven = Semaphore()
    }

    private struct State {
        var calls: [String: Call] = [:]
        var idle: [Worker] = []
    }

    /// The number of threads that are kept although they have nothing to do.
    private static let kept = 2

    private let state = Lock(State())

    package init() {}

    /// The number of calls that run.
    package var count: Int { state.withLock { $0.calls.count } }

    /// The subjects of the calls that take longer than a file system is given.
    package var hanging: [String] {
        let now = MonotonicTime.now
        return state.withLock { $0.calls.filter { now - $0.value.began > Self.usualLimit }.map(\.key) }
    }

    /// Runs a function on a thread where it may block, and waits for its result until the limit, or until the task is cancelled.
    ///
    /// - Parameters:
    ///   - subject: What the call is for: while one with the same subject runs, this one waits.
    ///   - limit: The time for both the wait and the call.
    package func run<Value: Sendable>(
        _ subject: String,
        within limit: Duration = usualLimit,
        _ body: @escaping @Sendable () -> Value
    ) async throws(Failure) -> Value {
        let deadline = MonotonicTime.now + limit
        while let former = state.withLock({ $0.calls[subject] }) {
            guard await former.end.value(before: deadline) != nil else { throw .hangs(since: former.since) }
        }
        let call = Call()
        // Another one may have come first meanwhile.
        let hasBegun = state.withLock { state in
            if state.calls[subject] != nil { return false }
            state.calls[subject] = call
            return true
        }
        guard hasBegun else { return try await run(subject, within: deadline - .now, body) }
        let result = OneShot<Value?>()
        let job: Job = { [self] in
            let value = body()
            end(call, of: subject)
            result.settle(value)
        }
        guard give(job) else {
            end(call, of: subject)
            throw .noThread
        }
        let outcome = await withTaskCancellationHandler {
            await result.value(before: deadline)
        } onCancel: {
            result.settle(nil)
        }
        switch outcome {
        case .some(.some(let value)): return value
        case .some(.none): throw .cancelled
        case .none: throw .hangs(since: call.since)
        }
    }

    private func end(_ call: Call, of subject: String) {
        state.withLock { $0.calls[subject] = nil }
        call.end.settle()
    }

    /// Hands a job to a thread that has nothing to do, or to a new one.
    private func give(_ job: @escaping Job) -> Bool {
        let idle = state.withLock { $0.idle.popLast() }
        let worker = idle ?? Worker()
        worker.job.withLock { $0 = job }
        worker.isGiven.post()
        return idle != nil || DetachedThread.run { [self] in serve(worker) }
    }

    private func serve(_ worker: Worker) {
        // A thread that waits keeps nothing that its last call has used.
        repeat {
            worker.isGiven.wait()
            worker.job.withLock { $0.take() }?()
        } while keep(worker)
    }

    private func keep(_ worker: Worker) -> Bool {
        state.withLock { state in
            guard state.idle.count < Self.kept else { return false }
            state.idle.append(worker)
            return true
        }
    }
}

/// A time of day, for people: `2026-03-01T12:00:00Z`.
package struct DateTime: Sendable, Hashable, CustomStringConvertible {
    private let seconds: time_t

    /// - Parameter seconds: The seconds since 1970.
    package init(seconds: Int) { self.seconds = time_t(seconds) }

    /// The present time.
    package static var now: DateTime { DateTime(seconds: time(nil)) }

    package var description: String {
        var (seconds, parts) = (seconds, tm())
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
