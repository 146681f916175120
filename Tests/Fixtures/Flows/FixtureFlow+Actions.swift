public import Coordinators

extension FixtureFlow {
    /// Makes a step coordinator do something from where it is.
    public struct Do: ResponderMessage {
        public typealias Reply = String
        public var action: Action
        public init(_ action: Action) { self.action = action }
    }

    public enum Action: Codable, Sendable {
        /// Asks the root.
        case echo(String)
        case emit(StepCoordinator.Event)
        /// Emits `count(1)` to `count(n)`.
        case emitCounts(Int)
        case show(StepCoordinator.Page)
        case replaceTop(StepCoordinator.Page)
        case setRoot(StepCoordinator.Page)
        case pop
        case popTo(StepCoordinator.Page)
        case present(StepCoordinator.Page)
        case dismiss
        /// The paths on the whole stack, bottom first, as seen from here.
        case navigation
        /// Notes down "granted" or "refused": who is granted it may not live to answer.
        case requestDismissal(milliseconds: Int)
        case fail
        /// Begins a task that fails the coordinator when the notebook reads the line: paused coordinators take no messages.
        case failAt(line: String)
        /// Notes down "held", waits for the line, then asks the basket's owner.
        case holdThenAdd(line: String)
        case holdThenEcho(line: String)
        /// Begins a task that notes down its begin and its cancellation.
        case beginTask
        case beginTaskThatThrows
        case add(sku: String)
        case toggle
        case basketOfUnknown
        /// Sends messages that no coordinator above answers, or whose handlers fail.
        case sendFailing
        case route(Route)
    }
}

extension StepCoordinator {
    func perform(_ action: FixtureFlow.Action) async throws -> String {
        switch action {
        case .echo(let text): return try await context.ask(Fixture.Echo(text), timeout: .seconds(15))
        case .emit(let event): context.delegates => event
        case .emitCounts(let count): for number in 0..<count { context.delegates => .count(number + 1) }
        case .show(let page): context.show(page)
        case .replaceTop(let page): context.replaceTop(page)
        case .setRoot(let page): context.setRoot(page)
        case .pop: context.pop()
        case .popTo(let page): context.pop(to: page)
        case .present(let page): context.present(page)
        case .dismiss: context.dismiss()
        case .navigation: return try await context.navigation().map { "\($0.path)" }.joined(separator: " ")
        case .requestDismissal(let milliseconds):
            context.task { [context, configuration] in
                let isGranted = await context.requestDismissal(timeout: .milliseconds(milliseconds))
                configuration.notebook.note(context.path, isGranted ? "granted" : "refused")
            }
        case .fail: context.fail(Fixture.Refusal("told to fail"))
        case .failAt(let line):
            context.task { [context, configuration] in
                try await configuration.notebook.wait(for: line)
                context.fail(Fixture.Refusal("read the line"))
            }
        case .holdThenAdd(let line):
            note("held")
            try await configuration.notebook.wait(for: line)
            return try await String(context.ask(Basket.Add(sku: "held"), timeout: .seconds(20)))
        case .holdThenEcho(let line):
            note("held")
            try await configuration.notebook.wait(for: line)
            return try await context.ask(Fixture.Echo("let go"), timeout: .seconds(20))
        case .beginTask:
            context.task { [context, configuration] in
                configuration.notebook.note(context.path, "task began")
                do {
                    try await Fixture.untilCancelled()
                } catch {
                    configuration.notebook.note(context.path, "task cancelled")
                    throw error
                }
            }
        case .beginTaskThatThrows:
            context.task { [context, configuration] in
                configuration.notebook.note(context.path, "task threw")
                throw Fixture.Refusal("a task's error")
            }
        case .add(let sku): return try await String(context.ask(Basket.Add(sku: sku), timeout: .seconds(15)))
        case .toggle: try await context.ask(Basket.Toggle(), timeout: .seconds(15))
        case .basketOfUnknown: try await context.ask(Basket.Unknown(), timeout: .seconds(15))
        case .sendFailing: try await context.send(Fixture.Refuse(asCodable: true))
        case .route(let route): try await context.open(route, timeout: .seconds(15))
        }
        return "done"
    }
}
