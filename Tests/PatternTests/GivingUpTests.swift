import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: children that are given up", .timeLimit(minutes: 3))
struct GivingUpTests {
    @Test("Limits of a typed child are its own, whatever its parent's policy is", arguments: Where.allCases)
    func limits(_ place: Where) async throws {
        try await PageTree.run(options: Support.options.allowing(restarts: 1)) { tree in
            let limits = RestartLimits(intensity: .unlimited, backoff: Backoff.none)
            let lasting = try await tree.start("lasting", in: place, limits: limits)
            for life in 1...4 as ClosedRange<UInt32> {
                try await tree.crash(lasting)
                try await eventually("it's restarted") { lasting.incarnation == life + 1 && lasting.state == .active }
            }
            let limited = try await tree.start("limited", in: place, limits: RestartLimits(intensity: 0))
            try await tree.crash(limited)
            try await eventually("it's given up") { limited.state == .failed }
            #expect(lasting.state == .active)
        }
    }

    /// What the parent and an observer hear after a child's failure.
    static let ends: [(type: RestartType, allowed: Int, heard: [String])] = [
        (.permanent, 1, ["crashed", "restarted"]), (.permanent, 0, ["crashed", "gaveUp"]), (.transient, 0, ["crashed", "gaveUp"]),
        (.temporary, 1, ["crashed", "stopped"]), (.temporary, 0, ["crashed", "stopped"]),
    ]

    @Test("After a failure a last change says what has become of the child", arguments: ends, Where.allCases)
    func lastChange(_ end: (type: RestartType, allowed: Int, heard: [String]), _ place: Where) async throws {
        try await PageTree.run(options: Support.options.allowing(restarts: end.allowed)) { tree in
            let child = try await tree.start("child", in: place, restart: end.type)
            try await tree.crash(child)
            let expected = end.heard.map { "/ child \($0)" }
            try await eventually("all is told") { tree.notebook.lines.filter { $0.contains("child ") } == expected }
        }
    }

    @Test("An embedded runtime isn't live while a child of its root is given up, until an operator starts it", arguments: Where.allCases)
    func liveness(_ place: Where) async throws {
        try await PageTree.run(options: Support.options.allowing(restarts: 0)) { tree in
            try await tree.start("healthy", in: place)
            let child = try await tree.start("child", in: place)
            try await tree.crash(child)
            try await eventually("it's given up") { child.state == .failed }
            #expect(await tree.runtime.health().isLive == false)
            #expect(await tree.runtime.health(of: "/child").isLive == false)
            #expect(await tree.runtime.health(of: "/healthy").isLive)
            _ = try await tree.runtime.start("/child")
            #expect(await tree.runtime.health().isLive)
        }
    }

    @Test("A runtime may end with a child of its root; what is temporary, or is run for a caller, isn't meant")
    func endOfTree() async throws {
        var options = Support.options.allowing(restarts: 0)
        options.whenGivenUp = .endProcess
        let notebook = try Notebook.temporary()
        defer { notebook.remove() }
        let runtime = CoordinatorRuntime(FlowRoot.self, options: options) { $0.notebook = notebook }
        let running = Task { try await runtime.run() }
        try await runtime.ready()
        let root = try #require(HandedContexts.take(for: notebook))
        let tree = PageTree(runtime: runtime, root: root, notebook: notebook)
        try await tree.crash(try await tree.start("temporary", in: .inProcess, restart: .temporary))
        let run = Task.immediate { try await root.run(PressCoordinator.self, as: "run") { $0.notebook = notebook } }
        try await eventually("it runs") { root.child("run", as: PressCoordinator.self)?.state == .active }
        try await tree.crash(try #require(root.child("run", as: PressCoordinator.self)))
        await #expect(throws: (any Error).self) { try await run.value }
        #expect(await runtime.health().isReady)
        try await tree.crash(try await tree.start("child", in: .inProcess))
        await Support.expect(.failed) { try await running.value }
    }

    @Test("A program ends with a child of its root that is given up", arguments: [(3, 75), (78, 78), (125, 125)] as [(Int32, Int32)])
    func program(_ child: Int32, _ expected: Int32) async throws {
        let ended = try await Support.worker.run(environment: [Doomed.variable: "\(child)"])
        #expect(ended.exitCode == expected, "\(ended)")
        #expect(ended.errors.contains("gave up on /doomed: exited with code \(child)"), "\(ended)")
    }

    @Test("A trap is known at once: workers make no backtraces, unless they are told to")
    func backtraces() async throws {
        try await PageTree.run { tree in
            let child = try await tree.root.start(CrashCoordinator.self, as: "child", in: .worker) { $0.notebook = tree.notebook }
            #expect(try await tree.backtraceSetting(of: child.path) == "enable=no")
            await Support.expect(.peerLost) { try await child.ask(Crash.Once(Crash.Deed("bad", .trap))) }
            let file = try TemporaryDirectory()
            try Files.write("SWIFT_BACKTRACE=enable=tty\n", to: file.file("environment"))
            let (type, notebook) = ("CrashCoordinator", tree.configured)
            try await tree.root.start(worker: type, as: "own", environment: ["SWIFT_BACKTRACE": "enable=yes"], configuration: notebook)
            try await tree.root.start(worker: type, as: "file", environmentFiles: [file.file("environment")], configuration: notebook)
            #expect(try await tree.backtraceSetting(of: "/own") == "enable=yes")
            #expect(try await tree.backtraceSetting(of: "/file") == "enable=tty")
        }
    }
}

extension PageTree {
    @discardableResult
    fileprivate func start(
        _ key: String,
        in place: Where,
        restart: RestartType = .permanent,
        limits: RestartLimits? = nil
    ) async throws -> Child<PressCoordinator> {
        try await root.start(PressCoordinator.self, as: key, in: place.placement, restart: restart, restartLimits: limits) {
            $0.notebook = notebook
        }
    }

    /// Has the child fail; its answer may be lost with it.
    fileprivate func crash(_ child: Child<PressCoordinator>) async throws { _ = try? await child.ask(Press.Jam(), timeout: .seconds(20)) }

    fileprivate var configured: JSONValue { ["notebook": ["file": .string(notebook.file)]] }

    fileprivate func backtraceSetting(of path: CoordinatorPath) async throws -> String? {
        let process = try #require(try await runtime.snapshot(of: path).processID)
        let variables = Files.text(of: "/proc/\(process)/environ")?.split(separator: "\0") ?? []
        return variables.first { $0.hasPrefix("SWIFT_BACKTRACE=") }.map { String($0.dropFirst("SWIFT_BACKTRACE=".count)) }
    }
}
