/// A resource with an end: a connection, a session, a job.
public protocol Scene: Sendable {
    /// Ends the resource; closing it again does nothing.
    func close() async
    /// Returns when the resource has ended for any reason, or when the waiting task is cancelled.
    func waitUntilClosed() async
}

/// A coordinator that owns exactly one resource, its scene.
///
/// The scene is made in the initialiser and closed after the `stop` hook. When it ends by itself, the coordinator requests its dismissal;
/// if the parent refuses, the coordinator goes on without its scene.
public protocol SceneCoordinator: Coordinator {
    /// The resource's type.
    associatedtype SceneType: Scene
    /// The resource, the same for the coordinator's whole life.
    nonisolated var scene: SceneType { get }
}

extension SceneCoordinator {
    nonisolated func attendScene(for node: Node) {
        let scene = scene
        let id = node.noteHandler()
        let task = Task {
            await scene.waitUntilClosed()
            if !Task.isCancelled { _ = await node.requestDismissal(timeout: .seconds(5)) }
            node.handlerEnded(id)
        }
        node.own(task, as: id)
    }

    nonisolated func closeScene() async { await scene.close() }
}
