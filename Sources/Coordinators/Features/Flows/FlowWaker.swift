import Acknowledgement
import ConcurrencySupport
import DequeModule
import Flows
import Logging
import WireProtocol

/// What starts the flows of a store that have something to do and don't live: after a restart, and when a timer of one that sleeps is due.
///
/// It works for the coordinator that owns the store, from which each flow is opened as a deep link is: what is missing on the way is started by its
/// parent's `open(section:)`.
final class FlowWaker: Sendable {
    private struct State {
        var isLooking = false
        /// Whether something has changed since the look began.
        var looksAgain = false
        var timer: Timers.Call?
        /// The times before which flows aren't tried again that couldn't be opened.
        var pauses: [String: MonotonicTime] = [:]
        var latestForgetting: MonotonicTime?
        /// The keys of flows that are to be opened, in the order of the times at which they were due.
        var queue: Deque<String> = []
        /// The keys of flows that are being opened, and whether each has begun meanwhile.
        var opening: [String: Bool] = [:]
    }

    /// The number of flows that are opened at the same time: one that isn't answered for takes a place until its time is over, and the others
    /// go by.
    private static let width = 64

    private let core: FlowStoreCore
    private let owner: @Sendable () -> CoordinatorCell?
    private let state = Lock(State())

    init(_ core: FlowStoreCore, _ owner: CoordinatorCell) {
        self.core = core
        self.owner = { [weak owner] in owner }
    }

    /// The owner, unless it ends or isn't there any more.
    var livingOwner: CoordinatorCell? { owner().flatMap { $0.isStopping ? nil : $0 } }

    func isOwned(by cell: CoordinatorCell) -> Bool { owner() === cell }

    func end() { state.withLock { $0.timer }?.cancel() }

    /// Has the owner look for what is due, if it's active; it looks when it becomes so.
    func look() {
        guard let cell = owner(), cell.isOpenForWork else { return }
        let begins = state.withLock { state -> Bool in
            state.looksAgain = true
            defer { state.isLooking = true }
            return !state.isLooking
        }
        if begins { HandlerScope.perform(in: nil) { _ = cell.handle { await self.wake(cell) } } }
    }

    private func wake(_ cell: CoordinatorCell) async {
        while state.withLock({ state in
            state.isLooking = state.looksAgain
            defer { state.looksAgain = false }
            return state.isLooking
        }) {
            do {
                try await wakeOnce(cell)
            } catch {
                if Task.isCancelled { break }
                cell.logger.error("the store of flows can't be read", metadata: ["error": "\(error)"])
                // A store that this process can't have is the owner's failure: its supervisor decides.
                return cell.end(.failed(.failed("\(error)")))
            }
        }
    }

    private func wakeOnce(_ cell: CoordinatorCell) async throws {
        let (now, present) = (cell.runtime.time.wall, cell.runtime.time.now)
        _ = try await core.open()
        if state.withLock({ state in
            guard state.latestForgetting.map({ present - $0 > .seconds(3_600) }) ?? true else { return false }
            state.latestForgetting = present
            return true
        }) {
            do {
                try await core.storage.forget(before: now + (.zero - FlowStoreCore.retention))
            } catch {
                cell.logger.warning("what is over can't be forgotten in the store of flows", metadata: ["error": "\(error)"])
            }
        }
        let due = try await core.storage.due(by: now).filter { !core.lives($0) }
        state.withLock { state in
            state.pauses = state.pauses.filter { $0.value > present }
            state.queue = Deque(due.filter { state.pauses[$0] == nil && state.opening[$0] == nil })
        }
        openNext(cell)
        let next = try await core.storage.nextDue(after: now)
        let timer = state.withLock { state -> Timers.Call? in
            let pause = state.pauses.values.filter { $0 > present }.min().map { now + ($0 - present) }
            defer {
                state.timer = [next, pause].compactMap { $0 }.min().map { time in
                    cell.runtime.time.schedule(atWall: time) { [weak self] in self?.look() }
                }
            }
            return state.timer
        }
        timer?.cancel()
    }

    /// Starts a flow's coordinator.
    func start(_ key: String) async throws {
        guard let cell = owner() else { throw CoordinatorError(.stopped, "the owner of the store has ended") }
        try await start(key, cell)
    }

    private func start(_ key: String, _ cell: CoordinatorCell) async throws {
        try await cell.open(Route(steps: key.split(separator: "/").map { Route.Step(section: String($0)) }), timeout: .seconds(30))
    }

    /// Notes that a flow has begun, by whomever.
    func hasBegun(_ key: String) { state.withLock { if $0.opening[key] != nil { $0.opening[key] = true } } }

    /// Begins to open the flows that are next, as many as there is room for.
    private func openNext(_ cell: CoordinatorCell) {
        let keys = state.withLock { state -> [String] in
            let keys = state.queue.prefix(max(Self.width - state.opening.count, 0))
            state.queue.removeFirst(keys.count)
            for key in keys { state.opening[key] = false }
            return Array(keys)
        }
        for key in keys {
            HandlerScope.perform(in: nil) {
                _ = cell.handle {
                    await self.open(key, cell)
                    self.openNext(cell)
                }
            }
        }
    }

