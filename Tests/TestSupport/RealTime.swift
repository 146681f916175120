import ConcurrencySupport
import Glibc

/// Lets real time pass, for the kernel or for a peer that the test doesn't direct; throws when the task is cancelled.
///
/// The only sleep of the tests. What happens inside our own machines is given its time by a manual clock; an event is waited for; that nothing
/// happens is seen behind a fence, which is something later in the same order. The reason says why none of these will do.
///
///     try await realTime(.seconds(2), because: "the kernel counts the time for which a process is stopped")
public func realTime(_ duration: Duration, because reason: StaticString) async throws { try await Task.sleep(for: duration) }

/// Does the same without giving up the thread, for code that mustn't wait in any other way.
public func realTimeOfThread(_ duration: Duration, because reason: StaticString) { usleep(UInt32(duration / .microseconds(1))) }

/// Waits for what never comes, such as the answer of a handler that only its deadline ends; throws when the task is cancelled.
public func untilCancelled() async throws {
    await OneShot<Void>().valueUnlessCancelled()
    try Task.checkCancellation()
}
