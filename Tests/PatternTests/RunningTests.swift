import ConcurrencySupport
import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: flows under one key", .timeLimit(minutes: 3))
struct PatternRunningTests {
    @Test("A flow under a key that is taken is refused, and the other goes on", arguments: Where.allCases)
    func refused(_ place: Where) async throws {
        try await PageTree.run { tree in
            let first = tree.form("first", place)
            let form = try await tree.started(1)
            for ifRunning in [IfRunning.fail, .join] {
                let error = try await Self.error(of: tree.form("second", place, ifRunning))
                #expect(error.code == (ifRunning == .fail ? .keyInUse : .configurationDiffers))
            }
            // The same configuration isn't enough.
            #expect(try await Self.error(of: tree.form("first", place)).code == .keyInUse)
            try await form.ask(Form.Submit("a"), timeout: .seconds(20))
            #expect(try await first.value == "first: a")
        }
    }

    @Test("Flows that wait for their turn get their own results, in order of arrival", arguments: Where.allCases)
    func turns(_ place: Where) async throws {
        try await PageTree.run { tree in
            let flows = (1...5).map { tree.form("form \($0)", place, .wait) }
            for (index, flow) in flows.enumerated() {
                let form = try await tree.started(index + 1)
                try await form.ask(Form.Submit("\(index)"), timeout: .seconds(20))
                #expect(try await flow.value == "form \(index + 1): \(index)")
            }
            try await tree.isGone("/form")
        }
    }

    @Test("Cancelling a flow that waits lets the next one have its turn", arguments: Where.allCases)
    func cancelledTurns(_ place: Where) async throws {
        try await PageTree.run { tree in
            let flows = (1...4).map { tree.form("form \($0)", place, .wait) }
            let first = try await tree.started(1)
            flows[1].cancel()
            await #expect(throws: CancellationError.self) { _ = try await flows[1].value }
            // At about the time at which its turn comes.
            let submitting = Task { try await first.ask(Form.Submit("a"), timeout: .seconds(20)) }
            flows[2].cancel()
            await #expect(throws: CancellationError.self) { _ = try await flows[2].value }
            try await submitting.value
            #expect(try await flows[0].value == "form 1: a")
            let last = try await tree.shows("form 4 80")
            try await last.ask(Form.Submit("b"), timeout: .seconds(20))
            #expect(try await flows[3].value == "form 4: b")
        }
    }

    @Test("Flows that join get one result, and cancelling one stops none of the others", arguments: Where.allCases)
    func joined(_ place: Where) async throws {
        try await PageTree.run { tree in
            let flows = (1...3).map { _ in tree.form("form", place, .join) }
            let form = try await tree.started(1)
            // The first one has started the child.
            flows[0].cancel()
            await #expect(throws: CancellationError.self) { _ = try await flows[0].value }
            #expect(try await form.ask(Form.Title(), timeout: .seconds(20)) == "form 80 1")
            try await form.ask(Form.Submit("a"), timeout: .seconds(20))
            #expect(try await flows[1].value == "form: a")
            #expect(try await flows[2].value == "form: a")
            #expect(tree.count("/form started") == 1)
        }
    }

    @Test("The child of joined flows is stopped with the last of them, and returns when it's gone", arguments: Where.allCases)
    func lastOne(_ place: Where) async throws {
        try await PageTree.run { tree in
            let flows = (1...3).map { _ in tree.form("form", place, .join) }
            _ = try await tree.started(1)
            for flow in flows { flow.cancel() }
            for flow in flows { await #expect(throws: CancellationError.self) { _ = try await flow.value } }
            #expect(tree.root.child("form") == nil)
            #expect(tree.count("/form stopped") == 1)
        }
    }

    @Test("A flow that joins a child which was started doesn't stop it when it's cancelled", arguments: Where.allCases)
    func joinedStart(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.root.start(FormCoordinator.self, as: "form", in: place.placement) { $0.notebook = tree.notebook }
            let flow = tree.form("form", place, .join)
            flow.cancel()
            await #expect(throws: CancellationError.self) { _ = try await flow.value }
            #expect(try await child.ask(Form.Title(), timeout: .seconds(20)) == "form 80 1")
            #expect(tree.count("/form stopped") == 0)
        }
    }

