import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Glibc
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// A root above a worker that has a child in each of its lives.
private actor HighRoot: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws {
        try await context.start(RootCoordinator.self, as: "middle", in: .worker) { $0.children = ["leaf"] }
    }
}

@Suite("Between two lives of a child", .timeLimit(minutes: 3))
struct BetweenLivesTests {
    private static let requests: [@Sendable (CoordinatorRuntime) async throws -> CoordinatorSnapshot] = [
        { try await $0.snapshot(of: "/middle/leaf") },
        { try await $0.restart("/middle/leaf") },
        { try await $0.pause("/middle/leaf") },
        { try await $0.resume("/middle/leaf") },
        { try await $0.start("/middle/leaf") },
        { try await $0.stop("/middle/leaf") },
        { try await $0.replace("/middle/leaf") },
        { runtime in
            _ = try await runtime.counters(of: "/middle")
            return try await runtime.snapshot(of: "/middle/leaf")
        },
        { runtime in
            _ = try await runtime.ask(Fixture.WhereAmI(), at: "/middle/leaf")
            return try await runtime.snapshot(of: "/middle/leaf")
        },
    ]

    @Test("A request for a path below a worker waits for the worker's next incarnation", arguments: requests.indices)
    func betweenLives(_ index: Int) async throws {
        try await withRuntime(HighRoot.self, options: Self.options(backoff: .none)) { runtime in
            let children = try #require(try runtime.root.existingChildren)
            for _ in 0..<3 {
                let place = try await runtime.ask(Fixture.WhereAmI(), at: "/middle")
                kill(place.pid, SIGKILL)
                try await eventually("its end is known") {
                    children.state.withLock { $0.slots["middle"].map { !$0.isActive || $0.incarnation > place.incarnation } }
                }
                #expect(try await Self.patiently { try await Self.requests[index](runtime) }.path == "/middle/leaf")
            }
        }
    }

    @Test("A request for a path below a child waits for its next attempt, unless that is too late", arguments: requests.indices)
    func pausedRestart(_ index: Int) async throws {
        for (pause, isInTime) in [(Duration.seconds(3), true), (.seconds(600), false)] {
            let time = ManualTime()
            let backoff = Backoff(minimum: pause, maximum: pause, jitter: 0)
            try await withRuntime(HighRoot.self, options: Self.options(backoff: backoff), time: time) { runtime in
                for _ in 0..<2 {
                    try await runtime.fault(.crash, at: "/middle")
                    await time.advance(by: .zero)
                }
                #expect(try await runtime.snapshot(of: "/middle").state == .restarting)
                async let answer = Self.requests[index](runtime)
                await time.advance(by: isInTime ? pause + .seconds(1) : .zero)
                do {
                    let path = try await answer.path
                    #expect(isInTime && path == "/middle/leaf")
                } catch let error as CoordinatorError {
                    #expect(!isInTime && error.code == .restarting, "\(error)")
                }
            }
        }
    }

    private static func options(backoff: Backoff) -> CoordinatorRuntime.Options {
        var options = Support.options
        options.supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: backoff)
        return options
    }

    /// A request waits for five seconds: a machine that is loaded needs longer for a life, and only one that gave up earlier is wrong.
    private static func patiently(_ request: () async throws -> CoordinatorSnapshot) async throws -> CoordinatorSnapshot {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let begin = ContinuousClock.now
            do {
                return try await request()
            } catch let error as CoordinatorError {
                guard ContinuousClock.now - begin > .milliseconds(4_500), ContinuousClock.now < deadline else { throw error }
            }
        }
    }

    @Test("Messages that return from an ended link are delivered in order, before later ones and beyond the limits")
    func returned() async throws {
        try await withRoot("a", in: .inProcess) { runtime in
            let children = try #require(try runtime.root.existingChildren)
            let life = IncarnationID(key: "a", incarnation: 1)
            let older = MessageParking<ParkedMessage>.limit + 100
            children.handle(.becameUnreachable, of: life)
            for number in older..<(older + 10) { children.deliver(Self.add(number), to: "a", [], isDirect: false) }
            for number in 0..<older {
                children.handle(.messageReturned(.init(envelope: Self.add(number), rest: [], isDirect: false)), of: life)
            }
            children.handle(.becameReachable, of: life)
            let expected = (0..<(older + 10)).map { "down \($0)" }
            // It comes after all of them.
            let seen = try await runtime.ask(Fixture.Seen(), at: "/a", timeout: .seconds(60))
            #expect(seen.filter { $0.hasPrefix("down") } == expected)
        }
    }

    @Test("A message that returns while the next life is scheduled waits before later ones, if that life begins within its deadline")
    func returnedBeforeAPause() async throws {
        try await withRoot("a", in: .inProcess) { runtime in
            let children = try #require(try runtime.root.existingChildren)
            let soon = MonotonicTime.now + .seconds(300)
            let life = try #require(
                children.withSlot("a") { slot in
                    defer { slot.phase = .vacant(nextAttempt: soon + .seconds(300)) }
                    return slot.phase.life
                } ?? nil
            )
            let (first, second) = (Self.add(1), Self.add(2))
            let late = Self.add(3, deadline: soon)
            children.deliver(second, to: "a", [], isDirect: false)
            for (message, isKept) in [(first, true), (late, false)] {
                let message = ParkedMessage(envelope: message, rest: [], isDirect: false)
                #expect(children.park(returned: message, from: IncarnationID(key: "a", incarnation: 1)) == isKept)
            }
            children.withSlot("a") { $0.phase = .flushing(life) }
            children.flush("a")
            let seen = try await runtime.ask(Fixture.Seen(), at: "/a", timeout: .seconds(60))
            #expect(seen.filter { $0.hasPrefix("down") } == ["down 1", "down 2"])
        }
    }

    private static func add(_ number: Int, deadline: MonotonicTime? = nil) -> Envelope {
        Envelope(.value(Fixture.Add(number)), sender: .root, deadline: deadline)
    }
}

extension ChildSlot {
    fileprivate var isActive: Bool {
        if case .active = phase { true } else { false }
    }
}
