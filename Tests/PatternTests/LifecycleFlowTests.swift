import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Pattern: flows", .timeLimit(minutes: 3))
struct LifecycleFlowTests {
    // MARK: Finishing

    @Test("A run starts a child, waits for its finish, removes it, and returns the output", arguments: Where.allCases)
    func run(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let login = Task {
                try await tree.context.run(LifeChild.self, as: "login", in: place.placement) { $0.journal = tree.journal }
            }
            try await eventually("it's there") { tree.context.child("login")?.state == .active }
            _ = try? await tree.perform(.finish("Ada"), at: "/login")
            #expect(try await login.value == "Ada")
            #expect(tree.context.child("login") == nil)
            #expect(tree.lines("start", "stop") == ["start /login", "stop /login"])
            let next = try await tree.context.run(LifeChild.self, as: "login", in: place.placement) {
                $0.greeting = "Grace"
                $0.opening = .finishes
            }
            #expect(next == "Grace")
        }
    }

    @Test("A child that finishes within its start hook has ended normally", arguments: Where.allCases)
    func declines(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let happenings = tree.runtime.tap()
            _ = try await tree.context.run(LifeChild.self, as: "login", in: place.placement) { $0.opening = .finishes }
            for await event in happenings {
                guard event.path == "/login", case .lifecycle(let change) = event.kind, change != .started else { continue }
                #expect(change == .stopped(.normal))
                break
            }
        }
    }

    @Test("The registration runs first, then the dashboard, and the key is free in between", arguments: Where.allCases)
    func registrationThenDashboard(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let what = try await tree.runtime.ask(LifecycleRoot.Onboard(inWorker: place.isWorker), timeout: .seconds(30))
            #expect(what == "Ada, registration gone, then /dashboard")
            #expect(tree.lines("start", "stop") == ["start /registration", "stop /registration", "start /dashboard"])
            #expect(try await tree.perform(.greeting, at: "/dashboard") == "Ada")
            #expect(tree.context.children.map(\.path) == ["/dashboard"])
        }
    }

    @Test("A child that finishes by itself is gone before its parent gets the event", arguments: Where.allCases)
    func finishIsHeard(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            _ = try? await child.perform(.finish("done"))
            try await eventually("the parent hears of it") { tree.journal.lines.last == "gone /a" }
            #expect(tree.journal.lines == ["start /a", "stop /a", "heard stopped /a", "gone /a"])
            #expect(child.state == .inactive)
        }
    }

    @Test("A run throws when the child ends for good before it has finished", arguments: Where.allCases)
    func diesForGood(_ place: Where) async throws {
        try await LifecycleTree.run(Support.options.allowing(restarts: 1)) { tree in
            let login = Task {
                try await tree.context.run(LifeChild.self, as: "login", in: place.placement) { $0.journal = tree.journal }
            }
            for life in 1...2 {
                _ = try await tree.place(of: "/login", incarnation: UInt32(life))
                _ = try? await tree.perform(.fail, at: "/login")
            }
            switch await login.result {
            case .success(let output): Issue.record("it can't have finished with \(output)")
            case .failure: break
            }
            #expect(tree.context.child("login") == nil)
        }
    }

    // MARK: Nothing is left

    @Test("A stop and a finish leave nothing of a path", arguments: Where.allCases)
    func nothingLeft(_ place: Where) async throws {
        var options = Support.options
        let directory = try TemporaryDirectory()
        options.runtimeDirectory = directory.path
        try await LifecycleTree.run(options) { tree in
            // The first worker makes what belongs to the process as a whole: the listener and its socket.
            try await tree.startChild("first", place)
            try await tree.context.remove("first")
            try await eventually("its node is gone") { tree.runtime.counters.coordinators == 1 }
            let sockets = directory.entries
            let before = tree.runtime.counters
            for finishes in [true, false] {
                let child = try await tree.startChild("a", place) { $0.greeting = "nothing left" }
                try await child.perform(.startChild("b", inWorker: place.isWorker))
                try await child.perform(.show(1))
                let processes = try await [tree.whereIs("/a").pid, tree.whereIs("/a/b").pid]
                let open = Task.immediate { try await child.perform(.hang, timeout: .seconds(60)) }
                if finishes {
                    _ = try? await child.perform(.finish("done"))
                } else {
                    try await tree.context.remove("a")
                }
                await Support.expect(.stopped) { _ = try await open.value }
                try await eventually("the list is empty") { tree.context.children.isEmpty }
                try await eventually("its actor is gone") { LiveInstances.count(of: "nothing left") == 0 }
                if place.isWorker {
                    try await eventually("its processes are gone") {
                        processes.allSatisfy { kill($0, 0) == -1 && errno == ESRCH }
                    }
                }
                try await eventually("its sockets are gone") { directory.entries == sockets }
                try await eventually("its pages are gone") { try await tree.runtime.navigation().isEmpty }
                try await eventually("nothing of it is counted") {
                    tree.runtime.counters == before
                }
            }
        }
        #expect(directory.entries.isEmpty)
    }

    // MARK: A flow is entered through its coordinator

    @Test("Another flow's page is reached by starting its coordinator, or by a deep link that does", arguments: Where.allCases)
    func entryPoint(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            #expect(try await tree.runtime.navigation().isEmpty)
            let flow = try await tree.startChild("flow", place)
            tree.context.show(.home)
            try await flow.perform(.show(1))
            try await eventually("each page is its coordinator's") {
                try await tree.runtime.navigation().map(\.path) == ["/", "/flow"]
            }
            #expect(tree.context.pages == [.home])
            #expect(try await flow.perform(.pages) == "step(1)")
            // The link leads to a coordinator that isn't there, and so it's started.
            try await tree.runtime.open(Route("flow").then("inner", LifeChild.Page.step(7)))
            #expect(tree.journal.lines.contains("start /flow/inner"))
            #expect(try await tree.perform(.pages, at: "/flow/inner") == "step(7)")
            try await eventually("its page is on top") {
                try await tree.runtime.navigation().map(\.path) == ["/", "/flow", "/flow/inner"]
            }
        }
    }

    @Test("A deep link can't bypass a coordinator that doesn't lead there", arguments: Where.allCases)
    func noWayAround(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.context.start(SmallestCoordinator.self, as: "closed", in: place.placement)
            // Its `open` hook is the default one.
            await Support.expect(.noSuchChild) { try await tree.runtime.open(Route("closed").then("inner", LifeChild.Page.step(7))) }
            #expect(try await tree.runtime.navigation().isEmpty)
        }
    }

    // MARK: The choice of a start

    @Test("A start hook chooses the child by its data, and chooses the same after a crash", arguments: Where.allCases, [true, false])
    func startChooses(_ place: Where, _ isLoggedIn: Bool) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.context.start(LifeChooser.self, as: "a", in: place.placement) { $0.isLoggedIn = isLoggedIn }
            let expected = isLoggedIn ? "/a/main" : "/a/login"
            for life in 1...3 {
                _ = try await tree.place(of: "/a", incarnation: UInt32(life))
                try await eventually("life \(life) has chosen") {
                    try await tree.runtime.snapshot(of: "/a").children.map(\.path.description) == [expected]
                }
                if life < 3 { _ = try? await child.ask(Fixture.Fail()) }
            }
        }
    }

    // MARK: One flow, used twice

    @Test("One type under two keys has two configurations and two states", arguments: Where.allCases)
    func reuse(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let onboarding = try await tree.startChild("onboarding", place) { $0.greeting = "create" }
            let editing = try await tree.startChild("editing", place) { $0.greeting = "change" }
            #expect(try await onboarding.perform(.greeting) == "create")
            #expect(try await editing.perform(.greeting) == "change")
            for _ in 0..<3 { try await onboarding.perform(.count) }
            #expect(try await onboarding.perform(.count) == "4")
            #expect(try await editing.perform(.count) == "1")
            await onboarding.remove()
            #expect(try await editing.perform(.count) == "2")
        }
    }

    // MARK: Started by the parent only

    @Test("A child is started through its parent, and only the runtime runs its hooks", arguments: Where.allCases)
    func onlyByTheParent(_ place: Where) async throws {
        // A handle has no `start`, and a context no public initialiser: what remains to be tested is the operator's way.
        try await LifecycleTree.run { tree in
            await #expect(throws: CoordinatorError.self) { try await tree.runtime.start("/a") }
            let child = try await tree.startChild("a", place)
            await #expect(throws: CoordinatorError.self) { try await tree.runtime.start("/a/b") }
            try await tree.runtime.start("/a")
            #expect(tree.journal.lines == ["start /a"])
            try await tree.runtime.stop("/a")
            #expect(try await tree.runtime.start("/a").state == .active)
            #expect(child.incarnation == 2)
            #expect(tree.lines("start", "stop") == ["start /a", "stop /a", "start /a"])
            try await eventually("the parent hears what it hasn't done") {
                await tree.root.heard == ["stopped /a", "started /a"]
            }
            await Support.expect(.stopped) { try await tree.runtime.start() }
        }
    }
}
