import Coordinators
import DaemonConfiguration

/// The root of the daemon's tree, whose children are those of the configuration file.
///
/// Its rows that hand messages on are the file's too: ``CoordinatorRuntime/Options/forwards``.
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

    func start() async throws { try beginChildren() }

    func run() async throws { await runChildren() }

    func stopped() async { children.end(self) }

    /// Has a message for a child wait until the child's first start was requested: from then on it waits for the child itself.
    func open(section key: String) async throws {
        await children.waitForRequest(of: key)
        guard context.child(key) == nil else { return }
        let path = context.path.appending(key)
        throw CoordinatorError(.noSuchChild, "\(path) doesn't run here; `coordinatorctl status \(path)` shows why")
    }
}
