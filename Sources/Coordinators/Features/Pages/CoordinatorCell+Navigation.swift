import ConcurrencySupport
import Logging
import Supervision
import Synchronization
import WireProtocol

extension CoordinatorCell {
    /// Makes a move on the stack that the coordinator shares with others.
    ///
    /// A move that can't be sent to the stack's owner isn't made here either.
    func navigate(_ move: NavigationMove) {
        let request = Navigate(move: move, path: path, incarnation: incarnation)
        if let error = refusal(of: request) {
            logger.error("a page is larger than a frame may be, and isn't shown", metadata: ["error": "\(error)"])
            let reason = DeadLetter.Reason.undeliverable("\(error)")
            return runtime.observation.deadLetters.record(DeadLetter(name: Navigate.name, sender: path, target: path, reason: reason))
        }
        state.withLock { state in
            state.pages.shown.apply(move, by: path, incarnation)
        }
        runtime.execution.hasNavigated.store(true, ordering: .relaxed)
        send(request)
    }

    private func refusal(of request: Navigate) -> CoordinatorError? {
        navigationOwner == nil ? runtime.links.uplink?.refusal(of: request) : nil
    }

    /// The coordinator in this process whose stack this one shares; `nil` when it's further up.
    var navigationOwner: CoordinatorCell? { ownsNavigation ? self : parent?.navigationOwner }

    private var ownsNavigation: Bool { type.ownsNavigation || isRoot }

    /// The stack of pages that this coordinator and those below it share, if it owns one.
    var ownNavigation: NavigationStack? {
        guard ownsNavigation else { return nil }
        return state.withLock { state in
            if let stack = state.pages.stack { return stack }
            let new = NavigationStack()
            state.pages.stack = new
            return new
        }
    }

    /// Handles a message about the stack at its owner, if that is in this process.
    func climbToPages(_ envelope: Envelope, _ builtin: Builtin) {
        // Pages that are shown below must be rewound from here.
        runtime.execution.hasNavigated.store(true, ordering: .relaxed)
        guard let owner = navigationOwner else { return leaveProcess(envelope) }
        owner.carryOut(envelope) {
            switch builtin {
            case .navigate:
                owner.apply(try envelope.message(as: Navigate.self))
                return .none
            case .readNavigation: return .value(owner.ownNavigation?.entries ?? [])
            default: throw owner.unknown(envelope)
            }
        }
    }

    /// Removes the pages of a subtree that has ended.
    func rewind(_ path: CoordinatorPath) {
        // Where no page was ever shown there is nothing to rewind; workers below may have shown some.
        guard runtime.execution.hasNavigated.load(ordering: .relaxed) else { return }
        send(Navigate(move: .rewind, path: path, incarnation: 0))
    }

    /// Carries out a move at the stack's owner, and informs the coordinators that it concerns.
    func apply(_ request: Navigate) {
        guard let ownNavigation else { return }
        runtime.execution.hasNavigated.store(true, ordering: .relaxed)
        let isFull = ownNavigation.isFull(for: request.move, by: request.path)
        if isFull.now {
            let reason = "the stack of \(path) has as many pages as there may be"
            if isFull.first { logger.error("a page isn't shown", metadata: ["page.of": "\(request.path)", "error": "\(reason)"]) }
            let letter = DeadLetter(name: Navigate.name, sender: request.path, target: path, reason: .undeliverable(reason))
            // It has made the move on its side.
            send(SetPages(pages: ownNavigation.entries.filter { $0.path == request.path }), to: request.path)
            return runtime.observation.deadLetters.record(letter)
        }
        let effects = ownNavigation.apply(request.move, by: request.path, incarnation: request.incarnation)
        for (path, slice) in effects.slices { send(SetPages(pages: slice), to: path) }
        for path in effects.finished where path != self.path {
            guard let parent = path.parent else { continue }
            send(FinishPopped(key: path.key, incarnation: effects.incarnations[path] ?? 0), to: parent)
        }
        guard let uncovered = effects.uncovered else { return }
        send(Uncovered(page: uncovered.page), to: uncovered.path ?? path)
    }

    /// Takes over the coordinator's pages after a move of another.
    func setPages(_ pages: [NavigationEntry]) {
        state.withLock { $0.pages.shown = pages }
    }

    /// The coordinator's own pages, bottom first.
    var pages: [JSONValue] {
        let (source, shown) = state.withLock { ($0.pages.source, $0.pages.shown) }
        return source?() ?? shown.map(\.page)
    }

    /// Returns the whole stack, wherever its owner is.
    func navigationEntries() async throws -> [NavigationEntry] {
        try await request(ReadNavigation(), by: runtime.time.now + .seconds(5)) { climb($0) }.decoded(as: [NavigationEntry].self)
    }

    private func send(_ message: some BuiltinMessage) {
        climb(envelope(of: message))
    }

