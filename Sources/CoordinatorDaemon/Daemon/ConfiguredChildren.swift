import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration

/// The children of the configuration file: the root's configuration, shared with the handler of operators' requests.
///
/// Supervision forgets a temporary child that has ended, as OTP's does, and any child that has finished. Operators still see it, because the
/// file still lists it.
final class ConfiguredChildren: Codable, Sendable {
    typealias Start = @Sendable (ConfiguredChild) async throws -> Void

    let children: [ConfiguredChild]
    private let start = Lock<Start?>(nil)
    /// The ends of the children's last lives, by key; of a child that supervision has forgotten this is the only record.
    private let lastExits = Lock<[String: String]>([:])

    init(_ children: [ConfiguredChild]) { self.children = children }

    /// Decodes the list alone, as the protocol of configurations requires.
    init(from decoder: any Decoder) throws { children = try [ConfiguredChild](from: decoder) }

    /// Encodes the list alone.
    func encode(to encoder: any Encoder) throws { try children.encode(to: encoder) }

    /// Sets the function with which the root starts a child.
    func attach(_ start: @escaping Start) {
        self.start.withLock { $0 = start }
    }

    /// Returns the child that the file lists under this path; nil when there is none.
    func child(at path: CoordinatorPath) -> ConfiguredChild? {
        path.components.count == 1 ? children.first { $0.key == path.key } : nil
    }

    /// Starts a child that supervision has forgotten.
    func start(_ child: ConfiguredChild) async throws {
        guard let start = start.withLock({ $0 }) else { throw ControlError(.notRunning, "the daemon's root isn't running yet") }
        note(nil, of: child.key)
        try await start(child)
    }

    /// Records the end of a child's life; nil means that the child lives.
    func note(_ exit: String?, of key: String) {
        lastExits.withLock { $0[key] = exit }
    }

    private func hasEnded(_ child: ConfiguredChild) -> Bool { lastExits.withLock { $0[child.key] != nil } }

    /// Returns the node of a child that supervision has forgotten.
    func node(of child: ConfiguredChild) -> TreeNode {
        TreeNode(child, lastExit: lastExits.withLock { $0[child.key] })
    }

    /// Adds the children that supervision has forgotten to a tree.
    func complete(_ tree: TreeNode) -> TreeNode {
        var tree = tree
        let present = Set(tree.children.map(\.key))
        // A child that was never started isn't shown before its start.
        tree.children += children.filter { !present.contains($0.key) && ($0.restart == .temporary || hasEnded($0)) }.map { node(of: $0) }
        return tree
    }
}

extension TreeNode {
    /// Creates the node of a child that has ended for good.
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
