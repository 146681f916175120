import Coordinators
import Fixtures
import Logging
import TestSupport
import Testing

@Suite("Pattern: look-up, tasks and tabs", .timeLimit(minutes: 3))
struct TapContextTests {
    @Test("A child is found by key, by type, and by both", arguments: Where.allCases)
    func lookUp(_ place: Where) async throws {
        try await PageTree.run { tree in
            #expect(tree.root.child(StepCoordinator.self) == nil)
            try await tree.root.start(LoginFlow.self, as: "login", in: place.isWorker ? .worker : .inProcess)
            try await tree.step("one", place)
            try await tree.step("two", place)
            // The first of its type, in start order.
            let first = try #require(tree.root.child(StepCoordinator.self))
            #expect(first.path == "/one")
            let second = try #require(tree.root.child("two", as: StepCoordinator.self))
            let there = try await second.ask(Fixture.WhereAmI(), timeout: .seconds(15))
            #expect(there.path == "/two")
            let erased = try #require(tree.root.child("login"))
            #expect(erased.path == "/login")
            // Another type lives under the key.
            #expect(tree.root.child("login", as: StepCoordinator.self) == nil)
            #expect(tree.root.child(SmallestCoordinator.self) == nil)
            #expect(tree.root.child("three") == nil)
            try await tree.root.remove("one")
            let next = try #require(tree.root.child(StepCoordinator.self))
            #expect(next.path == "/two")
        }
    }

    @Test("Children are listed by state", arguments: Where.allCases)
    func byState(_ place: Where) async throws {
        try await PageTree.run { tree in
            for key in ["one", "two", "three"] { try await tree.step(key, place) }
            try await tree.root.pause("two")
            #expect(tree.root.children(in: .active).map(\.path) == ["/one", "/three"])
            #expect(tree.root.children(in: .paused).map(\.path) == ["/two"])
            #expect(tree.root.children(in: .failed).isEmpty)
            #expect(tree.root.children.map(\.path) == ["/one", "/two", "/three"])
        }
    }

