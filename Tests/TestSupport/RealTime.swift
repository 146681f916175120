/// Lets real time pass, for the kernel or for a peer that the test doesn't direct; throws when the task is cancelled.
///
/// The only sleep of the tests. What happens inside our own machines is given its time by a manual clock; an event is waited for; that nothing
/// happens is seen behind a fence, which is something later in the same order. The reason says why none of these will do, and follows "since".
///
///     try await realTime(.seconds(2), because: "the kernel counts the time for which a process is stopped")
public func realTime(_ duration: Duration, because reason: StaticString) async throws { try await Task.sleep(for: duration) }

/// Waits for what never comes, such as a step whose time is up before it, until the task is cancelled.
///
/// Returns after an hour, lest a failure lets a test's process live on.
public func untilCancelled() async throws { try await Task.sleep(for: .seconds(3_600)) }