    private func open(_ key: String, _ cell: CoordinatorCell) async {
        /// Notes the end of the opening; a flow that hasn't begun is tried again after a while.
        func ends() {
            let hasBegun = state.withLock { $0.opening.removeValue(forKey: key) } == true
            if core.lives(key) { return }
            // A parent that opens something else would be asked again at once.
            if !hasBegun { state.withLock { $0.pauses[key] = cell.runtime.time.now + .seconds(60) } }
            look()
        }
        do {
            try await start(key, cell)
            ends()
        } catch {
            if Task.isCancelled { return }
            ends()
            let isParked = (try? await core.storage.row(of: key))?.status == .parked
            cell.logger.error(
                "a flow that has something to do can't be started, and is \(isParked ? "parked" : "tried again in a minute")",
                metadata: ["flow.key": "\(key)", "error": "\(error)"]
            )
        }
    }
}

// MARK: - What a coordinator keeps

/// What durable flows keep for a coordinator.
struct FlowsState: Emptiable, Sendable {
    /// The coordinator's own flow.
    var flow: (any CoordinatorFlow)?
    /// The store that the coordinator owns.
    var store: FlowStoreCore?

    var isEmpty: Bool { flow == nil && store == nil }
}

extension CoordinatorCell.State {
    var flows: FlowsState {
        get { extras.features[FlowsState.self] }
        _modify { yield &extras.features[FlowsState.self] }
    }
}

extension CoordinatorCell {
    /// Whether the coordinator is active and isn't paused.
    var isOpenForWork: Bool { state.withLock { $0.life.phase == .active && !$0.mailbox.isPaused } }

    /// The store of the flows here and below, and the topmost coordinator of this process that has it.
    var flowStore: (core: FlowStoreCore, owner: CoordinatorCell) {
        get throws {
            // A key path to a dependency is made anew each time; it's what the error's text is made from.
            let core = try (dependencies.flows ?? dependencies.required(\.flows)).core
            var owner = self
            while let parent = owner.parent, parent.dependencies.flows?.core === core { owner = parent }
            return (core, owner)
        }
    }

    /// The key of the coordinator's flow in the store of a coordinator above it.
    ///
    /// - Parameter child: The key of a child whose flow is meant instead.
    func flowKey(below owner: CoordinatorCell, child: String? = nil) -> String {
        let components = path.components.dropFirst(owner.path.components.count).map(String.init) + (child.map { [$0] } ?? [])
        return components.joined(separator: "/")
    }

    /// The coordinator's own flow, and the store that it owns.
    var existingFlows: FlowsState? {
        state.withLock { state in state.hasExtras ? state.flows : nil }
    }

    /// Answers the messages that wait for a child whose flow is over, if it had taken them before: they come again because their senders haven't
    /// got the replies.
    func answerAgain(to key: String, by record: FlowRecord) {
        let waiting = state.withLock { state in state.hasExtras ? state.extras.waitingForChildren[key]?.messages ?? [] : [] }
        for envelope in waiting.map(\.envelope) {
            guard let label = envelope.label else { continue }
            switch record.inbox.admission(label.origin, label.sequence) {
            case .known(let reply):
                guard let bytes = try? PayloadCoder.encode(reply, as: .json) else { continue }
                envelope.end(.success(.encoded(.json, bytes)))
            case .forgotten: envelope.end(.success(.none))
            case .new, .full: continue
            }
        }
    }

    /// Begins to start what is due of a store that this coordinator has provided.
    func ownFlows() {
        guard let (core, owner) = try? flowStore, owner === self else { return }
        do throws(CoordinatorError) {
            try core.wake(by: self)
        } catch {
            logger.error("flows below this coordinator can't begin: their store has another owner", metadata: ["error": "\(error)"])
        }
    }

    /// Notes that the coordinator owns a store from now on, which it closes at its end.
    ///
    /// - Returns: False when it's ending.
    func own(_ store: FlowStoreCore) -> Bool {
        state.withLock { state -> Bool in
            switch state.life.phase {
            case .starting, .active, .draining: break
            case .stopping, .stopped: return false
            }
            state.flows.store = store
            return true
        }
    }

    /// Begins the flow's work of a coordinator that is ready; the topmost one of a test's process may own a store that it hasn't provided itself.
    func beginFlows() {
        if parent == nil, dependencies.flows != nil { ownFlows() }
        guard let flows = existingFlows else { return }
        flows.flow?.begin(self)
        flows.store?.look(by: self)
    }

    /// Ends the coordinator's flow, and closes the store that it owns.
    func endFlows() {
        guard let flows = existingFlows else { return }
        flows.flow?.end()
        flows.store?.close(by: self)
    }

    /// Begins what the coordinator's flow has to do, and what is due of the store that it owns.
    func goOnWithFlows() {
        guard let flows = existingFlows else { return }
        flows.flow?.goOn(self)
        flows.store?.look(by: self)
    }
}