    private func send(_ message: some BuiltinMessage, to target: CoordinatorPath) {
        route(envelope(of: message), to: target)
    }

    private func envelope<M: BuiltinMessage>(of message: M) -> Envelope {
        let asker = Envelope.Asker.function { [weak self] result in
            guard case .failure(let error as CoordinatorError) = result, error.code == .messageTooLarge else { return }
            self?.logger.error("others can't be told of a page", metadata: ["message.name": "\(M.name)", "error": "\(error)"])
        }
        return Envelope(.value(message), asker: asker, sender: path, deadline: nil, isOneWay: true, isBuiltin: true)
    }

    // MARK: Dismissal

    /// Returns whether the first page of this coordinator's own stack is a child's.
    func isFirstOnOwnStack(_ path: CoordinatorPath) -> Bool {
        guard type.ownsNavigation else { return false }
        return ownNavigation?.entries.first?.path.isWithin(path) ?? false
    }
}

// MARK: - Opening a deep link

extension CoordinatorCell {
    /// The row of every coordinator that shows a page of its own, and opens the rest of the route below.
    static let openRow = MessageRow(.type(OpenRoute.self)) { coordinator, envelope, receiver, _ in
        let cell = CoordinatorCell.of(receiver)
        let route = try envelope.message(as: OpenRoute.self)
        if let page = route.page { try await cell.type.display(coordinator, page) }
        try await cell.open(route.rest, by: coordinator, deadline: envelope.deadline)
        return .value(NoReply())
    }

    /// Opens the rest of a route below this coordinator.
    func open(_ steps: [Route.Step], by coordinator: any Coordinator, deadline: MonotonicTime?) async throws {
        guard let step = steps.first else { return }
        if existingChildren?.lives(step.section) != true { try await type.open(coordinator, step.section) }
        let onward = OpenRoute(page: step.page, rest: Array(steps.dropFirst()))
        _ = try await request(onward, by: deadline) { children.deliver($0, to: step.section, [], isDirect: true) }
    }

    /// Opens a route below this coordinator, in its turn among the coordinator's messages.
    func open(_ route: Route, timeout: Duration) async throws {
        _ = try await request(OpenRoute(page: nil, rest: route.steps), by: runtime.time.now + timeout) { acceptBuiltin($0) }
    }
}

extension CoordinatorRuntime {
    /// Opens a route from the root down; see `CoordinatorContext.open`.
    public func open(_ route: Route, timeout: Duration = .seconds(30)) async throws {
        try await root.open(route, timeout: timeout)
    }

    /// Returns the pages of the whole tree's stack, bottom first.
    public func navigation() async throws -> [NavigationEntry] { try await root.navigationEntries() }
}

/// What pages and tabs keep for a coordinator.
struct PagesState: Emptiable, Sendable {
    /// The coordinator's own pages, bottom first.
    var shown: [NavigationEntry] = []
    /// Returns the pages, bottom first, of a coordinator that has them elsewhere.
    var source: (@Sendable () -> [JSONValue])?
    /// The active child of a tab coordinator.
    var selected: String?
    /// The stack that the coordinator and those below it share, once it's needed, if the coordinator owns one.
    var stack: NavigationStack?

    var isEmpty: Bool { shown.isEmpty && source == nil && selected == nil && stack == nil }
}

extension CoordinatorCell.State {
    var pages: PagesState {
        get { extras.features[PagesState.self] }
        _modify { yield &extras.features[PagesState.self] }
    }
}

/// A request that climbs to the owner of the stack.
struct Navigate: BuiltinMessage {
    static var builtin: Builtin { .navigate }
    var move: NavigationMove
    var path: CoordinatorPath
    var incarnation: Incarnation
}

/// A request that climbs to the owner of the stack.
struct ReadNavigation: BuiltinMessage {
    static var builtin: Builtin { .readNavigation }
    typealias Reply = [NavigationEntry]
}

/// A notice that another coordinator has changed the receiver's slice of the stack.
struct SetPages: BuiltinMessage {
    static var builtin: Builtin { .setPages }
    var pages: [NavigationEntry]
}

/// A notice that the coordinator is on top again.
struct Uncovered: BuiltinMessage {
    static var builtin: Builtin { .uncovered }
    var page: JSONValue?
}

/// A notice to the parent that a child's first page was popped.
struct FinishPopped: BuiltinMessage {
    static var builtin: Builtin { .finishPopped }
    var key: String
    /// The incarnation that has shown the page; a later one isn't meant.
    var incarnation: Incarnation
}

/// A request to show a page of the coordinator's own, and to open the rest of the route below it.
struct OpenRoute: BuiltinMessage {
    static var builtin: Builtin { .openRoute }
    var page: JSONValue?
    var rest: [Route.Step]
}

extension Coordinator {
    /// Shows the page on top, unless it's there.
    public func display(page: Page) async throws {
        if context.pages.last != page { context.show(page) }
    }
}
