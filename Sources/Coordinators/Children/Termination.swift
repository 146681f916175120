/// The end of one life of a coordinator, or the report that there is none.
public struct Termination: Sendable, Hashable, Codable {
    /// The path of the coordinator.
    public let path: CoordinatorPath
    /// The incarnation that ended; 0 when there was none, or it isn't known.
    public let incarnation: UInt32
    /// The reason of the end; `unknown` when no process is left that recorded it.
    public let reason: ExitReason
}

extension CoordinatorContext {
    /// Waits for the end of a coordinator's present life, anywhere in the tree; returns at once if there is none.
    ///
    /// Each call gets exactly one answer, also when the coordinator's supervisor or its process ends first. Whether the coordinator is
    /// restarted is for its supervisor to decide. Follows Erlang's monitors,
    /// https://www.erlang.org/doc/system/ref_man_processes.html#monitors.
    ///
    /// - Throws: `CancellationError`; `stopped` when this coordinator itself stops.
    public func watch(_ path: CoordinatorPath) async throws -> Termination {
        guard let parent = path.parent else {
            throw CoordinatorError(.unsupported, "the root outlives everybody who could watch it")
        }
        do {
            return try await node.request(WatchChild(key: path.key)) { node.route($0, to: parent) }.decoded(as: Termination.self)
        } catch let error as CoordinatorError where !node.isStopping {
            switch error.code {
            // The coordinator's supervisor is gone, and the coordinator with it.
            case .noSuchPath, .peerLost, .stopped, .restarting, .failed, .startFailed:
                return Termination(path: path, incarnation: 0, reason: .unknown)
            default: throw error
            }
        }
    }
}
