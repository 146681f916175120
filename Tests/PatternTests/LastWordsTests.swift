import Coordinators
import Fixtures
import Glibc
import Synchronization
import TestSupport
import Testing

/// Tests that the answers, events and messages of a worker arrive before its end does.
@Suite("Last words", .timeLimit(minutes: 5))
struct LastWordsTests {
    /// The ways in which an incarnation ends; `nil`: it's stopped.
    private static let ends: [LastWords.Ending?] = [nil] + LastWords.Ending.allCases.map(Optional.some)

    @Test("Hundreds of handlers answer when they are cancelled", arguments: Where.allCases, ends)
    func answers(_ place: Where, _ end: LastWords.Ending?) async throws {
        try await PageTree.run { tree in
            let child = try await tree.startSpeaker(in: place)
            let count = rounds(short: 300, all: 1_000, long: 1_000)
            let asks = (0..<count).map { _ in Task { try await child.ask(LastWords.Hold(bytes: 2_000), timeout: .seconds(100)) } }
            try await eventually("all are held") { try await child.ask(LastWords.Held(), timeout: .seconds(20)) == count }
            let work = BusyProcessor()
            defer { work.end() }
            await child.end(end)
            var failures: [String: Int] = [:]
            for ask in asks {
                switch await ask.result {
                case .success(let answer): #expect(answer.utf8.count == 2_000)
                case .failure(let error): failures["\(error)", default: 0] += 1
                }
            }
            #expect(failures.isEmpty)
            #expect(tree.runtime.counters.openAsks == 0)
        }
    }

    @Test("Asks that wait for a paused worker end with stopped", arguments: Where.allCases)
    func parked(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.startSpeaker(in: place)
            await child.pause()
            let asks = (0..<1_024).map { _ in Task.immediate { try await child.ask(LastWords.Fetch(bytes: 1), timeout: .seconds(100)) } }
            let work = BusyProcessor()
            defer { work.end() }
            await child.remove()
            var outcomes: [String: Int] = [:]
            for ask in asks {
                switch await ask.result {
                case .success: outcomes["answered", default: 0] += 1
                case .failure(let error): outcomes["\((error as? CoordinatorError)?.code.description ?? "\(error)")", default: 0] += 1
                }
            }
            #expect(outcomes == ["stopped": 1_024])
        }
    }

    @Test("Large answers of a worker that is replaced again and again arrive")
    func recycling() async throws {
        try await PageTree.run { tree in
            let child = try await tree.root.start(
                LastWordsCoordinator.self,
                as: "speaker",
                in: .worker(recycling: Recycling(messages: 40)),
                shutdown: .timeout(.seconds(60))
            )
            let work = BusyProcessor()
            defer { work.end() }
            let failures = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<200 {
                    group.addTask {
                        do {
                            let answer = try await child.ask(LastWords.Fetch(bytes: 200_000), timeout: .seconds(120))
                            return answer.utf8.count == 200_000 ? nil : "cut short"
                        } catch {
                            return "\(error)"
                        }
                    }
                }
                return await group.reduce(into: [String]()) { all, one in if let one { all.append(one) } }
            }
            #expect(failures.isEmpty)
            #expect(child.incarnation > 1)
        }
    }

    @Test("Events and messages of the stop hook arrive", arguments: Where.allCases, ends)
    func hook(_ place: Where, _ end: LastWords.Ending?) async throws {
        try await PageTree.run { tree in
            let child = try await tree.startSpeaker(in: place, restart: .temporary) {
                $0.events = 200
                $0.farewells = 2_500
            }
            let events = child.events()
            let work = BusyProcessor()
            defer { work.end() }
            await child.end(end)
            var heard: [Int] = []
            for await event in events { heard.append(event) }
            #expect(heard == Array(0..<200))
            try await eventually("all that was sent is handled") { tree.notebook.words(at: "/").count { $0 == "toggled" } == 2_500 }
        }
    }
}

extension PageTree {
    fileprivate func startSpeaker(
        in place: Where,
        restart: RestartType = .permanent,
        configure: (inout LastWordsCoordinator.Configuration) -> Void = { _ in }
    ) async throws -> Child<LastWordsCoordinator> {
        try await root.start(
            LastWordsCoordinator.self,
            as: "speaker",
            in: place.placement,
            restart: restart,
            shutdown: .timeout(.seconds(60)),
            configure: configure
        )
    }
}

extension Child<LastWordsCoordinator> {
    fileprivate func end(_ end: LastWords.Ending?) async {
        guard let end else { return await remove() }
        // The handler that ends it may be cancelled by the end.
        try? await ask(LastWords.End(end), timeout: .seconds(20))
    }
}

/// Two threads that never rest: what only goes well by chance goes wrong beside them.
private final class BusyProcessor: Sendable {
    private let isOver = Atomic(false)

    init() {
        for _ in 0..<2 {
            Task.detached { [weak self] in
                while self?.isOver.load(ordering: .relaxed) == false {
                    for _ in 0..<1_000 { _ = getppid() }
                    await Task.yield()
                }
            }
        }
    }

    func end() { isOver.store(true, ordering: .relaxed) }
}
