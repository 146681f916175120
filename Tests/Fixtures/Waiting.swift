import ConcurrencySupport
import Glibc

extension Fixture {
    /// Waits for what never comes, until the task is cancelled.
    static func untilCancelled() async throws {
        _ = await OneShot<Void>().valueUnlessCancelled()
        throw CancellationError()
    }

    /// Waits for what never comes, whether the task is cancelled or not.
    public static func forever() async { await OneShot<Void>().value }

    /// Lets real time pass in a process that no test's clock reaches; throws when the task is cancelled.
    ///
    /// The only sleep of the fixtures, as `realTime` of TestSupport is that of the tests: programs of fixtures don't link a library for
    /// tests.
    static func realTime(_ duration: Duration, because reason: StaticString) async throws { try await Task.sleep(for: duration) }

    /// Blocks a thread for a time, as hard work does.
    static func block(_ duration: Duration) { usleep(UInt32(duration / .microseconds(1))) }
}
