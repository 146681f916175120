import ConcurrencySupport
import CoordinatorsTesting
import TestSupport
import Testing

@testable import Coordinators

/// A parent whose children the tests start in its name.
private actor Parent: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static func with(_ body: (Context, CoordinatorRuntime) async throws -> Void) async throws {
        try await withRuntime(Parent.self, options: Support.options) { try await body(Context(cell: $0.root), $0) }
    }
}

/// A coordinator that leaves every hook out.
private actor Plain: Coordinator {
    struct Value: ResponderMessage { typealias Reply = Int }

    struct Configuration: CoordinatorConfiguration {
        var value = 0
    }

    nonisolated let context: Context
    private let value: Int

    init(_ context: Context) {
        self.context = context
        value = context.configuration.value
    }

    static let responders: Responders = [.respond(to: Value.self) { me, _ in me.value }]
}

/// A coordinator that has every hook.
private actor Busy: Coordinator {
    static let calls = Lock<[String]>([])

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func start() async throws { note("start") }
    func run() async throws {
        note("run")
        try await untilCancelled()
    }
    func stopped() async { note("stop") }

    private func note(_ hook: String) { Self.calls.withLock { $0.append("\(hook) \(context.path.key)") } }
}

@Suite("Starts that have nothing to wait for", .timeLimit(minutes: 3))
struct StartsAtOnceTests {
    @Test("A type's absent hooks are learned at its first life")
    func learning() async throws {
        try await Parent.with { context, _ in
            let child = try await context.start(Plain.self, as: "a")
            let type = CoordinatorType.of(Plain.self)
            #expect(type.lacks(.start))
            try await eventually("the run hook was called") { type.lacks(.run) }
            await child.remove()
            #expect(type.lacks(.stopped) && !type.ownsScene && type.stopsAtOnce)
        }
    }

    @Test("The hooks of a type that has them run in every life")
    func hooks() async throws {
        Busy.calls.withLock { $0 = [] }
        try await Parent.with { context, _ in
            for number in 1...3 {
                let child = try await context.start(Busy.self, as: "\(number)")
                try await eventually("it runs") { Busy.calls.withLock { $0.contains("run \(number)") } }
                await child.remove()
            }
        }
        let calls = Busy.calls.withLock { $0 }
        #expect(calls == (1...3).flatMap { ["start \($0)", "run \($0)", "stop \($0)"] })
    }

    @Test("A child that starts at once gets its configuration, and the dependencies that were provided before")
    func configuration() async throws {
        try await Parent.with { context, _ in
            await context.provide(\.number, 7)
            for value in 1...3 {
                let child = try await context.start(Plain.self, as: "\(value)") { $0.value = value }
                #expect(try await child.ask(Plain.Value()) == value)
                #expect(child.state == .active)
                #expect(child.supervisor.cell.dependencies.number == 7)
                let cell = try #require(try child.supervisor.host(of: "\(value)") as? CoordinatorCell)
                #expect(cell.dependencies.number == 7)
            }
        }
    }

    @Test("A child that begins paused is paused when its start returns")
    func paused() async throws {
        try await Parent.with { context, _ in
            try await context.start(Plain.self, as: "known")
            try await context.pause("known")
            try await context.restart("known")
            #expect(context.child("known")?.state == .paused)
            let cell = try #require(try context.cell.children.host(of: "known") as? CoordinatorCell)
            #expect(cell.situation.isPaused && cell.state.withLock { $0.mailbox.isPaused })
        }
    }

    @Test("A child that isn't listed any more isn't found by its path either")
    func gone() async throws {
        try await Parent.with { context, _ in
            let children = context.cell.children
            for round in 0..<5_000 {
                let key = "\(round)"
                try await context.start(Plain.self, as: key)
                async let end: Void = context.remove(key)
                while children.keys.contains(key) { await Task.yield() }
                #expect(throws: CoordinatorError.self) { try children.summary(of: key) }
                #expect(children.handle(of: key) == nil && children.typeName(of: key) == nil && !children.has(key))
                try await end
            }
        }
    }

