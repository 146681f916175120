import Control
import Coordinators
import DaemonConfiguration

/// Starts, stops and restarts by operators of children that require others, or are required.
///
/// The rules are those of systemd's `Requires=` with `After=`: https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html.
/// A start first starts what the child requires; a stop first stops what requires the child; and what was stopped for that reason is
/// started again with the child.
struct DependentOperations {
    let runtime: CoordinatorRuntime
    let children: ConfiguredChildren

    /// Prepares a child's stop: what requires it is stopped first, the last started first, and a start that waits is cancelled.
    func willStop(_ path: CoordinatorPath) async throws {
        guard let place = children.place(of: path) else { return }
        place.siblings.cancelStart(of: place.child.key)
        for key in place.siblings.dependencies.requiring(place.child.key).reversed() {
            guard place.siblings.isRunning(key) || place.siblings.isWaiting(key) else { continue }
            place.siblings.cancelStart(of: key)
            place.siblings.hold(key)
            guard place.siblings.isRunning(key) else { continue }
            _ = try await runtime.stop(place.parent.appending(key))
        }
    }

    /// Prepares a child's start: what it requires is started first.
    func willStart(_ path: CoordinatorPath) async throws {
        guard let place = children.place(of: path) else { return }
        // The operator's start replaces one that waits.
        place.siblings.cancelStart(of: place.child.key)
        for key in place.siblings.dependencies.required(by: place.child.key) where !place.siblings.isRunning(key) {
            do {
                try await start(key, place)
            } catch {
                place.siblings.hold(place.child.key)
                let error = ControlError(error)
                throw ControlError(error.code, "\(path) requires \(place.parent.appending(key)), which can't be started: \(error.message)")
            }
        }
    }

    /// Starts what was stopped, or not started, because the child didn't run.
    func didStart(_ path: CoordinatorPath) async throws {
        guard let place = children.place(of: path) else { return }
        for key in place.siblings.release(requiring: place.child.key) {
            let missing = place.siblings.dependencies.required(by: key).contains { !place.siblings.isRunning($0) }
            if missing { place.siblings.hold(key) } else { try await start(key, place) }
        }
    }

    private func start(_ key: String, _ place: ConfiguredChildren.Place) async throws {
        guard let child = place.siblings.child(key) else { return }
        if place.siblings.supervisor?.state(of: key) == nil {
            try await startForgotten(ConfiguredChildren.Place(siblings: place.siblings, child: child, parent: place.parent))
        } else {
            _ = try await runtime.start(place.parent.appending(key))
        }
    }

    /// Starts a child that supervision doesn't know.
    func startForgotten(_ place: ConfiguredChildren.Place) async throws {
        let supervisor = try place.siblings.runningSupervisor(of: place.path)
        place.siblings.note(nil, of: place.child.key)
        try await supervisor.attempt(place.child)
        supervisor.arrange()
    }
}
