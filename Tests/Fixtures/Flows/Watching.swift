public import Coordinators

public enum Watching {
    /// Begins to watch, outside of any handler, and notes down what comes of it; and then again.
    public struct Begin: ResponderMessage {
        public var path: CoordinatorPath
        public init(_ path: CoordinatorPath) { self.path = path }
    }

    /// Watches, and answers with what came of it.
    public struct Watch: ResponderMessage {
        public typealias Reply = Termination
        public var path: CoordinatorPath
        public init(_ path: CoordinatorPath) { self.path = path }
    }
}

/// Watches others.
public actor WatcherCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Watching.Begin.self) { me, begin in me.begin(begin.path) },
        .respond(to: Watching.Watch.self) { me, watch in try await me.context.watch(watch.path) },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
    ]

    private func begin(_ path: CoordinatorPath) {
        note("watches")
        Task { [context, notebook] in
            for word in ["first", "second"] {
                do {
                    let termination = try await context.watch(path)
                    notebook.note(context.path, "\(word): \(termination.reason)")
                } catch {
                    let code = (error as? CoordinatorError).map { "\($0.code)" } ?? "\(error)"
                    notebook.note(context.path, "\(word) threw \(code)")
                }
            }
        }
    }
}
