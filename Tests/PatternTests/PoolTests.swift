import ConcurrencySupport
import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Pattern: pools", .timeLimit(minutes: 5))
struct PatternPoolTests {
    @Test(
        "Under load a member dies, the pool grows, and all are restarted: no ask is lost but those that the dead one had",
        arguments: Where.allCases
    )
    func load(_ place: Where) async throws {
        try await PoolTree.run(4, place) { tree in
            let load = Load(pool: tree.pool)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<24 { group.addTask { await load.ask(as: caller) } }
                defer { load.end() }
                try await load.more(200)
                try await tree.crash(1)
                try await load.more(200)
                try await tree.pool.resize(to: 8)
                #expect(tree.pool.size == 8)
                #expect(tree.pool.members.map(\.path.key) == (1...8).map { "\($0)" })
                try await eventually("the new members get messages") { load.places.filter { $0.hasSuffix("/8") }.count > 0 }
                let former = tree.pool.members.map(\.incarnation)
                try await tree.pool.restartMembers()
                #expect(zip(tree.pool.members, former).allSatisfy { $0.incarnation == $1 + 1 })
                try await load.more(200)
            }
            let prints = tree.notebook.lines.filter { $0.contains(" prints ") }
            let counts = Dictionary(grouping: prints) { $0.split(separator: " ").last.map(String.init) ?? "" }.mapValues(\.count)
            // A member handles two messages at a time.
            #expect(load.failures.count <= 2, "\(load.failures)")
            #expect(load.failures.values.allSatisfy { $0.code == .peerLost && $0.maybeExecuted }, "\(load.failures)")
            #expect(counts.values.allSatisfy { $0 == 1 }, "a message was handled twice")
            let begun = Set(counts.keys)
            #expect(load.answered.allSatisfy { begun.contains("\($0)") })
            #expect(begun.count <= load.answered.count + load.failures.count)
        }
    }

    @Test("The messages that wait while a member dies go on to the others", arguments: Where.allCases)
    func waiting(_ place: Where) async throws {
        try await PoolTree.run(2, place) { tree in
            let holding = (0..<4).map { _ in Task { try await tree.pool.ask(Press.Hold(until: "go on"), timeout: .seconds(60)) } }
            try await eventually("all members are busy") { tree.notebook.lines.filter { $0.hasSuffix(" holds") }.count == 4 }
            let waiting = (0..<40).map { number in Task { try await tree.pool.ask(Press.Print(number), timeout: .seconds(60)) } }
            try await tree.crash(0)
            // The dead one's messages are lost, the others are handled.
            tree.notebook.note("go on")
            var lost = 0
            for task in holding {
                do { _ = try await task.value } catch let error as CoordinatorError {
                    lost += 1
                    #expect(error.code == .peerLost && error.maybeExecuted, "\(error)")
                }
            }
            #expect(lost == 2)
            for task in waiting { _ = try await task.value }
        }
    }

    @Test("While a member waits for its next restart, the others take all messages", arguments: Where.allCases)
    func backoff(_ place: Where) async throws {
        try await PoolTree.run(2, place, backoff: Backoff(minimum: .seconds(600), maximum: .seconds(600))) { tree in
            // The first restart is immediate, the second isn't.
            try await tree.crash(0)
            let holding = (0..<4).map { _ in Task { try await tree.pool.ask(Press.Hold(until: "go on"), timeout: .seconds(60)) } }
            try await eventually("all members are busy") { tree.notebook.lines.filter { $0.hasSuffix(" holds") }.count == 4 }
            let waiting = (0..<20).map { number in Task { try await tree.pool.ask(Press.Print(number), timeout: .seconds(60)) } }
            try await tree.endLife(0)
            try await eventually("it waits for its restart") { tree.pool.members[0].state == .restarting }
            tree.notebook.note("go on")
            for task in waiting {
                let place = try await task.value
                #expect(place.path == "/presses/2")
            }
            var ends: [String] = []
            for task in holding { if let place = try? await task.value { ends.append(place.path) } }
            #expect(ends == ["/presses/2", "/presses/2"])
        }
    }

    @Test("Members get messages in turn", arguments: Where.allCases)
    func turns(_ place: Where) async throws {
        try await PoolTree.run(3, place, .roundRobin) { tree in
            var keys: [String] = []
            for _ in 0..<6 { keys.append(try await tree.pool.ask(Press.Draw("any"), timeout: .seconds(20))) }
            #expect(keys == [1, 2, 3, 1, 2, 3].map { "/presses/\($0)" })
        }
    }

    @Test("Equal values lead to the same member, also after its restart; a resize moves some to the new one", arguments: Where.allCases)
    func hashing(_ place: Where) async throws {
        try await PoolTree.run(3, place, .hashing(\Press.Draw.scene)) { tree in
            let scenes = (0..<60).map { "scene \($0)" }
            let first = try await tree.draw(scenes)
            #expect(Set(first.values).count == 3)
            try await tree.crash(0)
            let second = try await tree.draw(scenes)
            #expect(second == first)
            try await tree.pool.restartMembers()
            let third = try await tree.draw(scenes)
            #expect(third == first)
            try await tree.pool.resize(to: 4)
            let fourth = try await tree.draw(scenes)
            let moved = scenes.filter { fourth[$0] != first[$0] }
            #expect(!moved.isEmpty && moved.count < 45)
            #expect(moved.allSatisfy { fourth[$0] == "/presses/4" })
        }
    }

    @Test("Messages and streams are forwarded to a pool, encoded ones too, and members ask above it", arguments: Where.allCases)
    func forwarding(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.root.start(PressHall.self, as: "hall") { ($0.notebook, $0.hasWorkers) = (tree.notebook, place.isWorker) }
            let drawn = try await tree.runtime.ask(Press.Draw("a"), at: "/hall", timeout: .seconds(20))
            for target in ["/hall", "/hall/presses"] as [CoordinatorPath] {
                let again = try await tree.runtime.ask(Press.Draw("a"), at: target, timeout: .seconds(20))
                #expect(again == drawn)
            }
            let above = try await tree.runtime.ask(Press.AskAbove(), at: "/hall", timeout: .seconds(20))
            #expect(above == "above")
            let sheets = try await tree.runtime.ask(PressHall.ReadSheets(), at: "/hall", timeout: .seconds(20))
            #expect(sheets == Array(1...1_000))
            let snapshot = try await tree.runtime.snapshot(of: "/hall/presses/2")
            #expect(snapshot.host == (place.isWorker ? .worker : .inProcess))
        }
    }

    @Test("One-way messages, streams, and messages that the members don't know", arguments: Where.allCases)
    func ways(_ place: Where) async throws {
        try await PoolTree.run(2, place) { tree in
            for number in 0..<20 {
                let isAccepted = try await tree.pool.send(Press.Note("\(number)"))
                #expect(isAccepted)
            }
            try await eventually("all are noted down") { tree.notebook.lines.filter { $0.hasPrefix("note ") }.count == 20 }
            var sheets: [Int] = []
            for try await sheet in tree.pool.stream(Press.Sheets(100), timeout: .seconds(20)) { sheets.append(sheet) }
            #expect(sheets == Array(1...100))
            let isKnown = try await tree.pool.send(Fixture.Echo("who"))
            #expect(!isKnown)
            await Support.expect(.unhandled) { _ = try await tree.pool.ask(Fixture.Echo("who"), timeout: .seconds(20)) }
        }
    }

    @Test("An ask that is given up while it waits takes no turn, and its deadline holds")
    func cancellation() async throws {
        try await PoolTree.run(1, .inProcess) { tree in
            let holding = (0..<2).map { _ in Task { try await tree.pool.ask(Press.Hold(until: "go on"), timeout: .seconds(60)) } }
            try await eventually("the member is busy") { tree.notebook.lines.filter { $0.hasSuffix(" holds") }.count == 2 }
            let cancelled = Task.immediate { try await tree.pool.ask(Press.Print(1), timeout: .seconds(60)) }
            await Support.expect(.timedOut) { _ = try await tree.pool.ask(Press.Print(2), timeout: .milliseconds(50)) }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
            let last = Task { try await tree.pool.ask(Press.Print(3), timeout: .seconds(60)) }
            tree.notebook.note("go on")
            for task in holding { _ = try await task.value }
            _ = try await last.value
            #expect(tree.notebook.lines.filter { $0.contains("prints") } == ["/presses/1 prints 3"])
        }
    }

    @Test("A smaller pool finishes what its members have; a member that finishes is started again", arguments: Where.allCases)
    func shrinking(_ place: Where) async throws {
        try await PoolTree.run(4, place) { tree in
            let holding = (0..<8).map { _ in Task { try await tree.pool.ask(Press.Hold(until: "go on"), timeout: .seconds(60)) } }
            try await eventually("all members are busy") { tree.notebook.lines.filter { $0.hasSuffix(" holds") }.count == 8 }
            let shrinking = Task.immediate { try await tree.pool.resize(to: 1) }
            let waiting = Task { try await tree.pool.ask(Press.Print(1), timeout: .seconds(60)) }
            tree.notebook.note("go on")
            try await shrinking.value
            for task in holding { _ = try await task.value }
            let place = try await waiting.value
            #expect(place.path == "/presses/1")
            #expect(tree.pool.members.count == 1 && tree.pool.size == 1)
            try await tree.runtime.ask(Press.Retire(), at: "/presses/1", timeout: .seconds(20))
            try await eventually("it's started again") { tree.pool.members.first?.state == .active }
            _ = try await tree.pool.ask(Press.Print(2), timeout: .seconds(60))
        }
    }

    @Test("A replacement of the pool's path replaces each member, while the pool answers", arguments: Where.allCases)
    func replacement(_ place: Where) async throws {
        try await PoolTree.run(3, place) { tree in
            let load = Load(pool: tree.pool)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<8 { group.addTask { await load.ask(as: caller) } }
                defer { load.end() }
                try await load.more(50)
                let former = tree.pool.members.map(\.incarnation)
                try await tree.runtime.replace("/presses")
                #expect(zip(tree.pool.members, former).allSatisfy { $0.incarnation == $1 + 1 })
                try await tree.runtime.replace("/presses/2")
                #expect(tree.pool.members[1].incarnation == former[1] + 2)
                try await load.more(50)
            }
            #expect(load.failures.isEmpty, "\(load.failures)")
            #expect(try await tree.runtime.snapshot(of: "/presses").incarnation == 1)
        }
    }

    @Test("An equal start returns the pool, one with another size is refused, and a stop leaves nothing")
    func keys() async throws {
        try await PoolTree.run(2, .inProcess) { tree in
            let again = try await tree.start(2)
            #expect(again.members.count == 2)
            await Support.expect(.configurationDiffers) { _ = try await tree.start(3) }
            #expect(tree.root.pool("presses", as: PressCoordinator.self)?.size == 2)
            await tree.pool.remove()
            #expect(tree.root.children.isEmpty && tree.pool.members.isEmpty && tree.pool.size == 0)
        }
    }
}

