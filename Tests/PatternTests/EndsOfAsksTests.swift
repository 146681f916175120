import Coordinators
import CoordinatorsTesting
import Fixtures
import Supervision
import TestSupport
import Testing

@Suite("What askers are told", .timeLimit(minutes: 5))
struct EndsOfAsksTests {
    @Test("Every end of an ask by every way says whether a handler may have begun, and is right", arguments: DeedPlace.allCases)
    func ends(_ place: DeedPlace) async throws {
        var rows: [DeedEnd: [DeedCell]] = [:]
        try await withThrowingTaskGroup(of: (DeedEnd, [DeedCell]).self) { group in
            var ends = DeedEnd.allCases.filter { place == .worker || !$0.needsProcess }[...]
            // Each has a tree of its own, and three workers.
            for end in ends.prefix(4) { group.addTask { (end, try await DeedTree.cells(of: end, place)) } }
            ends = ends.dropFirst(4)
            for try await (end, cells) in group {
                rows[end] = cells
                if let next = ends.popFirst() { group.addTask { (next, try await DeedTree.cells(of: next, place)) } }
            }
        }
        print("| \(place.rawValue) | \(DeedWay.allCases.map(\.rawValue).joined(separator: " | ")) |")
        for end in DeedEnd.allCases {
            guard let cells = rows[end] else { continue }
            let texts = DeedWay.allCases.map { way in cells.first { $0.way == way }?.text ?? "" }
            print("| \(end.rawValue) | \(texts.joined(separator: " | ")) |")
            for cell in cells {
                let what: Comment = "\(place.rawValue), \(end.rawValue), \(cell.way.rawValue): \(cell.text), \(cell.told.message)"
                #expect(cell.told.code == end.code, what)
                guard let maybeExecuted = cell.told.maybeExecuted else { continue }
                let isUncertain = end.isUncertain(cell.way, place)
                // On a busy machine a message may not have left in its time, and its end then proves that.
                if end.isTimeOut, isUncertain, !cell.began { continue }
                #expect(maybeExecuted == (cell.began || isUncertain), what)
            }
            if end == .givenUpWaiting { #expect(cells.allSatisfy { $0.told.message.contains("Boom") }, "\(cells)") }
        }
    }

    @Test("What was withdrawn doesn't begin, whatever its asker does next", arguments: DeedPlace.allCases, DeedWithdrawal.allCases)
    func withdrawals(_ place: DeedPlace, _ withdrawal: DeedWithdrawal) async throws {
        try await DeedTree.run(place) { tree in
            for round in 0..<rounds(short: 15, all: 50, long: 500) {
                // At the responder itself, and in the queue of a pool.
                for (path, paused) in [("/doer", "/doer"), ("/pool", "/pool/1")] as [(CoordinatorPath, CoordinatorPath)] {
                    // An asker's messages climb to the doer.
                    if withdrawal == .stop, path != "/doer" { continue }
                    let name = "\(path.key) \(round)"
                    try await tree.runtime.pause(paused)
                    _ = try await tree.withdraw(name, at: path, withdrawal)
                    try await tree.runtime.resume(paused)
                    try await tree.fence(path)
                    #expect(!tree.began(name, at: paused), "\(name) had ended, and began")
                }
            }
            if withdrawal == .stop { return }
            // What it needs is provided once.
            _ = try await tree.withdraw("needing", at: "/doer", withdrawal, isNeeding: true)
            try await tree.runtime.ask(Deed.Provide(), timeout: .seconds(60))
            _ = try await tree.runtime.ask(Deed.Needing(Deed.Do("next", .answers)), at: "/doer", timeout: .seconds(60))
            #expect(tree.began("next", at: "/doer") && !tree.began("needing", at: "/doer"))
        }
    }

    @Test("Of a withdrawal and a beginning at the same time one wins, and the answer says which", arguments: DeedPlace.allCases)
    func races(_ place: DeedPlace) async throws {
        try await DeedTree.run(place) { tree in
            var outcomes: [String: Int] = [:]
            for round in 0..<rounds(short: 40, all: 200, long: 2_000) {
                // An idle coordinator, one that is resumed at that instant, and a pool whose member is.
                for (way, path, paused) in [("idle", "/doer", nil), ("resumed", "/doer", "/doer"), ("pool", "/pool", "/pool/1")]
                    as [(String, CoordinatorPath, CoordinatorPath?)]
                {
                    let name = "\(way) \(round)"
                    if let paused { try await tree.runtime.pause(paused) }
                    async let resumed: CoordinatorSnapshot? = paused == nil ? nil : tree.runtime.resume(paused ?? path)
                    // Sooner and later.
                    let told = await tree.tell(Deed.Do(name, .answers), at: path, timeout: .microseconds(round * 50))
                    _ = try await resumed
                    try await tree.fence(path)
                    let began = tree.began(name, at: paused ?? path)
                    #expect(told.maybeExecuted != false || !began, "\(name): \(told)")
                    #expect(told.code == "timedOut" || told.code == "answered" && began, "\(name): \(told)")
                    outcomes["\(way) \(told.code) \(began ? "began" : "")", default: 0] += 1
                }
            }
            print("\(place.rawValue): \(outcomes.sorted { $0.key < $1.key })")
        }
    }
}

enum DeedPlace: String, CaseIterable, CustomTestStringConvertible {
    case inProcess, encoded, worker

