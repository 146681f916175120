public import Coordinators
import Glibc

/// A coordinator that can't be started.
public actor BrokenCoordinator: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        /// `codable`, `other`, `exit`, `failAtOnce`, `stubborn` or `hang`.
        public var how = "codable"
        public init() {}
    }

    public nonisolated let context: Context<BrokenCoordinator>
    private let configuration: Configuration

    public init(_ context: Context<BrokenCoordinator>, _ configuration: Configuration) {
        self.context = context
        self.configuration = configuration
    }

    public func start() async throws {
        switch configuration.how {
        case "codable": throw Fixture.Refusal("won't start")
        case "other": throw Fixture.LocalRefusal()
        case "exit": exit(3)
        case "failAtOnce": context.fail(Fixture.Refusal("at once"))
        case "stubborn": await Task.detached { try? await Task.sleep(for: .seconds(2)) }.value
        default: try await Task.sleep(for: .seconds(600))
        }
    }
}