/// A running tree with a pool below its root.
private struct PoolTree: Sendable {
    let runtime: CoordinatorRuntime
    let root: FlowRoot.Context
    let notebook: Notebook
    let placement: Placement
    let pool: Pool<PressCoordinator>

    static func run(
        _ size: Int,
        _ place: Where,
        _ routing: PoolRouting = .leastLoaded,
        backoff: Backoff = .none,
        _ body: (PoolTree) async throws -> Void
    ) async throws {
        try await PageTree.run { tree in
            let pool = try await start(size, place.placement, routing, backoff, under: tree.root, tree.notebook)
            let placement = place.placement
            try await body(PoolTree(runtime: tree.runtime, root: tree.root, notebook: tree.notebook, placement: placement, pool: pool))
        }
    }

    func start(_ size: Int) async throws -> Pool<PressCoordinator> {
        try await Self.start(size, placement, .leastLoaded, .none, under: root, notebook)
    }

    private static func start(
        _ size: Int,
        _ placement: Placement,
        _ routing: PoolRouting,
        _ backoff: Backoff,
        under root: FlowRoot.Context,
        _ notebook: Notebook
    ) async throws -> Pool<PressCoordinator> {
        let supervision = SupervisionPolicy(.oneForOne, intensity: 100, period: .seconds(1), backoff: backoff)
        let place = PoolPlacement.pool(size, placement, routing: routing, supervision: supervision)
        return try await root.start(PressCoordinator.self, as: "presses", in: place, shutdown: .timeout(.seconds(20))) {
            $0.notebook = notebook
        }
    }