    @Test("Flows that wait end when their parent stops")
    func parentStops() async throws {
        let flows = Lock<[Task<String, any Error>]>([])
        try await PageTree.run { tree in
            let tasks = (1...3).map { tree.form("form \($0)", .inProcess, .wait) }
            flows.withLock { $0 = tasks }
            _ = try await tree.started(1)
        }
        for flow in flows.withLock({ $0 }) { #expect(try await Self.error(of: flow).code == .stopped) }
    }

    private static func error(of flow: Task<String, any Error>) async throws -> CoordinatorError {
        try #require(try await #require(throws: (any Error).self) { _ = try await flow.value } as? CoordinatorError)
    }
}

@Suite("Pattern: configurations of living children", .timeLimit(minutes: 3))
struct PatternReconfigurationTests {
    @Test("A start with another configuration is refused, and names what differs", arguments: Where.allCases)
    func differs(_ place: Where) async throws {
        try await PageTree.run { tree in
            let form = try await tree.start("form", place)
            let same = try await tree.start("form", place)
            #expect(same.path == form.path)
            let error = try await #require(throws: CoordinatorError.self) { _ = try await tree.start("other", place) }
            #expect(error.code == .configurationDiffers)
            #expect(error.message.contains("/form") && error.message.contains("title") && !error.message.contains("width"))
            #expect(try await form.ask(Form.Title(), timeout: .seconds(20)) == "form 80 1")
            #expect(tree.count("/form started") == 1)
        }
    }

    @Test("A living child takes a changed configuration by its hook, and keeps it in its next life", arguments: Where.allCases)
    func taken(_ place: Where) async throws {
        try await PageTree.run { tree in
            let form = try await tree.start("form", place)
            try await form.reconfigure(timeout: .seconds(20)) { $0.title = "new" }
            #expect(try await form.ask(Form.Title(), timeout: .seconds(20)) == "new 80 1")
            #expect(tree.count("/form form becomes new") == 1)
            // Without a difference nothing happens.
            try await form.reconfigure { $0.title = "new" }
            #expect(tree.count("/form started") == 1)
            try await form.restart()
            #expect(try await form.ask(Form.Title(), timeout: .seconds(20)) == "new 80 2")
            // It's the child's configuration now.
            _ = try await tree.start("new", place)
        }
    }

    @Test("A child that can't take it alive is restarted with it, also with a value that is absent", arguments: Where.allCases)
    func restarted(_ place: Where) async throws {
        try await PageTree.run { tree in
            let form = try await tree.start("form", place)
            try await form.reconfigure(timeout: .seconds(20)) { $0.width = nil }
            #expect(try await form.ask(Form.Title(), timeout: .seconds(20)) == "form - 2")
            #expect(tree.count("/form started") == 2)
            try await form.reconfigure(timeout: .seconds(20)) { $0.title = "new" }
            #expect(try await form.ask(Form.Title(), timeout: .seconds(20)) == "new - 2")
        }
    }

    @Test("A configuration that the child refuses stays away from its later lives too", arguments: Where.allCases)
    func refused(_ place: Where) async throws {
        try await PageTree.run { tree in
            let form = try await tree.start("form", place)
            await #expect(throws: Fixture.Refusal("a form needs a title")) {
                try await form.reconfigure(timeout: .seconds(20)) { $0.title = "" }
            }
            #expect(try await form.ask(Form.Title(), timeout: .seconds(20)) == "form 80 1")
            try await form.restart()
            #expect(try await form.ask(Form.Title(), timeout: .seconds(20)) == "form 80 2")
            await form.remove()
            await Support.expect(.noSuchChild) { try await form.reconfigure { $0.title = "late" } }
        }
    }