    @Test("Many starts of one key at the same time make one child")
    func oneKey() async throws {
        try await Parent.with { context, _ in
            try await context.start(Plain.self, as: "first")
            for round in 0..<20 {
                try await withThrowingDiscardingTaskGroup { group in
                    for _ in 0..<50 { group.addTask { _ = try await context.start(Plain.self, as: "\(round)") } }
                }
                #expect(context.child("\(round)")?.incarnation == 1)
            }
            #expect(context.children.count == 21)
        }
    }

    @Test("A stop at the same time leaves nothing behind, and no start waits for ever")
    func stops() async throws {
        try await Parent.with { context, runtime in
            try await context.start(Plain.self, as: "first")
            let before = runtime.counters.coordinators
            for round in 0..<200 {
                await withDiscardingTaskGroup { group in
                    for _ in 0..<2 { group.addTask { _ = try? await context.start(Plain.self, as: "\(round)") } }
                    for _ in 0..<2 { group.addTask { try? await context.remove("\(round)") } }
                }
                try? await context.remove("\(round)")
            }
            #expect(context.children.count == 1)
            try await eventually("no coordinator is left") { runtime.counters.coordinators == before }
        }
    }

    @Test("What a child that has stopped at once has left running can neither ask nor start anything")
    func leftOvers() async throws {
        try await Parent.with { context, runtime in
            let before = runtime.counters.coordinators
            let child = try await context.start(Plain.self, as: "a")
            let left = try #require(try child.supervisor.host(of: "a") as? CoordinatorCell)
            let own = CoordinatorContext<Plain>(cell: left)
            #expect(try await child.ask(Plain.Value()) == 0)
            await child.remove()
            // The call has returned, and nothing is left: there was nothing to wait for.
            #expect(left.isOver && left.isLost && !left.isBusy)
            await expect(.stopped) { _ = try await own.ask(Plain.Value()) }
            await expect(.stopped) { _ = try await own.start(Plain.self, as: "below") }
            await expect(.stopped) { _ = try await child.ask(Plain.Value()) }
            left.stop(.brutalKill)
            #expect(try await context.start(Plain.self, as: "a").incarnation == 2)
            #expect(runtime.counters.coordinators == before + 2)
        }
    }

    @Test("A child whose handler runs, or that has a child, is waited for", arguments: [false, true])
    func waitsForWhatRuns(_ hasChild: Bool) async throws {
        let events = Lock<[String]>([])
        try await Parent.with { context, _ in
            let child = try await context.start(Plain.self, as: "a")
            let cell = try #require(try child.supervisor.host(of: "a") as? CoordinatorCell)
            if hasChild {
                try await CoordinatorContext<Plain>(cell: cell).start(Plain.self, as: "below")
            } else {
                cell.handle {
                    try? await untilCancelled()
                    for _ in 0..<50 { await Task.yield() }
                    events.withLock { $0.append("handled") }
                }
            }
            await child.remove()
            events.withLock { $0.append("removed") }
            #expect(cell.existingChildren == nil)
        }
        #expect(events.withLock { $0 } == (hasChild ? ["removed"] : ["handled", "removed"]))
    }

    @Test("No start succeeds after its parent's stop has begun")
    func shutDown() async throws {
        for _ in 0..<20 {
            let runtime = CoordinatorRuntime(Parent.self, options: Support.options)
            try await runtime.start()
            let root = try runtime.root
            let context = CoordinatorContext<Parent>(cell: root)
            try await context.start(Plain.self, as: "first")
            await withDiscardingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        guard let child = try? await context.start(Plain.self, as: "\(number)") else { return }
                        // It was ready before the stop began, and is stopped in its turn.
                        #expect(child.incarnation <= 1)
                    }
                }
                group.addTask { await runtime.stop() }
            }
            #expect(root.existingChildren == nil)
            try await eventually("nothing is left") { runtime.counters.coordinators <= 1 }
        }
    }
}

