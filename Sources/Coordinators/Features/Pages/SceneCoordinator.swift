/// A resource with an end: a connection, a session, a job.
public protocol Scene: Sendable {
    /// Ends the resource; closing it again does nothing.
    func close() async
    /// Returns when the resource has ended for any reason, or when the waiting task is cancelled.
    func waitUntilClosed() async
}

/// A coordinator that owns exactly one resource, its scene.
///
/// The scene is made in the initialiser and closed after the `stopped` hook. When it ends by itself, the coordinator requests its dismissal;
/// if the parent refuses, the coordinator goes on without its scene.
public protocol SceneCoordinator: Coordinator {
    /// The resource's type.
    associatedtype SceneType: Scene
    /// The resource, the same for the coordinator's whole life.
    nonisolated var scene: SceneType { get }
}

extension Node {
    /// Returns the scene of a scene coordinator.
    func scene(of instance: any Coordinator) -> (any Scene)? { type.ownsScene ? (instance as? any SceneCoordinator)?.scene : nil }

    /// Watches the scene while the coordinator is active.
    func attend(_ scene: any Scene) {
        handle {
            await scene.waitUntilClosed()
            if !Task.isCancelled { _ = await self.requestDismissal(timeout: .seconds(5)) }
        }
    }
}
