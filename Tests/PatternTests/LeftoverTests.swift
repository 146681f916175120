import Coordinators
import Fixtures
import Foundation
import TestSupport
import Testing

/// Nothing is left of a tree, whatever has replaced a life below it, and however the tree ends: what has no owner any more is freed at once,
/// though all of it may take ten minutes to stop.
@Suite("Nothing is left after any handover and any end", .timeLimit(minutes: 5))
struct LeftoverTests {
    @Test("Each handover, followed by each end of the parent", arguments: Handover.cases)
    func handoversAndEnds(_ handover: Handover, _ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for end in Owner.End.allCases {
                    group.addTask {
                        let key = "\(handover)-\(end)"
                        let owner = try await tree.context.start(Owner.self, as: key, restart: .temporary) {
                            ($0.handover, $0.isInWorker, $0.journal) = (handover, place.isWorker, tree.journal)
                        }
                        try await handover.perform(below: owner, tree)
                        try await end.perform(on: owner, tree)
                        try await eventually("\(key) has ended") { tree.context.child(key) == nil }
                    }
                }
                try await group.waitForAll()
            }
            var left = tree.runtime.counters
            try await eventually("nothing is left: \(left)") {
                left = tree.runtime.counters
                return left.coordinators == 1 && left.links == 0 && left.openAsks == 0 && left.observers == 0
            }
        }
    }

    @Test("A supervisor that replaces its child again and again stays as large as it was", arguments: Where.allCases)
    func memory(_ place: Where) async throws {
        let count = place.isWorker ? rounds(short: 10, all: 20, long: 1_000) : rounds(short: 500, all: 1_000, long: 10_000)
        try await LifecycleTree.run { tree in
            // In a process that does nothing else.
            let lab = try await tree.context.start(LifeChild.self, as: "lab", in: .worker) { $0.journal = tree.journal }
            try await lab.perform(.startChild("x", inWorker: place.isWorker))
            func size(after replacements: Int) async throws -> Int {
                for _ in 0..<replacements { try await tree.runtime.replace("/lab/x") }
                let process = try #require(try await tree.runtime.snapshot(of: "/lab").processID)
                let pages = try String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8).split(separator: " ")
                return try #require(Int(pages[1])) * Int(getpagesize())
            }
            let before = try await size(after: max(count / 10, 5))
            let after = try await size(after: count)
            print("\(count) replacements, \(place): \(before >> 10) KiB, then \(after >> 10) KiB")
            // A replacement that left a life behind would leave more than four KiB. A sanitizer keeps what was freed.
            #expect(Sanitizer.isOn || after - before < 1 << 20 + count << 9)
            #expect(try await tree.runtime.counters(of: "/lab").coordinators == (place.isWorker ? 1 : 2))
        }
    }
}

extension LeftoverTests {
    /// A way in which a life gives way to the next, or is about to when its parent ends.
    enum Handover: String, Codable, CaseIterable, CustomTestStringConvertible {
        case replacement, overlap, restartOfMembers, resize, recycling, restart
        /// The parent ends while its child starts.
        case start
        /// The child fails, and its parent ends before the restart does.
        case lastMoment

        var testDescription: String { rawValue }

        static var cases: [(Handover, Where)] {
            allCases.flatMap { handover in
                switch handover {
                case .overlap, .recycling: [(handover, Where.worker)]
                case .replacement, .restartOfMembers, .resize, .restart, .start, .lastMoment: Where.allCases.map { (handover, $0) }
                }
            }
        }

        fileprivate func perform(below owner: Child<Owner>, _ tree: LifecycleTree) async throws {
            let path = owner.path.appending("child")
            switch self {
            case .replacement, .overlap: try await tree.runtime.replace(path)
            case .restartOfMembers, .resize: try await owner.ask(Owner.ChangeMembers(), timeout: .seconds(60))
            case .recycling:
                _ = try await tree.whereIs(path)
                _ = try await tree.place(of: path, incarnation: 2)
            case .restart: _ = try await tree.runtime.restart(path)
            case .start:
                try await owner.ask(Owner.BeginChild())
                try await eventually("it starts") { (try? await tree.runtime.snapshot(of: path))?.state == .starting }
            case .lastMoment: _ = try? await tree.perform(.fail, at: path)
            }
        }
    }
}

/// The parent of what is handed over.
private actor Owner: Coordinator {
    enum End: CaseIterable {
        case removal, restart, finish, failure

        func perform(on owner: Child<Owner>, _ tree: LifecycleTree) async throws {
            switch self {
            case .removal: await owner.remove()
            case .restart:
                _ = try await tree.runtime.restart(owner.path)
                await owner.remove()
            case .finish: try await owner.send(Owner.Finish())
            case .failure: try await owner.send(Owner.Fail())
            }
        }
    }

    struct Configuration: CoordinatorConfiguration {
        var handover = LeftoverTests.Handover.restart
        var isInWorker = false
        var journal = Notebook()
    }

    struct ChangeMembers: ResponderMessage {}
    struct BeginChild: ResponderMessage {}
    struct Finish: ResponderMessage {}
    struct Fail: ResponderMessage {}

    let context: Context
    private var pool: Pool<LifeChild>?

    init(_ context: Context) { self.context = context }

    static let supervision = SupervisionPolicy(intensity: 1_000, period: .seconds(1), backoff: .none)

    static let responders: Responders = [
        .respond(to: ChangeMembers.self) { me, _ in
            guard let pool = me.pool else { return }
            if me.context.configuration.handover == .restartOfMembers { return try await pool.restartMembers() }
            for size in [3, 1] { try await pool.resize(to: size) }
        },
        // The start goes on when the row has ended, and ends with the coordinator.
        .respond(to: BeginChild.self) { me, _ in me.context.task { try await me.startChild(opening: .hangs) } },
        .respond(to: Finish.self) { me, _ in me.context.finish() },
        .respond(to: Fail.self) { me, _ in me.context.fail(Fixture.Refusal("told to fail")) },
    ]

    func start() async throws {
        let configuration = context.configuration
        let placement: Placement = configuration.isInWorker ? .worker : .inProcess
        switch configuration.handover {
        case .restartOfMembers, .resize:
            pool = try await context.start(LifeChild.self, as: "pool", in: .pool(2, placement), shutdown: .timeout(.seconds(600))) {
                $0.journal = configuration.journal
            }
        case .replacement, .overlap, .recycling, .restart, .lastMoment: try await startChild(opening: .plain)
        case .start: break
        }
    }

    private func startChild(opening: Life.Opening) async throws {
        let configuration = context.configuration
        let placement: Placement =
            switch configuration.handover {
            case .overlap: .worker(overlaps: true)
            case .recycling: .worker(recycling: Recycling(messages: 1))
            case .replacement, .restartOfMembers, .resize, .restart, .start, .lastMoment: configuration.isInWorker ? .worker : .inProcess
            }
        try await context.start(LifeChild.self, as: "child", in: placement, shutdown: .timeout(.seconds(600))) {
            ($0.journal, $0.opening) = (configuration.journal, opening)
        }
    }
}