    @Test("A coordinator's tasks are cancelled and awaited when it stops", arguments: Where.allCases)
    func tasks(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            for _ in 0..<3 { try await tree.perform(.beginTask, at: "/child") }
            try await tree.reads("/child task began", times: 3)
            try await tree.root.remove("child")
            // They have ended before the hook ran, and so before the stop has returned.
            let words = tree.notebook.words(at: "/child").filter { $0 != "task began" }
            #expect(words == ["start", "task cancelled", "task cancelled", "task cancelled", "stop"])
        }
    }

    @Test("A coordinator's tasks end with its incarnation, and go on during a pause", arguments: Where.allCases)
    func tasksAndPause(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            try await tree.perform(.beginTask, at: "/child")
            try await tree.reads("/child task began")
            try await tree.root.pause("child")
            try await tree.root.resume("child")
            #expect(tree.count("/child task cancelled") == 0)
            await tree.fail("/child")
            try await tree.reaches(.active, at: "/child", incarnation: 2)
            #expect(tree.count("/child task cancelled") == 1)
        }
    }

    @Test("A task that throws is logged, and its coordinator lives on", arguments: Where.allCases)
    func taskThatThrows(_ place: Where) async throws {
        var options = Support.options
        // The warning is expected.
        options.logger.logLevel = .critical
        try await PageTree.run(options: options) { tree in
            let child = try await tree.step("child", place)
            try await tree.perform(.beginTaskThatThrows, at: "/child")
            try await tree.reads("/child task threw")
            let echo = try await tree.perform(.echo("still there"), at: "/child")
            #expect(echo == "still there")
            #expect(child.state == .active)
            #expect(child.incarnation == 1)
        }
    }

    @Test("Exactly one tab is active, and a tab is started when it is first selected", arguments: Where.allCases)
    func tabs(_ place: Where) async throws {
        try await PageTree.run { tree in
            let tabs = try await tree.tabs(place)
            let none = try await tabs.ask(TabsCoordinator.Selected(), timeout: .seconds(15))
            #expect(none == "none")
            #expect(try await tree.states(of: "/tabs") == [:])
            try await tabs.ask(TabsCoordinator.Select("one"), timeout: .seconds(20))
            #expect(try await tree.states(of: "/tabs") == ["/tabs/one": .active])
            try await tabs.ask(TabsCoordinator.Select("two"), timeout: .seconds(20))
            #expect(try await tree.states(of: "/tabs") == ["/tabs/one": .paused, "/tabs/two": .active])
            try await tabs.ask(TabsCoordinator.Select("three"), timeout: .seconds(20))
            try await tabs.ask(TabsCoordinator.Select("one"), timeout: .seconds(20))
            #expect(try await tree.states(of: "/tabs") == ["/tabs/one": .active, "/tabs/two": .paused, "/tabs/three": .paused])
            let selected = try await tabs.ask(TabsCoordinator.Selected(), timeout: .seconds(15))
            #expect(selected == "one")
            // Selecting the selected does nothing.
            try await tabs.ask(TabsCoordinator.Select("one"), timeout: .seconds(20))
            #expect(tree.notebook.words(at: "/tabs") == ["startTab one", "startTab two", "startTab three"])
            #expect(tree.notebook.words(at: "/tabs/one") == ["start", "pause", "resume"])
        }
    }

    @Test("Selections at the same time leave one tab active", arguments: Where.allCases)
    func concurrentTabs(_ place: Where) async throws {
        try await PageTree.run { tree in
            let tabs = try await tree.tabs(place)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<12 {
                    group.addTask {
                        try await tabs.ask(TabsCoordinator.Select(["one", "two", "three"][number % 3]), timeout: .seconds(30))
                    }
                }
                try await group.waitForAll()
            }
            let states = try await tree.states(of: "/tabs")
            #expect(states.values.count { $0 == .active } == 1)
            #expect(states.values.count { $0 == .paused } == 2)
            let selected = try await tabs.ask(TabsCoordinator.Selected(), timeout: .seconds(15))
            #expect(states[CoordinatorPath.root.appending("tabs").appending(selected)] == .active)
            #expect(tree.notebook.words(at: "/tabs").sorted() == ["startTab one", "startTab three", "startTab two"])
        }
    }

    @Test("A tab that can't be started leaves the former one selected", arguments: Where.allCases)
    func failingTab(_ place: Where) async throws {
        try await PageTree.run { tree in
            let tabs = try await tree.tabs(place)
            try await tabs.ask(TabsCoordinator.Select("one"), timeout: .seconds(20))
            await #expect(throws: (any Error).self) { try await tabs.ask(TabsCoordinator.Select("missing"), timeout: .seconds(20)) }
            let selected = try await tabs.ask(TabsCoordinator.Selected(), timeout: .seconds(15))
            #expect(selected == "one")
            #expect(try await tree.states(of: "/tabs") == ["/tabs/one": .active])
        }
    }

    @Test("A tab that crashes comes back as it was, covered or selected", arguments: Where.allCases)
    func crashingTab(_ place: Where) async throws {
        try await PageTree.run { tree in
            let tabs = try await tree.tabs(place)
            try await tabs.ask(TabsCoordinator.Select("one"), timeout: .seconds(20))
            try await tree.perform(.failAt(line: "fail now"), at: "/tabs/one")
            try await tabs.ask(TabsCoordinator.Select("two"), timeout: .seconds(20))
            tree.notebook.note("fail now")
            try await tree.reaches(.paused, at: "/tabs/one", incarnation: 2)
            await tree.fail("/tabs/two")
            try await tree.reaches(.active, at: "/tabs/two", incarnation: 2)
            #expect(try await tree.states(of: "/tabs") == ["/tabs/one": .paused, "/tabs/two": .active])
        }
    }
}

extension PageTree {
    fileprivate func tabs(_ place: Where) async throws -> Child<TabsCoordinator> {
        try await start(TabsCoordinator.self, as: "tabs", place) { $0.inWorker = place.isWorker }
    }

    fileprivate func states(of path: CoordinatorPath) async throws -> [CoordinatorPath: CoordinatorState] {
        let children = try await runtime.snapshot(of: path).children
        return Dictionary(uniqueKeysWithValues: children.map { ($0.path, $0.state) })
    }
}
