import ConcurrencySupport
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

    /// Prepares a child's stop: what requires it is stopped first, side by side where nothing orders it, and a start that waits is cancelled.
    func willStop(_ path: CoordinatorPath, isRestart: Bool = false) async throws {
        guard let place = children.place(of: path) else { return }
        place.siblings.cancelStart(of: place.child.key)
        place.siblings.change(place.child.key) { ($0.isStopWanted, $0.isRestarting) = (true, isRestart) }
        let dependents = place.siblings.requiring(place, isStop: true)
        let places = Dictionary(dependents.map { ($0.path.description, $0) }) { first, _ in first }
        var waits: [String: [String]] = [:]
        for dependent in dependents {
            for need in dependent.siblings.needs(of: dependent.child) {
                waits[need.place.path.description, default: []].append(dependent.path.description)
            }
        }
        let failure = Lock<(any Error)?>(nil)
        await Reconfiguration.forEach(Array(places.keys), waitingFor: waits) { path in
            guard let place = places[path] else { return }
            do {
                try await stop(place)
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    private func stop(_ place: ConfiguredChildren.Place) async throws {
        let (siblings, key) = (place.siblings, place.child.key)
        guard siblings.isRunning(key) || siblings.isWaiting(key) else { return }
        // One that an operator is stopping doesn't come back with what it requires.
        let isOwnStop = siblings.change(key) { $0.isStopWanted && !$0.isRestarting && !$0.isHeld } ?? false
        siblings.cancelStart(of: key)
        if !isOwnStop { siblings.hold(key) }
        siblings.change(key) { ($0.isStopWanted, $0.isRestarting) = (true, false) }
        guard siblings.isRunning(key) else { return }
        _ = try await runtime.stop(place.path)
    }

    /// Prepares a child's start: what it requires is started first, and what is to run once is run.
    func willStart(_ path: CoordinatorPath) async throws {
        guard let place = children.place(of: path) else { return }
        // The operator's start replaces one that waits.
        place.siblings.cancelStart(of: place.child.key)
        place.siblings.change(place.child.key) { ($0.isStopWanted, $0.hasCompleted) = (false, false) }
        for need in place.siblings.required(by: place) where !need.place.siblings.meets(need.place.child.key, need.condition) {
            do {
                try await start(need.place)
            } catch {
                place.siblings.hold(place.child.key)
                let error = ControlError(error)
                let verb = need.condition == .completed ? "waits for" : "requires"
                throw ControlError(error.code, "\(path) \(verb) \(need.place.path), which can't be started: \(error.message)")
            }
        }
    }

    /// Starts what was stopped, or not started, because the child didn't run.
    func didStart(_ path: CoordinatorPath) async throws {
        guard let place = children.place(of: path) else { return }
        hasStarted(place)
        try await place.siblings.startHeld(without: place.child.key)
    }

    private func start(_ place: ConfiguredChildren.Place) async throws {
        if place.siblings.supervisor?.state(of: place.child.key) == nil {
            try await startForgotten(place)
        } else {
            _ = try await runtime.start(place.path)
        }
        hasStarted(place)
    }

    /// Notes at once what the child's supervisor notes a moment later.
    private func hasStarted(_ place: ConfiguredChildren.Place) {
        place.siblings.change(place.child.key) { record in
            record.isStopWanted = false
            if place.child.isOneshot { record.hasCompleted = true }
        }
    }

    /// Starts a child that supervision doesn't know.
    func startForgotten(_ place: ConfiguredChildren.Place) async throws {
        let supervisor = try place.siblings.runningSupervisor(of: place.path)
        place.siblings.recordExit(nil, of: place.child.key)
        try await supervisor.attempt(place.child)
        supervisor.arrange()
    }
}
