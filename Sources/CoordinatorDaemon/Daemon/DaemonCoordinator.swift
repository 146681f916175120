import Coordinators
import DaemonConfiguration

/// The root of the daemon's tree, whose children are those of the configuration file.
actor DaemonCoordinator: ConfiguredSupervisor {
    typealias Configuration = ConfiguredChildren

    static let responders: Responders = [noteRow]

    nonisolated let context: Context
    nonisolated let children: ConfiguredChildren
    var starts: [(child: ConfiguredChild, start: FirstStart)] = []

    init(_ context: Context) {
        self.context = context
        children = context.configuration
    }

    func start() async throws { beginChildren() }

    func run() async throws { await runChildren() }

    func stopped() async { children.end(self) }
}
