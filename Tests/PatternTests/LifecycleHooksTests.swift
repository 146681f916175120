import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Pattern: starting and stopping", .timeLimit(minutes: 3))
struct LifecycleHooksTests {
    // MARK: Start

    @Test("The start hook runs once per incarnation, when the configuration is in place", arguments: Where.allCases)
    func startOncePerLife(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place) { $0.greeting = "configured" }
            #expect(child.state == .active)
            #expect(try await child.perform(.greeting) == "configured")
            try await tree.startChild("a", place) { $0.greeting = "configured" }
            #expect(tree.journal.lines == ["start /a"])
            _ = try? await child.perform(.fail)
            _ = try await tree.place(of: "/a", incarnation: 2)
            #expect(tree.journal.count(of: "start /a") == 2)
        }
    }

    @Test("A start that throws reaches its caller, and the key is free", arguments: Where.allCases)
    func startThrows(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            for (opening, reason) in [(Life.Opening.refuses, "won't start"), (.refusesOpaquely, "won't say why")] {
                do {
                    try await tree.startChild("a", place) { $0.opening = opening }
                    Issue.record("the start must fail")
                } catch {
                    // Thrown as it is where the type is known, and else as a RemoteError: both speak with the handler's words.
                    #expect((error as? Fixture.Refusal)?.reason ?? "\(error)" == reason)
                }
                #expect(tree.context.child("a") == nil)
                #expect(try await tree.runtime.snapshot().children.isEmpty)
            }
            try await tree.startChild("a", place)
            #expect(tree.journal.lines == ["start /a"])
            // The initiator has learnt it by the throw.
            #expect(await tree.root.heard.isEmpty)
        }
    }

    @Test("A start that takes too long is ended", arguments: Where.allCases)
    func startTimesOut(_ place: Where) async throws {
        var options = Support.options
        options.startTimeout = .seconds(1)
        try await LifecycleTree.run(options) { tree in
            await Support.expect(.startTimedOut) { try await tree.startChild("a", place) { $0.opening = .hangs } }
            #expect(tree.context.child("a") == nil)
            let children = try await tree.runtime.snapshot().children
            #expect(children.isEmpty)
        }
    }

    // MARK: Stop

    @Test("A stop ends the children, runs the hook, rewinds the pages, and then reports", arguments: Where.allCases)
    func stopOrder(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            tree.context.show(.home)
            let child = try await tree.startChild("a", place)
            try await child.perform(.startChild("b", inWorker: false))
            try await child.perform(.startChild("c", inWorker: place.isWorker))
            try await child.perform(.show(1))
            try await tree.perform(.show(2), at: "/a/b")
            try await eventually("the pages of all three are shown") {
                try await tree.runtime.navigation().map(\.path.description) == ["/", "/a", "/a/b"]
            }
            // An operator's stop: the parent learns by event.
            try await tree.runtime.stop("/a")
            try await eventually("the parent hears of it") { await tree.root.heard == ["stopped /a"] }
            let lines = tree.lines("stop", "heard")
            // Both were started after the hook, and end together.
            #expect(Set(lines.prefix(2)) == ["stop /a/b", "stop /a/c"])
            #expect(lines.dropFirst(2) == ["stop /a", "heard stopped /a"])
            try await eventually("what the subtree has shown is gone") {
                try await tree.runtime.navigation().map(\.path.description) == ["/"]
            }
        }
    }

    @Test("Open asks from and to a stopped coordinator end with stopped", arguments: Where.allCases)
    func openAsks(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            let fromIt = Task.immediate { try await child.perform(.passGate, timeout: .seconds(60)) }
            let toIt = Task.immediate { try await child.perform(.hang, timeout: .seconds(60)) }
            try await eventually("its ask has arrived") { tree.root.gate.waiting == 1 }
            // One sender's messages begin in order: when this has been answered, the other has begun.
            _ = try await child.perform(.greeting)
            await child.remove()
            _ = await fromIt.result
            #expect(tree.lines("gate") == ["gate stopped /a"])
            await Support.expect(.stopped) { _ = try await toIt.value }
            try await eventually("nobody waits at the gate for it any more") { tree.root.gate.waiting == 0 }
        }
    }

    @Test("A stop hook that doesn't return counts as stopped after the grace", arguments: Where.allCases)
    func stopTimesOut(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place, shutdown: .timeout(.milliseconds(300))) { $0.ignoresStop = true }
            let process = try await tree.whereIs("/a").pid
            try await tree.context.remove("a")
            #expect(child.state == .inactive)
            #expect(try await tree.runtime.snapshot().children.isEmpty)
            if place.isWorker { #expect(kill(process, 0) == -1 && errno == ESRCH) }
        }
    }

    @Test("Stopping a child that has just died is no error", arguments: Where.allCases)
    func stopOfTheDead(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            for restart in [RestartType.permanent, .temporary] {
                let child = try await tree.startChild("a", place, restart: restart)
                if place.isWorker {
                    try await tree.runtime.kill("/a")
                } else {
                    _ = try? await child.perform(.fail)
                }
                await child.remove()
                #expect(child.state == .inactive)
                #expect(try await tree.runtime.snapshot().children.isEmpty)
            }
        }
    }

    @Test("After the removal of a child that ends by itself at the same time, nothing is left of it", arguments: 0..<6)
    func removalBesideAnEnd(_ tree: Int) async throws {
        try await LifecycleTree.run { tree in
            for round in 0..<300 {
                let child = try await tree.startChild("a", .inProcess, restart: .temporary)
                async let failure: Void = { _ = try? await child.perform(.fail) }()
                for _ in 0..<(round % 100) { await Task.yield() }
                await child.remove()
                #expect(child.state == .inactive, "round \(round)")
                await failure
            }
        }
    }

    // MARK: Illegal transitions

    @Test("An illegal transition does nothing: it runs no hook and sends no event", arguments: Where.allCases)
    func noOps(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            try await tree.startChild("a", place)
            try await tree.runtime.start("/a")
            try await tree.runtime.resume("/a")
            try await tree.runtime.pause("/a")
            try await tree.runtime.pause("/a")
            try await tree.context.pause("a")
            try await tree.runtime.resume("/a")
            try await tree.context.resume("a")
            await child.resume()
            try await tree.runtime.stop("/a")
            try await tree.runtime.stop("/a")
            await child.remove()
            await child.remove()
            #expect(tree.lines("start", "pause", "resume", "stop") == ["start /a", "pause /a", "resume /a", "stop /a"])
            try await eventually("each of the operator's changes is told") { await tree.root.heard.count >= 3 }
            #expect(await tree.root.heard == ["paused /a", "resumed /a", "stopped /a"])
            await Support.expect(.noSuchChild) { try await tree.context.pause("nobody") }
            await Support.expect(.noSuchChild) { try await tree.context.resume("nobody") }
            await Support.expect(.noSuchChild) { try await tree.context.remove("nobody") }
        }
    }

    @Test("Transitions of one coordinator are serialised", arguments: Where.allCases)
    func serialised(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place) { $0.isSlow = true }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    group.addTask { if number.isMultiple(of: 2) { await child.pause() } else { await child.resume() } }
                }
            }
            await child.resume()
            #expect(child.state == .active)
            let changes = tree.lines("pause", "resume")
            #expect(!changes.isEmpty)
            for (index, change) in changes.enumerated() {
                #expect(change == (index.isMultiple(of: 2) ? "pause /a" : "resume /a"))
            }
        }
    }

    // MARK: Return is completion

    @Test("A call returns when the child's process has confirmed", arguments: Where.allCases)
    func confirmed(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place) { $0.isSlow = true }
            #expect(tree.journal.lines.last == "start /a")
            let process = try await tree.whereIs("/a").pid
            #expect((process == getpid()) == !place.isWorker)
            try await tree.context.pause("a")
            #expect(tree.journal.lines.last == "pause /a")
            try await tree.context.resume("a")
            #expect(tree.journal.lines.last == "resume /a")
            try await tree.context.remove("a")
            #expect(tree.journal.lines.last == "stop /a")
            #expect(child.state == .inactive)
            if place.isWorker { #expect(kill(process, 0) == -1 && errno == ESRCH) }
        }
    }
}