    var testDescription: String { rawValue }

    var workers: TestWorkers {
        switch self {
        case .inProcess: .inProcess
        case .encoded: .encoded
        case .worker: .built("FixtureWorker")
        }
    }
}

enum DeedWithdrawal: String, CaseIterable, CustomTestStringConvertible {
    case timeOut, cancellation, stop

    var testDescription: String { rawValue }
}

/// The way from the asker to the responder.
private enum DeedWay: String, CaseIterable {
    case direct, named, chain, forward, intercepted, stream, pool, node, nodeForwarded

    /// Whether the asker is on another node of a cluster.
    var isOfNode: Bool { self == .node || self == .nodeForwarded }
}

/// How an ask ends; of most ends, while it runs and while it waits.
private enum DeedEnd: String, CaseIterable {
    case answered, throwsItsOwn, throwsARefusal
    case timedOutRunning, timedOutWaiting, cancelledRunning, cancelledWaiting
    case stoppedRunning, stoppedWaiting, failedRunning, failedWaiting, killedRunning, killedWaiting
    case askerStoppedRunning, askerStoppedWaiting
    case givenUp, givenUpWaiting, restarting, mailboxFull, draining

    var code: String {
        switch self {
        case .answered: "answered"
        case .throwsItsOwn: "thrown"
        case .throwsARefusal, .mailboxFull: "mailboxFull"
        case .timedOutRunning, .timedOutWaiting: "timedOut"
        case .cancelledRunning, .cancelledWaiting: "cancelled"
        case .stoppedRunning, .stoppedWaiting, .askerStoppedRunning, .askerStoppedWaiting: "stopped"
        case .failedRunning, .failedWaiting, .killedRunning, .killedWaiting: "peerLost"
        case .givenUp: "failed"
        case .givenUpWaiting: "startFailed"
        case .restarting: "restarting"
        case .draining: "draining"
        }
    }

    var needsProcess: Bool { self == .killedRunning || self == .killedWaiting }
    var isTimeOut: Bool { self == .timedOutRunning || self == .timedOutWaiting }

    /// Whether the messages wait, because the responders are paused.
    var isWaiting: Bool { rawValue.hasSuffix("Waiting") && self != .givenUpWaiting || self == .mailboxFull }
    var isRunning: Bool { rawValue.hasSuffix("Running") }

    var act: Deed.Act {
        switch self {
        case .throwsItsOwn: .throwsItsOwn
        case .throwsARefusal: .throwsARefusal
        default: isRunning ? .holds : .answers
        }
    }

    var ways: [DeedWay] {
        switch self {
        case .askerStoppedRunning, .askerStoppedWaiting: [.chain]
        // A pool's messages wait for the next life, or go to another member.
        case .failedWaiting, .killedWaiting, .givenUp, .givenUpWaiting, .restarting: DeedWay.allCases.filter { $0 != .pool }
        default: DeedWay.allCases
        }
    }

    /// Whether it isn't known that no handler has begun, although none has.
    func isUncertain(_ way: DeedWay, _ place: DeedPlace) -> Bool {
        switch self {
        // What an interceptor does counts, unless a refusal comes back through it.
        case .timedOutWaiting where way == .intercepted, .timedOutRunning where way == .intercepted: true
        // The message has left, and its asker hears no more of it; a pool keeps what its members don't take.
        case .timedOutWaiting where way.isOfNode, .timedOutRunning where way.isOfNode: true
        // What is to run may not have begun in its time either.
        case .timedOutWaiting, .timedOutRunning, .killedWaiting, .askerStoppedWaiting: place != .inProcess && way != .pool
        default: false
        }
    }

    var supervision: SupervisionPolicy {
        let (intensity, pause): (Int, Duration) =
            switch self {
            case .givenUp: (0, .zero)
            case .givenUpWaiting: (2, .milliseconds(500))
            case .restarting: (100, .seconds(600))
            default: (100, .zero)
            }
        let backoff = pause == .zero ? Backoff.none : Backoff(minimum: pause, maximum: pause)
        return SupervisionPolicy(.oneForOne, intensity: intensity, period: .seconds(60), backoff: backoff)
    }
}

private struct DeedCell {
    let way: DeedWay
    let told: Deed.Told
    let began: Bool