/// A root whose drain is held up by an ask.
private actor Holder: Coordinator {
    struct Hold: ResponderMessage { typealias Reply = Int }

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Hold.self) { _, _ in
            try await untilCancelled()
            return 0
        }
    ]

    /// Begins the end of a tree, and returns when it drains.
    static func draining(_ body: (CoordinatorRuntime, CoordinatorCell) async throws -> Void) async throws {
        var options = Support.options
        options.shutdown = .draining(.seconds(600))
        let runtime = CoordinatorRuntime(Holder.self, options: options)
        try await runtime.start()
        let root = try runtime.root
        let ask = Task { try await runtime.ask(Hold(), timeout: .seconds(900)) }
        try await eventually("the ask is handled") { root.hasMessages }
        for key in 0..<6 { try await CoordinatorContext<Holder>(cell: root).start(Counted.self, as: "\(key)") }
        let stop = Task { await runtime.stop() }
        try await eventually("it drains") { root.isDraining }
        try await body(runtime, root)
        await stop.value
        _ = await ask.result
    }
}

/// A coordinator whose lives are counted.
private actor Counted: Coordinator {
    static let lives = Lock(0)

    nonisolated let context: Context
    init(_ context: Context) {
        self.context = context
        Self.lives.withLock { $0 += 1 }
    }
}

@Suite("A drain that has no time any more", .serialized, .timeLimit(minutes: 3))
struct HastenedDrainTests {
    @Test("Idle children that are killed while their parent drains aren't started again")
    func killed() async throws {
        Counted.lives.withLock { $0 = 0 }
        try await Holder.draining { runtime, _ in #expect(runtime.hasten(.brutalKill)) }
        #expect(Counted.lives.withLock { $0 } == 6)
    }

    @Test("A root that fails while it drains has five seconds from then on")
    func failed() async throws {
        // Otherwise the drain takes ten minutes, and the suite's time is over.
        try await Holder.draining { _, root in root.end(.failed(.failed("the test wants it"))) }
    }
}

extension DependencyKeys {
    fileprivate var number: DependencyKey<Int> { .init() }
}

@Suite("The size of a child")
struct ChildSizeTests {
    private struct Numbers: Emptiable {
        var all: [Int] = []
        var isEmpty: Bool { all.isEmpty }
    }

    // A child of which most parts are empty takes 0.7 KiB: these are the largest of its own.
    @Test("A child's parts stay small")
    func parts() {
        #expect(MemoryLayout<ChildSlot>.size <= 96)
        #expect(MemoryLayout<ChildDefinition.Kind>.size <= 72)
        #expect(MemoryLayout<CoordinatorCell.State>.size <= 240)
    }

    @Test("An empty value takes the room of a reference, and is empty again when it's emptied")
    func occasional() {
        var numbers = LazyStorage<Numbers>()
        #expect(MemoryLayout.size(ofValue: numbers) == MemoryLayout<Int>.size)
        #expect(numbers.isEmpty && numbers.value.all.isEmpty)
        numbers.value.all.append(1)
        let copy = numbers
        numbers.value.all.append(2)
        #expect(copy.value.all == [1] && numbers.value.all == [1, 2] && !numbers.isEmpty)
        numbers.value.all = []
        #expect(numbers.isEmpty && !copy.isEmpty)
    }

    @Test("Changing an occasional value doesn't copy its collections")
    func inPlace() {
        var numbers = LazyStorage<Numbers>()
        numbers.value.all = Array(repeating: 0, count: 50)
        numbers.value.all.reserveCapacity(1_000)
        let address = numbers.value.all.withUnsafeBufferPointer { $0.baseAddress }
        for number in 0..<900 { numbers.value.all.append(number) }
        #expect(numbers.value.all.withUnsafeBufferPointer { $0.baseAddress } == address)
    }
}
