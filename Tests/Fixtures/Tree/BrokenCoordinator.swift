public import Coordinators
import Glibc

/// A coordinator that can't be started.
public actor BrokenCoordinator: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        /// `codable`, `other`, `exit`, `failAtOnce`, `variable` (only where `FIXTURE_BROKEN` is set), `stubborn` (two seconds that ignore the
        /// cancellation, so that it becomes ready after a stop) or `hang`; or a path: the start hangs, and writes that file (and before, with `.begun` behind its name, another) three
        /// seconds after it was cancelled.
        public var how = "codable"
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public func start() async throws {
        switch configuration.how {
        case "codable": throw Fixture.Refusal("won't start")
        case "variable": if getenv("FIXTURE_BROKEN") != nil { throw Fixture.Refusal("won't start") }
        case "other": throw Fixture.LocalRefusal()
        case "exit": exit(3)
        case "failAtOnce": context.fail(Fixture.Refusal("at once"))
        case "stubborn": await outlastCancellation(by: .seconds(2))
        case let path where path.hasPrefix("/"): await markCancellation(in: path)
        default: try await Fixture.untilCancelled()
        }
    }

    private func markCancellation(in path: String) async {
        SharedFile.create("\(path).begun")
        await outlastCancellation(by: .seconds(3))
        SharedFile.create(path)
    }

    /// Waits for its cancellation and then takes its time, in a task that isn't cancelled.
    private func outlastCancellation(by duration: Duration) async {
        try? await Fixture.untilCancelled()
        await Task.detached {
            try? await Fixture.realTime(duration, because: "it outlasts the cancellation of a start, whose grace is real")
        }
        .value
    }
}