    var text: String {
        let says = told.maybeExecuted.map { $0 ? "maybe" : "never" } ?? "–"
        return "\(told.code) \(says) (\(began ? "began" : "didn't"))"
    }
}

private struct DeedTree: Sendable {
    let runtime: CoordinatorRuntime
    let notebook: Notebook
    /// Another node of a cluster, for which the doer is on this one.
    var caller: CoordinatorRuntime?

    static func run<Result>(
        _ place: DeedPlace,
        _ supervision: SupervisionPolicy = DeedEnd.answered.supervision,
        _ configure: (inout DeedHall.Configuration) -> Void = { _ in },
        _ body: (DeedTree) async throws -> Result
    ) async throws -> Result {
        let notebook = try Notebook.temporary()
        defer { notebook.remove() }
        var options = Support.options
        options.supervision = supervision
        return try await withRuntime(
            DeedHall.self,
            options: options,
            configure: {
                $0.notebook = notebook
                configure(&$0)
            },
            workers: place.workers
        ) { try await body(DeedTree(runtime: $0, notebook: notebook)) }
    }

    static func cells(of end: DeedEnd, _ place: DeedPlace) async throws -> [DeedCell] {
        let configure: (inout DeedHall.Configuration) -> Void = {
            ($0.startsOnce, $0.drains) = (end == .givenUpWaiting || end == .restarting, end == .draining)
        }
        return try await run(place, end.supervision, configure) { tree in
            try await CallingNode.with("doer", of: tree.runtime) { caller in
                // Their link, so that all that is asked later leaves at once.
                _ = try await caller.ask(Deed.Do("fence", .answers), at: "/doer", timeout: .seconds(60))
                return try await DeedTree(runtime: tree.runtime, notebook: tree.notebook, caller: caller).cells(of: end)
            }
        }
    }

    private func cells(of end: DeedEnd) async throws -> [DeedCell] {
        let background = try await prepare(end)
        let timeout: Duration = end.isTimeOut ? .seconds(1) : .seconds(60)
        let asks = end.ways.map { way in (way, Task { await self.tell(way, Deed.Do(way.rawValue, end.act), timeout) }) }
        if end.isRunning, !end.isTimeOut {
            try await eventually("all have begun") { end.ways.allSatisfy { began($0.rawValue, at: place(of: $0)) } }
        } else if end.isWaiting, !end.isTimeOut, end != .mailboxFull {
            let count = end.ways.count { $0 != .pool }
            try await eventually("all wait") {
                guard try await runtime.snapshot(of: "/doer").mailbox?.waiting == count else { return false }
                if count == end.ways.count { return true }
                return try await runtime.snapshot(of: "/pool").mailbox?.waiting == 1
            }
        }
        try await act(end, asks.map(\.1))
        var told: [(DeedWay, Deed.Told)] = []
        for (way, ask) in asks { told.append((way, await ask.value)) }
        if end == .timedOutWaiting || end == .cancelledWaiting {
            for path in ["/doer", "/pool/1"] as [CoordinatorPath] { try await runtime.resume(path) }
            for path in ["/doer", "/pool"] as [CoordinatorPath] { try await fence(path) }
        }
        notebook.note("go on")
        // A drain waits for the `run` hook too, and a pool that drains starts its member again.
        if end == .draining { for line in ["/doer fails 1", "/pool/1 fails 1", "/pool/1 fails 2"] { notebook.note(line) } }
        for task in background { await task.value }
        return told.map { DeedCell(way: $0, told: $1, began: began($0.rawValue, at: place(of: $0))) }
    }

    private func place(of way: DeedWay) -> CoordinatorPath { way == .pool ? "/pool/1" : "/doer" }

    /// Brings the responders into the state in which the ask is to find them.
    private func prepare(_ end: DeedEnd) async throws -> [Task<Void, Never>] {
        if end.isWaiting { for path in ["/doer", "/pool/1"] as [CoordinatorPath] { try await runtime.pause(path) } }
        switch end {
        case .mailboxFull:
            for path in ["/doer", "/pool"] as [CoordinatorPath] {
                for _ in 0..<DeedCoordinator.mailbox.waiting { try await runtime.send(Deed.Do("fills", .answers), at: path) }
            }
        case .givenUp, .givenUpWaiting, .restarting:
            notebook.note("/doer fails 1")
            let state: CoordinatorState = end == .givenUp ? .failed : .restarting
            try await eventually("it's \(state)") { try await runtime.snapshot(of: "/doer").state == state }
        case .draining:
            let paths: [(CoordinatorPath, CoordinatorPath)] = [("/doer", "/doer"), ("/pool", "/pool/1")]
            let held = paths.map { path, _ in Task { _ = await tell(Deed.Do("held", .holds), at: path, timeout: .seconds(60)) } }
            try await eventually("both are held") { paths.allSatisfy { began("held", at: $1) } }
            let stops = paths.map { path, _ in Task { _ = try? await runtime.stop(path) } }
            // What comes between the decision and what follows from it is still taken, and waits behind what is held.
            for (path, _) in paths {
                try await eventually("\(path) refuses") {
                    await tell(Deed.Do("probe", .answers), at: path, timeout: .milliseconds(100)).code == end.code
                }
            }
            return held + stops
        default: break
        }
        return []
    }

