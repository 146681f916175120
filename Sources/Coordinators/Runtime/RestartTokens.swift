import ConcurrencySupport

/// The rate at which a process may spawn again: restarts of its workers, and spares.
final class RestartTokens: Sendable {
    private let bucket: Lock<TokenBucket>

    init(_ bucket: TokenBucket) { self.bucket = Lock(bucket) }

    /// Waits for a turn, or until the interruption is settled.
    ///
    /// The call returns at once if there is a token left.
    func wait(orUntil interruption: OneShot<Void> = OneShot()) async {
        let turn = MonotonicTime(sinceOrigin: bucket.withLock { $0.take(now: MonotonicTime.now.sinceOrigin) })
        guard turn > .now else { return }
        // The interruption is the caller's, so a turn that has come doesn't settle it.
        _ = await interruption.value(before: turn)
    }
}
