import Coordinators
import Fixtures

/// A root that starts workers of any program, and says how that went.
actor StarterRoot: Coordinator {
    struct StartWorker: ResponderMessage {
        typealias Reply = String
        var key: String
        var executable: String
        var arguments: [String]
        var directory: String?

        init(_ key: String, _ executable: String, _ arguments: [String] = [], directory: String? = nil) {
            (self.key, self.executable, self.arguments, self.directory) = (key, executable, arguments, directory)
        }
    }

    /// Has a child finish.
    struct Finish: ResponderMessage {
        var inWorker: Bool
    }

    /// The changes of the children.
    struct Changes: ResponderMessage {
        typealias Reply = [String]
    }

    nonisolated let context: Context
    private var changes: [String] = []

    init(_ context: Context) { self.context = context }

    static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    static let responders: Responders = [
        .respond(to: StartWorker.self) { me, start in
            do {
                try await me.context.start(
                    worker: "MiddleCoordinator",
                    as: start.key,
                    executable: start.executable,
                    arguments: start.arguments,
                    directory: start.directory
                )
                return "started"
            } catch let error as CoordinatorError {
                return "CoordinatorError \(error.code): \(error.message)"
            } catch {
                return "\(type(of: error)): \(error)"
            }
        },
        .respond(to: Finish.self) { me, finish in
            let child = try await me.context.start(MiddleCoordinator.self, as: "finishing", in: finish.inWorker ? .worker : .inProcess)
            _ = try await child.ask(Fixture.Do(.finish("done")))
        },
        .respond(to: Changes.self) { me, _ in me.changes },
        .lifecycle { me, _, change in me.changes.append("\(change)") },
        .respond(to: Fixture.Echo.self) { _, echo in echo.text },
    ]
}
