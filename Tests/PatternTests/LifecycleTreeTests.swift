import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

/// Known to this program and not to the worker's.
private actor Unlisted: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
}

@Suite("Pattern: the tree", .timeLimit(minutes: 3))
struct LifecycleTreeTests {
    // MARK: Start registers, then starts, then returns the child

    @Test("A child is registered before its start hook, which may ask the parent that is starting it", arguments: Where.allCases)
    func registeredBeforeStart(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.runtime.ask(LifecycleRoot.StartChild(key: "a", inWorker: place.isWorker), timeout: .seconds(30))
            #expect(tree.journal.lines == ["known true", "start /a"])
        }
    }

    @Test("A start returns the child that it has started", arguments: Where.allCases)
    func returnsTheChild(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place) { $0.greeting = "mine" }
            #expect(child.path == "/a")
            #expect(try await child.perform(.greeting) == "mine")
            let again = try await tree.startChild("a", place) { $0.greeting = "mine" }
            #expect(try await again.perform(.greeting) == "mine")
            #expect(try await again.perform(.count) == "1")
            #expect(try await child.perform(.count) == "2")
        }
    }

    // MARK: Configured before it starts

    @Test("The configuration is a value, given before the start and again at every restart", arguments: Where.allCases)
    func configurationIsReplayed(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            var greeting = "as it was then"
            let child = try await tree.startChild("a", place) { $0.greeting = greeting }
            greeting = "as it is now"
            for life in 1...3 {
                #expect(try await tree.place(of: "/a", incarnation: UInt32(life)).incarnation == UInt32(life))
                #expect(try await child.perform(.greeting) == "as it was then")
                _ = try? await child.perform(.fail)
            }
        }
    }

    @Test("A child whose configuring closure throws isn't started", arguments: Where.allCases)
    func closureThrows(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            await #expect(throws: Fixture.Refusal.self) {
                try await tree.context.start(LifeChild.self, as: "a", in: place.placement) {
                    $0.journal = tree.journal
                    throw Fixture.Refusal("not like this")
                }
            }
            #expect(tree.context.child("a") == nil)
            #expect(tree.journal.lines.isEmpty)
        }
    }

    // MARK: One initialiser

    @Test("Any coordinator is made from a context and a configuration", arguments: Where.allCases)
    func uniformInitialiser(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.context.start(SmallestCoordinator.self, as: "bare", in: place.placement)
            try await tree.context.start(LifeChooser.self, as: "chooser", in: place.placement)
            try await tree.context.start(LifeChild.self, as: "child", in: place.placement)
            let types = try await tree.runtime.snapshot().children.map(\.type)
            #expect(types == ["SmallestCoordinator", "LifeChooser", "LifeChild"])
        }
    }

    @Test("A worker that doesn't have the type refuses, and ends", arguments: Where.allCases)
    func unknownType(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            // In the parent's process the type itself is at hand, and no name is looked up.
            if place == .inProcess {
                let child = try await tree.context.start(Unlisted.self, as: "unlisted", in: place.placement)
                return #expect(child.state == .active)
            }
            await Support.expect(.unknownType) { try await tree.context.start(Unlisted.self, as: "unlisted", in: place.placement) }
            let children = try await tree.runtime.snapshot().children
            #expect(children.isEmpty)
            // The name is free for a type that is known.
            let child = try await tree.context.start(SmallestCoordinator.self, as: "unlisted", in: place.placement)
            #expect(child.state == .active)
        }
    }

    // MARK: Identity

    @Test("A coordinator has a path, and its incarnation a number", arguments: Where.allCases)
    func identity(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("account", place)
            try await child.perform(.startChild("login", inWorker: place.isWorker))
            let first = try await tree.whereIs("/account/login")
            #expect(first.path == "/account/login")
            #expect(first.incarnation == 1)
            #expect(child.incarnation == 1)
            let outer = try await tree.whereIs("/account")
            #expect(outer.path == "/account")
            let processes = Set([getpid(), outer.pid, first.pid])
            #expect(processes.count == (place.isWorker ? 3 : 1))
            _ = try? await tree.perform(.fail, at: "/account/login")
            let second = try await tree.place(of: "/account/login", incarnation: 2)
            #expect(second.path == first.path)
            await child.remove()
            let successor = try await tree.startChild("account", place)
            // A name's lives are counted on.
            #expect(successor.incarnation == 2)
            #expect(try await tree.whereIs("/account").incarnation == 2)
        }
    }

    // MARK: Typed keys

    @Test("Children are named by an enum, so that a misspelt name doesn't compile", arguments: Where.allCases)
    func typedKeys(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.context.start(LifeKeyed.self, as: "keyed", in: place.placement)
            let paths = try await child.ask(LifeKeyed.StartBoth(), timeout: .seconds(30))
            #expect(paths == ["/keyed/registration", "/keyed/dashboard"])
            #expect(try await child.ask(LifeKeyed.Keys(), timeout: .seconds(20)) == [.registration, .dashboard])
            try await child.ask(LifeKeyed.Stop(.registration), timeout: .seconds(30))
            #expect(try await child.ask(LifeKeyed.Keys(), timeout: .seconds(20)) == [.dashboard])
            await Support.expect(.noSuchChild) { try await child.ask(LifeKeyed.Stop(.registration), timeout: .seconds(20)) }
            await Support.expect(.keyInUse) { try await tree.startChild("keyed", place) }
        }
    }

    // MARK: The list of children

    @Test("A parent finds its children by key and by type, and an operator lists them all", arguments: Where.allCases)
    func children(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            #expect(tree.context.children.isEmpty)
            try await tree.startChild("a", place)
            try await tree.startChild("b", place)
            try await tree.context.start(SmallestCoordinator.self, as: "bare", in: place.placement)
            try await tree.perform(.startChild("below", inWorker: place.isWorker), at: "/b")
            #expect(tree.context.children.map(\.path) == ["/a", "/b", "/bare"])
            #expect(tree.context.child("b")?.path == "/b")
            #expect(tree.context.child("nobody") == nil)
            #expect(tree.context.child(LifeChild.self)?.path == "/a")
            #expect(tree.context.child(SmallestCoordinator.self)?.path == "/bare")
            #expect(tree.context.child(LifeChooser.self) == nil)
            #expect(tree.context.child("a", as: SmallestCoordinator.self) == nil)
            let found = try #require(tree.context.child("b", as: LifeChild.self))
            #expect(try await found.perform(.children) == "below")
            try await eventually("the operator sees the grandchild too") {
                let paths = try await tree.runtime.snapshot().children.flatMap { [$0.path] + $0.children.map(\.path) }
                return paths == ["/a", "/b", "/b/below", "/bare"]
            }
            try await tree.context.remove("a")
            #expect(tree.context.children.map(\.path) == ["/b", "/bare"])
            #expect(tree.context.child("a") == nil)
        }
    }

    // MARK: Number and depth

    @Test("Two hundred active children need no processes of their own", arguments: Where.allCases)
    func manyChildren(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            try await child.perform(.startChildren(200))
            let home = try await tree.whereIs("/a").pid
            try await withThrowingTaskGroup(of: Int32.self) { group in
                for number in 0..<200 {
                    group.addTask { try await tree.whereIs(CoordinatorPath.root.appending("a").appending("child-\(number)")).pid }
                }
                for try await process in group { #expect(process == home) }
            }
            try await eventually("all are active") {
                let children = try await tree.runtime.snapshot(of: "/a").children
                return children.count == 200 && children.allSatisfy { $0.state == .active }
            }
        }
    }

    @Test("A tree may have any depth", arguments: Where.allCases)
    func depth(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("level", place)
            var path: CoordinatorPath = "/level"
            // Every second level is where the child is, the others in their parents' processes.
            for level in 0..<6 {
                try await tree.perform(.startChild("level", inWorker: place.isWorker && level.isMultiple(of: 2)), at: path)
                path = path.appending("level")
            }
            #expect(try await tree.whereIs(path).path == "/level/level/level/level/level/level/level")
            #expect(try await tree.perform(.echo("from below"), at: path) == "from below")
        }
    }

    // MARK: The root and children on demand

    @Test("The root lives from the beginning and outlives its children's crashes", arguments: Where.allCases)
    func root(_ place: Where) async throws {
        try await LifecycleTree.run(Support.options.allowing(restarts: 2)) { tree in
            #expect(try await tree.runtime.snapshot().children.isEmpty)
            try await tree.startChild("good", place)
            let bad = try await tree.startChild("bad", place)
            for life in 1...3 {
                _ = try await tree.place(of: "/bad", incarnation: UInt32(life))
                _ = try? await bad.perform(.fail)
            }
            try await eventually("it's given up") { try await tree.runtime.snapshot(of: "/bad").state == .failed }
            #expect(try await tree.runtime.snapshot().incarnation == 1)
            #expect(try await tree.perform(.echo("fine"), at: "/good") == "fine")
            #expect(try await tree.whereIs("/good").incarnation == 1)
        }
    }

    // MARK: No parent after the stop

    @Test("Asks of tasks that a stopped coordinator has left end with stopped", arguments: Where.allCases)
    func orphan(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            // The process must outlive the coordinator: so the one that stops is the child's child.
            let child = try await tree.startChild("a", place)
            try await child.perform(.startChild("orphan", inWorker: false))
            try await tree.perform(.outlive, at: "/a/orphan")
            try await child.perform(.stopChild("orphan"))
            try await eventually("its task is told") { tree.lines("orphan") == ["orphan stopped"] }
            try await eventually("the context that the task held did not hold the actor") {
                try await child.perform(.instances("orphan")) == "0"
            }
        }
    }

    // MARK: The runtime owns the children

    @Test("A stop, a finish and a crash release the actor", arguments: Where.allCases)
    func ownership(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            let ends: [(String, Life.Action?)] = [("stopped", nil), ("finished", .finish("done")), ("failed", .fail)]
            for (key, action) in ends {
                try await child.perform(.startChild(key, inWorker: false))
                #expect(try await child.perform(.instances(key)) == "1")
                let path = CoordinatorPath.root.appending("a").appending(key)
                if let action {
                    // Its end may overtake the answer.
                    _ = try? await tree.perform(action, at: path)
                } else {
                    try await child.perform(.stopChild(key))
                }
                if key == "failed" {
                    // The next life takes the place of the former, which is gone.
                    _ = try await tree.place(of: path, incarnation: 2)
                    try await eventually("one of two is left") { try await child.perform(.instances(key)) == "1" }
                    try await child.perform(.stopChild(key))
                }
                try await eventually("the \(key) one is gone") { try await child.perform(.instances(key)) == "0" }
            }
            try await eventually("and the list knows none of them") { try await child.perform(.children) == "" }
        }
    }
}
