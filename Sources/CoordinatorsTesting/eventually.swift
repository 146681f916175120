/// Waits until something holds, twenty seconds at most.
///
///     try await eventually("the cart is empty") { try await runtime.ask(Cart.Count(), at: "/cart") == 0 }
///
/// Everything that a call returns for needs no further wait; this is for the rest, such as events, and ends of other processes. The wait
/// ends with the task's cancellation too.
///
/// - Parameters:
///   - what: What is waited for, in words that follow "never:".
///   - limit: The longest wait, in real time.
///   - fileID: The file of the caller.
///   - line: The line of the caller.
///   - condition: A function that is called every two milliseconds at first, and less often the longer it doesn't hold; `nil` means no.
/// - Throws: ``NeverHeld`` when the time is over; the condition's own error.
public func eventually(
    _ what: @autoclosure () -> String,
    within limit: Duration = .seconds(20),
    fileID: String = #fileID,
    line: Int = #line,
    _ condition: () async throws -> Bool?
) async throws {
    guard try await holds(condition, within: limit) else { throw NeverHeld(what: what(), limit: limit, place: "\(fileID):\(line)") }
}

/// Returns whether something holds within twenty seconds, for an expectation that says by itself what is waited for.
///
///     #expect(await eventually { runtime.counters.observers == 0 })
public func eventually(within limit: Duration = .seconds(20), _ condition: () async -> Bool) async -> Bool {
    (try? await holds(condition, within: limit)) == true
}

/// The failure of a wait.
public struct NeverHeld: Error, CustomStringConvertible {
    let what: String
    let limit: Duration
    let place: String

    /// What never held, and where it was waited for.
    public var description: String { "never: \(what) (within \(limit), at \(place))" }
}

private func holds(_ condition: () async throws -> Bool?, within limit: Duration) async throws -> Bool {
    let began = ContinuousClock.now
    while try await condition() != true {
        let waited = ContinuousClock.now - began
        guard waited < limit * slowness else { return false }
        // On a busy machine, frequent looks would take the time that the condition needs.
        try await Task.sleep(for: min(max(waited / 50, .milliseconds(2)), .milliseconds(100)))
    }
    return true
}

/// The factor of every limit: a sanitizer makes everything several times as slow.
var slowness: Int {
    #if COORDINATORS_SANITIZE_THREAD || COORDINATORS_SANITIZE_ADDRESS
    10
    #else
    1
    #endif
}