    /// Does what ends the asks.
    private func act(_ end: DeedEnd, _ asks: [Task<Deed.Told, Never>]) async throws {
        switch end {
        case .cancelledRunning, .cancelledWaiting: for ask in asks { ask.cancel() }
        case .stoppedRunning, .stoppedWaiting: for path in ["/doer", "/pool"] as [CoordinatorPath] { try await runtime.stop(path) }
        case .askerStoppedRunning, .askerStoppedWaiting: try await runtime.stop("/asker")
        case .failedRunning, .failedWaiting: for path in ["/doer", "/pool/1"] { notebook.note("\(path) fails 1") }
        case .killedRunning, .killedWaiting: for path in ["/doer", "/pool/1"] as [CoordinatorPath] { try await runtime.kill(path) }
        default: break
        }
    }

    private func tell(_ way: DeedWay, _ deed: Deed.Do, _ timeout: Duration) async -> Deed.Told {
        switch way {
        case .direct: return await tell(deed, at: "/doer", timeout: timeout)
        case .pool: return await tell(deed, at: "/pool", timeout: timeout)
        case .nodeForwarded: return await .by { try await #require(caller).ask(deed, timeout: timeout) }
        case .node: return await .by { try await #require(caller).ask(deed, at: "/doer", timeout: timeout) }
        case .forward: return await tell(deed, at: .root, timeout: timeout)
        case .intercepted: return await .by { try await runtime.ask(Deed.Watched(deed), timeout: timeout) }
        case .chain: return await tellByAsker(deed, timeout)
        case .named:
            return await .by {
                let payload: JSONValue = ["name": .string(deed.name), "act": .string(deed.act.rawValue)]
                return "\(try await runtime.ask(named: "Deed.Do", payload: payload, at: "/doer", timeout: timeout))"
            }
        case .stream:
            return await .by {
                let doer = try runtime.coordinator(DeedCoordinator.self, at: "/doer")
                for try await reply in try doer.stream(deed, timeout: timeout) { return reply }
                try Task.checkCancellation()
                return "nothing"
            }
        }
    }

    func tell(_ deed: Deed.Do, at path: CoordinatorPath, timeout: Duration) async -> Deed.Told {
        await .by { try await runtime.ask(deed, at: path, timeout: timeout) }
    }

    private func tellByAsker(_ deed: Deed.Do, _ timeout: Duration) async -> Deed.Told {
        var told: Deed.Told?
        let outer = await Deed.Told.by {
            let ask = Deed.Ask(deed, milliseconds: Int(timeout / .milliseconds(1)))
            told = try await runtime.ask(ask, at: "/asker", timeout: .seconds(120))
            return ""
        }
        return told ?? outer
    }

    /// Has a coordinator be asked that can't begin the message, and the ask be withdrawn.
    func withdraw(
        _ name: String,
        at path: CoordinatorPath,
        _ withdrawal: DeedWithdrawal,
        isNeeding: Bool = false
    ) async throws -> Deed.Told {
        let deed = Deed.Do(name, .answers)
        let tell: @Sendable (Duration) async -> Deed.Told = { timeout in
            if !isNeeding { return await self.tell(deed, at: path, timeout: timeout) }
            return await .by { try await runtime.ask(Deed.Needing(deed), at: path, timeout: timeout) }
        }
        switch withdrawal {
        case .timeOut: return await tell(.milliseconds(5))
        case .cancellation:
            let ask = Task.immediate { await tell(.seconds(60)) }
            ask.cancel()
            return await ask.value
        case .stop:
            let ask = Task { await tellByAsker(deed, .seconds(60)) }
            try await eventually("it waits") { try await runtime.snapshot(of: path).mailbox?.waiting == 1 }
            try await runtime.restart("/asker")
            return await ask.value
        }
    }

    /// Returns when what came before has begun, if it does.
    func fence(_ path: CoordinatorPath) async throws {
        _ = try await runtime.ask(Deed.Do("fence", .answers), at: path, timeout: .seconds(60))
    }

    func began(_ name: String, at path: CoordinatorPath) -> Bool { notebook.reads("\(path) begins \(name)") }
}
