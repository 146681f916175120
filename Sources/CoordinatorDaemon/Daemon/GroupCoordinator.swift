import Coordinators
import DaemonConfiguration

/// A group of the configuration file: a supervisor in the daemon's process.
///
/// As under the root, a child that fails too often is given up alone, unless the group's strategy couples its children: then such a child ends
/// the group, and the group's own limits decide about the rest.
actor GroupCoordinator: ConfiguredSupervisor {
    typealias Configuration = ConfiguredChildren

    static let responders: Responders = [noteRow]

    nonisolated let context: Context
    nonisolated let children: ConfiguredChildren
    var starts: [(child: ConfiguredChild, start: FirstStart)] = []

    init(_ context: Context) {
        self.context = context
        children = context.configuration
    }

    func start() async throws { try beginChildren() }

    func run() async throws { await runChildren() }

    func stopped() async { children.end(self) }
}
