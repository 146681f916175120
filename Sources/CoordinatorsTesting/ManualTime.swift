import ConcurrencySupport
public import Coordinators

/// The time of a tree under test: it stands still until the test moves it.
///
///     let time = ManualTime()
///     try await withRuntime(App.self, time: time) { runtime in
///         await time.advance(by: .seconds(30))
///     }
///
/// A tree lives by this time in everything: timers and idle time-outs, the deadlines of asks, the pauses between retries, the backoff and
/// intensity of restarts, the time-outs of starts, the graces of stops, and `context.clock`. All coordinators run
/// in the test's process.
///
/// Events come in one order, run after run. The tree's tasks run one at a time, in the order in which they become ready, as does the
/// test's body. What happens at random, such as the jitter of a backoff, is the same in each run. Two things are outside of this order: a
/// task that code of the tree or the test makes by `Task { }` (use `context.task`, `async let` and task groups), and the world outside of the
/// tree, such as files, sockets, programs and `Task.sleep`.
public final class ManualTime: Sendable {
    let virtual = VirtualTime()

    /// Creates a time that stands at zero.
    public init() {}

    /// Moves the time, and returns when everything that was due has happened.
    ///
    /// What is due happens in the order of the due times. Before each, and at the end, the tree finishes whatever it can without more time.
    /// So a move by zero waits until the tree is quiet.
    ///
    /// The tree isn't quiet while it waits for the world outside: that wait isn't known here.
    public func advance(by duration: Duration) async {
        await letOthersBegin()
        await virtual.move(by: duration)
    }

    /// The time that has passed since the creation.
    public var elapsed: Duration { virtual.now.sinceOrigin }

    /// The clock by which this time is read and waited for, for fakes that need one.
    public var clock: CoordinatorClock { CoordinatorClock(TimeSource(virtual: virtual)) }

    /// Gives tasks that a test has made by `Task { }` just before an occasion to begin; nothing promises that they do.
    private func letOthersBegin() async {
        for _ in 0..<10 { await Task.detached { await Task.yield() }.value }
    }
}
