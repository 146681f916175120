import Coordinators
import Synchronization

@testable import Contacts

/// Some other parent of an editor: it hears what the editor says, and so does a delegate that it has added.
actor EditorHost: Coordinator {
    /// The events that the host's row and the delegate have got.
    struct Heard: ResponderMessage {
        struct Reply: Codable, Sendable, Equatable {
            var byRow: [EditCoordinator.Event]
            var byDelegate: [EditCoordinator.Event]
        }
    }

    /// Stops the editor.
    struct Stop: ResponderMessage {}

    struct Configuration: CoordinatorConfiguration {
        var editor = EditCoordinator.Configuration()
    }

    let context: Context
    private let configuration: Configuration
    private let listener = Listener()
    private var heard: [EditCoordinator.Event] = []

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    static let responders: Responders = [
        .observe(EditCoordinator.self) { me, _, event in me.heard.append(event) },
        .respond(to: Heard.self) { me, _ in Heard.Reply(byRow: me.heard, byDelegate: me.listener.heard) },
        .respond(to: Stop.self) { me, _ in try await me.context.remove("editor") },
    ]

    func start() async throws {
        let editor = try await context.start(EditCoordinator.self, as: "editor", in: .worker) { $0 = configuration.editor }
        editor.delegates += listener
    }
}

/// A delegate that isn't a coordinator.
final class Listener: CoordinatorDelegate {
    typealias Subject = EditCoordinator

    private let events = Mutex<[EditCoordinator.Event]>([])

    var heard: [EditCoordinator.Event] { events.withLock { $0 } }

    func child(_ child: Child<EditCoordinator>, didSend event: EditCoordinator.Event) async {
        events.withLock { $0.append(event) }
    }
}