    @Test("Changes that wait for one that is refused begin with what the child has kept", arguments: Where.allCases)
    func afterRefusal(_ place: Where) async throws {
        try await PageTree.run { tree in
            let form = try await tree.start("form", place)
            // All three wait in turn for the first, which waits for a child that is paused.
            await form.pause()
            let changes = ["first", "", "last"].map { title in
                Task.immediate { try await form.reconfigure(timeout: .seconds(20)) { $0.title = title } }
            }
            await form.resume()
            try await changes[0].value
            await #expect(throws: Fixture.Refusal("a form needs a title")) { try await changes[1].value }
            try await changes[2].value
            #expect(try await form.ask(Form.Title(), timeout: .seconds(20)) == "last 80 1")
        }
    }

    /// A coordinator whose configuration can be in one process only.
    private actor Local: Coordinator {
        struct Configuration: CoordinatorConfiguration {
            init() {}
            init(from decoder: any Decoder) throws { throw Fixture.Refusal("it can't be decoded") }
            func encode(to encoder: any Encoder) throws { throw Fixture.Refusal("it can't be encoded") }
        }

        nonisolated let context: Context
        init(_ context: Context) { self.context = context }
    }

    @Test("A living child that an operator starts again isn't compared with itself")
    func startedWhileItLives() async throws {
        try await PageTree.run { tree in
            let child = try await tree.root.start(Local.self, as: "local")
            #expect(try await tree.runtime.start("/local").state == .active)
            #expect(child.incarnation == 1)
        }
    }

    @Test("A coordinator without the hook is restarted", arguments: Where.allCases)
    func withoutHook(_ place: Where) async throws {
        try await PageTree.run { tree in
            let step = try await tree.step("step", place)
            try await step.reconfigure(timeout: .seconds(20)) { $0.eventsAtStart = [.count(1)] }
            #expect(step.incarnation == 2)
        }
    }

    @Test("The configuration of a flow that is run may be changed, and its result reaches the call", arguments: Where.allCases)
    func flow(_ place: Where) async throws {
        try await PageTree.run { tree in
            let flow = tree.form("form", place)
            let form = try await tree.started(1)
            try await form.reconfigure(timeout: .seconds(20)) { $0.width = 60 }
            try await form.reconfigure(timeout: .seconds(20)) { $0.title = "new" }
            try await form.ask(Form.Submit("a"), timeout: .seconds(20))
            #expect(try await flow.value == "new: a")
        }
    }
}

extension PageTree {
    /// Runs a form to its end.
    fileprivate func form(_ title: String, _ place: Where, _ ifRunning: IfRunning = .fail) -> Task<String, any Error> {
        Task.immediate {
            try await root.run(FormCoordinator.self, as: "form", in: place.placement, ifRunning: ifRunning) {
                $0.notebook = notebook
                $0.title = title
            }
        }
    }

    fileprivate func start(_ title: String, _ place: Where) async throws -> Child<FormCoordinator> {
        try await start(FormCoordinator.self, as: "form", place) { $0.title = title }
    }

    /// Waits until a form has started so many times, and is there.
    fileprivate func started(_ times: Int) async throws -> Child<FormCoordinator> {
        try await reads("/form started", times: times)
        return try #require(root.child("form", as: FormCoordinator.self))
    }

    /// Waits until the form shows a title, and returns its handle.
    fileprivate func shows(_ title: String) async throws -> Child<FormCoordinator> {
        try await eventually("'\(title)' is shown") {
            guard let form = root.child("form", as: FormCoordinator.self) else { return false }
            return (try? await form.ask(Form.Title(), timeout: .seconds(5)))?.hasPrefix(title) == true
        }
        return try #require(root.child("form", as: FormCoordinator.self))
    }
}