    /// Ends a member's life, and returns when it's restarted.
    func crash(_ index: Int) async throws {
        let member = pool.members[index]
        let incarnation = member.incarnation
        try await endLife(index)
        try await eventually("it's restarted") { member.incarnation > incarnation && member.state == .active }
    }

    /// Kills a member's process, or has it fail.
    func endLife(_ index: Int) async throws {
        let member = pool.members[index]
        if placement == .inProcess {
            // Its answer may be lost with it.
            _ = try? await runtime.ask(Press.Jam(), at: member.path, timeout: .seconds(20))
        } else {
            let process = try #require(try await runtime.snapshot(of: member.path).processID)
            kill(process, SIGKILL)
        }
    }

    func draw(_ scenes: [String]) async throws -> [String: String] {
        var members: [String: String] = [:]
        for scene in scenes { members[scene] = try await pool.ask(Press.Draw(scene), timeout: .seconds(60)) }
        return members
    }
}

/// Callers that ask one message after the other, and count what becomes of each.
private final class Load: Sendable {
    private struct State {
        var next = 0
        var answered: Set<Int> = []
        var places: [String] = []
        var failures: [Int: CoordinatorError] = [:]
        var isOver = false
    }

    private let pool: Pool<PressCoordinator>
    private let state = Lock(State())

    init(pool: Pool<PressCoordinator>) { self.pool = pool }

    var answered: Set<Int> { state.withLock { $0.answered } }
    var places: [String] { state.withLock { $0.places } }
    var failures: [Int: CoordinatorError] { state.withLock { $0.failures } }

    func end() { state.withLock { $0.isOver = true } }

    func ask(as caller: Int) async {
        while let number = takeNumber() {
            do {
                let place = try await pool.ask(Press.Print(number, milliseconds: 3), timeout: .seconds(60))
                state.withLock {
                    $0.answered.insert(number)
                    $0.places.append(place.path)
                }
            } catch {
                let failure = error as? CoordinatorError ?? CoordinatorError(.unsupported, "\(error)")
                state.withLock { $0.failures[number] = failure }
            }
        }
    }

    /// Returns when so many more have been answered.
    func more(_ count: Int) async throws {
        let goal = answered.count + count
        try await eventually("\(count) more are answered") { answered.count >= goal }
    }

    private func takeNumber() -> Int? {
        state.withLock { state in
            if state.isOver { return nil }
            state.next += 1
            return state.next
        }
    }
}
