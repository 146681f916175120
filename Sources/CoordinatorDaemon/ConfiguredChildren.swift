import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration

/// The children that the file names: what the root is configured with, and shares with the control interface.
///
/// Supervision forgets a temporary child that has ended, as OTP's does. To an operator it is still there, as the file is.
final class ConfiguredChildren: Codable, Sendable {
    typealias Start = @Sendable (ConfiguredChild) async throws -> Void

    let children: [ConfiguredChild]
    private let start = Lock<Start?>(nil)
    /// How the last lives of children have ended, by key: of those that supervision has forgotten nobody else knows.
    private let lastExits = Lock<[String: String]>([:])

    init(_ children: [ConfiguredChild]) { self.children = children }

    /// Decodes the list alone, as every configuration can be; the root's is never encoded.
    init(from decoder: any Decoder) throws { children = try [ConfiguredChild](from: decoder) }

    /// Encodes the list alone.
    func encode(to encoder: any Encoder) throws { try children.encode(to: encoder) }

    /// The root tells how it starts a child.
    func attach(_ start: @escaping Start) {
        self.start.withLock { $0 = start }
    }

    /// The child of this path, when the file names one.
    func child(at path: CoordinatorPath) -> ConfiguredChild? {
        path.components.count == 1 ? children.first { $0.key == path.key } : nil
    }

    /// Starts a child that supervision has forgotten.
    func start(_ child: ConfiguredChild) async throws {
        guard let start = start.withLock({ $0 }) else { throw ControlError(.notRunning, "the daemon's root isn't running yet") }
        note(nil, of: child.key)
        try await start(child)
    }

    /// Notes how a child's life has ended; nil: it lives.
    func note(_ exit: String?, of key: String) {
        lastExits.withLock { $0[key] = exit }
    }

    /// The place of a child that supervision has forgotten.
    func node(of child: ConfiguredChild) -> TreeNode {
        TreeNode(child, lastExit: lastExits.withLock { $0[child.key] })
    }

    /// Adds those that supervision has forgotten to the tree.
    func complete(_ tree: TreeNode) -> TreeNode {
        var tree = tree
        let present = Set(tree.children.map(\.key))
        tree.children += children.filter { !present.contains($0.key) && $0.restart == .temporary }.map { node(of: $0) }
        return tree
    }
}

extension TreeNode {
    /// The place of a child whose life has ended for good.
    fileprivate init(_ child: ConfiguredChild, lastExit: String?) {
        let (type, kind, placement): (String, Kind, Placement) =
            switch child.content {
            case .worker(let worker): (worker.coordinator, .coordinator, .worker)
            case .program(let program): (program.command[0], .program, .program)
            }
        self.init(
            key: child.key,
            path: "/\(child.key)",
            type: type,
            kind: kind,
            state: "inactive",
            placement: placement,
            lastExit: lastExit
        )
    }
}
