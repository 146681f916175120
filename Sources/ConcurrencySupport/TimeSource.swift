/// The time that the parts of one tree live by: the monotonic clock, or in a test the time that the test moves.
///
/// The type is public, its members aren't: in other targets the compiler inlines only what belongs to public types.
public struct TimeSource: Sendable {
    /// The time of every tree but those of some tests.
    package static let monotonic = TimeSource(virtual: nil)

    /// The time of a test; `nil`: the monotonic clock.
    @usableFromInline package let virtual: VirtualTime?

    @inlinable
    package init(virtual: VirtualTime?) { self.virtual = virtual }

    @inlinable
    package var now: MonotonicTime {
        guard let virtual else { return .now }
        return virtual.now
    }

    /// The executor on which tasks have to run that live by this time; `nil`: any.
    @inlinable
    package var executor: (any TaskExecutor)? {
        guard let virtual else { return nil }
        return virtual
    }

    /// A seed for what is to happen at random: the same ones in each run of a test that moves its time.
    package var seed: UInt64 { virtual?.nextSeed() ?? .random(in: .min ... .max) }

    /// Calls `fire` once, at `time` or a little later, on a thread that it must not block.
    package func schedule(at time: MonotonicTime, _ fire: @escaping @Sendable () -> Void) -> Timers.Timer {
        virtual?.schedule(at: time, fire) ?? Timers.shared.schedule(at: time, fire)
    }

    /// Cancels a timer of this time; has no effect once it has fired.
    package func cancel(_ timer: Timers.Timer) {
        if let virtual { virtual.cancel(timer) } else { Timers.shared.cancel(timer) }
    }

    /// Begins a task that inherits the values of the present one and, as every task of a tree, runs by this time.
    @discardableResult
    package func task(_ operation: sending @escaping () async -> Void) -> Task<Void, Never> {
        guard let virtual else { return Task { await operation() } }
        return Task(executorPreference: virtual, operation: operation)
    }

    /// Waits until a time.
    ///
    /// - Throws: `CancellationError` when the waiting task is cancelled first.
    package func sleep(until time: MonotonicTime) async throws {
        let wake = OneShot<Void>()
        let timer = schedule(at: time) { wake.settle() }
        let isOver = await wake.valueUnlessCancelled() != nil
        if isOver { return }
        cancel(timer)
        throw CancellationError()
    }
}
