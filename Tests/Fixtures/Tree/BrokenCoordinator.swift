public import Coordinators
import Glibc

/// A coordinator that can't be started.
public actor BrokenCoordinator: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        /// `codable`, `other`, `exit`, `failAtOnce`, `variable` (only where `FIXTURE_BROKEN` is set), `stubborn` (two seconds that ignore the cancellation, so that it becomes ready after a
        /// stop) or `hang`; or a path: the start hangs, and writes that file (and before, with `.begun` behind its name, another) three
        /// seconds after it was cancelled.
        public var how = "codable"
        public init() {}
    }

    public nonisolated let context: Context
    private let configuration: Configuration

    public init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    public func start() async throws {
        switch configuration.how {
        case "codable": throw Fixture.Refusal("won't start")
        case "variable": if getenv("FIXTURE_BROKEN") != nil { throw Fixture.Refusal("won't start") }
        case "other": throw Fixture.LocalRefusal()
        case "exit": exit(3)
        case "failAtOnce": context.fail(Fixture.Refusal("at once"))
        case "stubborn": await Task.detached { try? await Task.sleep(for: .seconds(2)) }.value
        case let path where path.hasPrefix("/"): await markCancellation(in: path)
        default: try await Task.sleep(for: .seconds(600))
        }
    }

    private func markCancellation(in path: String) async {
        write("\(path).begun")
        try? await Task.sleep(for: .seconds(600))
        await Task.detached { try? await Task.sleep(for: .seconds(3)) }.value
        write(path)
    }

    private func write(_ path: String) {
        Glibc.close(Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
    }
}
