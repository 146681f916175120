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

    static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

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
        { runtime in
            _ = try await runtime.ask(Fixture.WhereAmI(), at: "/middle/leaf")
            return try await runtime.snapshot(of: "/middle/leaf")
        },
    ]

    @Test("A request for a path below a worker waits for the worker's next incarnation", arguments: requests.indices)
    func betweenLives(_ index: Int) async throws {
        try await withRuntime(HighRoot.self, options: Support.options) { runtime in
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
            let life = ChildInstance(key: "a", incarnation: 1)
            let older = ChildSlot.Parking.limit + 100
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

    private static func add(_ number: Int) -> Envelope {
        let envelope = Envelope(.value(Fixture.Add(number)), sender: .root, deadline: nil)
        return envelope
    }
}

extension ChildSlot {
    fileprivate var isActive: Bool {
        if case .active = phase { true } else { false }
    }
}
