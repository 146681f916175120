import ConcurrencySupport

/// Tests in which a coordinator blocks a thread of the pool until the test lets it go on.
///
/// They take turns: two at once would hold both threads of a machine with two processors, and no thread would be left for the code that lets
/// them go on.
public enum BlockedThread {
    private static let turn = AsyncLock()

    /// Runs a test's body that blocks one thread, after those that came before.
    public static func run(_ body: @Sendable () async throws -> Void) async throws { try await turn.pass(body) }
}
