import ConcurrencySupport
import Coordinators

/// The messages upwards of tasks that belong to no handler: those of handlers aren't held.
enum Talk {
    typealias Context = MiddleCoordinator.Context

    private static let outcomes = Lock<(count: Int, failures: [String])>((0, []))

    /// The number of subscriptions so far, and the errors of those that have failed.
    static var subscriptions: String {
        let (count, failures) = outcomes.withLock { $0 }
        return ([String(count)] + failures).joined(separator: "; ")
    }

    static func noteForEver(_ context: Context) {
        Task.detached {
            var number = 0
            while true {
                try await context.ask(Fixture.Note(number), timeout: .seconds(60))
                number += 1
            }
        }
    }

    static func subscribeForEver(_ context: Context, to path: String) {
        guard let path = CoordinatorPath(path) else { return }
        Task.detached {
            // One that fails is the last: at the end of the coordinator all would fail, without a pause.
            do {
                while true {
                    _ = try await context.events(of: MiddleCoordinator.self, at: path)
                    outcomes.withLock { $0.count += 1 }
                }
            } catch {
                outcomes.withLock { $0.failures.append("\(error)") }
            }
        }
    }

    static func echoUntilHeld(_ context: Context) async throws -> String {
        var number = 0
        while true {
            number += 1
            let (text, start) = ("echo \(number)", ContinuousClock.now)
            let echo = try await Task.detached { try await context.ask(Fixture.Echo(text), timeout: .seconds(60)) }.value
            // The first ten may take long on a busy machine: they are waited for before anything is held.
            if number > 10, ContinuousClock.now - start > .milliseconds(500) { return echo }
        }
    }
}
