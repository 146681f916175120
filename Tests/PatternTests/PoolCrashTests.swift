import ConcurrencySupport
import Coordinators
import Fixtures
import Glibc
import Logging
import TestSupport
import Testing

@Suite("Pattern: pools whose members die of what they handle", .timeLimit(minutes: 5))
struct PoolCrashTests {
    /// Two messages that a member has at the same time: the one of which it dies, and another.
    struct Case: Sendable, CustomStringConvertible {
        let way: Crash.Way
        let isIdempotent: Bool
        let isOtherIdempotent: Bool

        var place: Where { way == .fail ? .inProcess : .worker }
        var description: String { "\(way.rawValue)\(isIdempotent ? "" : " once") beside \(isOtherIdempotent ? "repeatable" : "once")" }

        /// A sanitizer would report the allocation that is refused.
        private static let ways = Crash.Way.allCases.filter { $0 != .exitForGood && !($0 == .memory && Sanitizer.isOn) }

        static let all = ways.flatMap { way in
            [true, false].flatMap { one in [true, false].map { Case(way: way, isIdempotent: one, isOtherIdempotent: $0) } }
        }
    }

    @Test("Asks whose time is over while they wait for the next life of a pool end, and so do those that are cancelled")
    func endsBetweenLives() async throws {
        var options = Self.quietly(allowing: 1_000)
        options.supervision?.backoff = Backoff(minimum: .milliseconds(300), maximum: .milliseconds(300))
        try await PageTree.run(options: options) { tree in
            for round in 1...5 {
                let limits = RestartLimits(intensity: .restarts(0))
                let placement = PoolPlacement.pool(1, .inProcess, restartLimits: limits)
                let pool = try await tree.startCrashing("pool-\(round)", in: placement)
                let bad = Self.ask(pool, Crash.Deed("bad \(round)", after: "go \(round)", .fail), isIdempotent: false)
                try await eventually("it has begun") { tree.begins("bad \(round)") == 1 }
                let asks = (1...20).map { number in
                    Task.immediate {
                        try await pool.ask(
                            Crash.Once(Crash.Deed("\(round): \(number)", after: "never")),
                            timeout: .milliseconds(number < 10 ? 100 : 60_000)
                        )
                    }
                }
                tree.notebook.note("go \(round)")
                _ = await bad.value
                for ask in asks[9...] { ask.cancel() }
                for ask in asks {
                    await #expect(throws: (any Error).self) { try await ask.value }
                }
            }
        }
    }

    @Test("What waits is handled once, what was begun at most once unless it's idempotent, and what kills three members is poisoned")
    func deaths() async throws {
        try await PageTree.run(options: Self.quietly(allowing: 100)) { tree in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for each in Case.all { group.addTask { try await Self.check(each, tree) } }
                try await group.waitForAll()
            }
            let poisoned = Case.all.filter { $0.isIdempotent && $0.way != .operatorsKill }.count
            #expect(tree.runtime.deadLetters.letters.count { $0.reason == .poisoned } == poisoned)
            // No pool has ended by what its members were given.
            #expect(tree.root.children.allSatisfy { $0.incarnation == 1 })
        }
    }

    /// Returns options under which what workers say when they crash isn't printed.
    private static func quietly(allowing restarts: Int) -> CoordinatorRuntime.Options {
        var options = Support.options.allowing(restarts: restarts)
        options.workerOutput = .captured { _, _ in }
        options.logger.logLevel = .critical
        return options
    }

    private static func check(_ each: Case, _ tree: PageTree) async throws {
        let key = "\(each)".replacing(" ", with: "-")
        let pool = try await tree.startCrashing(key, in: .pool(1, each.place.placement))
        let member = pool.members[0]
        let way = each.way
        let deed = Crash.Deed("\(key) bad", after: "\(key) go", way)
        let bad = ask(pool, deed, isIdempotent: each.isIdempotent)
        let other = askByName(pool, Crash.Deed("\(key) other", after: "\(key) calm"), tree, isIdempotent: each.isOtherIdempotent)
        try await eventually("\(key): both have begun") { tree.begins("\(key) bad") == 1 && tree.begins("\(key) other") == 1 }
        let waiting = (1...3).map { ask(pool, Crash.Deed("\(key) waiting \($0)"), isIdempotent: false) }
        tree.notebook.note("\(key) go")
        if !way.isOfHandler { try await tree.end(member, by: way) }
        try await eventually("\(key): it has died") { member.incarnation > 1 }
        tree.notebook.note("\(key) calm")
        // An operator's kill makes no suspect.
        let isSuspect = way != .operatorsKill
        // What was given to the member besides would die by the next kill.
        if !isSuspect { for task in waiting + [other] { _ = await task.value } }
        if each.isIdempotent, !way.isOfHandler {
            let kills = isSuspect ? 2 : 3
            for number in 2..<2 + kills {
                try await eventually("\(key): it's handled again") { tree.begins("\(key) bad") == number }
                try await tree.end(member, by: way)
            }
        }
        tree.notebook.note("\(deed.name) may go on")
        switch await bad.value {
        case .success: #expect(each.isIdempotent && !isSuspect, "\(each)")
        case .failure(let error) where each.isIdempotent:
            #expect(error.code == .poisoned && error.maybeExecuted && isSuspect, "\(each): \(error)")
        case .failure(let error): #expect(error.code == .peerLost && error.maybeExecuted, "\(each): \(error)")
        }
        switch await other.value {
        case .success: #expect(each.isOtherIdempotent)
        case .failure(let error): #expect(!each.isOtherIdempotent && error.code == .peerLost && error.maybeExecuted, "\(each): \(error)")
        }
        for task in waiting {
            if case .failure(let error) = await task.value { Issue.record("\(each): what waited has failed: \(error)") }
        }
        #expect(tree.begins("\(key) bad") == (each.isIdempotent ? isSuspect ? 3 : 5 : 1), "\(each)")
        if isSuspect {
            #expect(tree.begins("\(key) other") == (each.isOtherIdempotent ? 2 : 1), "\(each)")
            for name in ["\(key) bad", "\(key) other"] {
                let again = tree.notebook.lines.filter { $0.hasPrefix("\(name) begins") }.dropFirst()
                #expect(again.allSatisfy { $0 == "\(name) begins beside 0" }, "\(each): \(again)")
            }
        }
        for number in 1...3 { #expect(tree.begins("\(key) waiting \(number)") == 1, "\(each)") }
    }

    /// Asks with an encoded message, whose bytes are gone once a handler has it.
    private static func askByName(
        _ pool: Pool<CrashCoordinator>,
        _ deed: Crash.Deed,
        _ tree: PageTree,
        isIdempotent: Bool
    ) -> Task<Result<Void, CoordinatorError>, Never> {
        let payload: JSONValue = ["deed": ["name": .string(deed.name), "gate": deed.gate.map { .string($0) } ?? .null]]
        return Task.immediate {
            do {
                let name = isIdempotent ? Crash.Repeatable.name : Crash.Once.name
                _ = try await tree.runtime.ask(named: name, payload: payload, at: pool.path, timeout: .seconds(120))
                return .success(())
            } catch {
                return .failure(error as? CoordinatorError ?? CoordinatorError(.unsupported, "\(error)"))
            }
        }
    }

    private static func ask(
        _ pool: Pool<CrashCoordinator>,
        _ deed: Crash.Deed,
        isIdempotent: Bool
    ) -> Task<Result<Void, CoordinatorError>, Never> {
        Task.immediate {
            do {
                if isIdempotent {
                    try await pool.ask(Crash.Repeatable(deed), timeout: .seconds(120))
                } else {
                    try await pool.ask(Crash.Once(deed), timeout: .seconds(120))
                }
                return .success(())
            } catch {
                return .failure(error as? CoordinatorError ?? CoordinatorError(.unsupported, "\(error)"))
            }
        }
    }

    @Test("A member that is recycled while it handles a message casts no suspicion on the message")
    func recycled() async throws {
        try await PageTree.run(options: Self.quietly(allowing: 0)) { tree in
            let placement = PoolPlacement.pool(1, .worker(recycling: Recycling(messages: 2)))
            let pool = try await tree.startCrashing("pool", in: placement, shutdown: .timeout(.milliseconds(200)))
            let repeated = Self.ask(pool, Crash.Deed("repeated", after: "calm"), isIdempotent: true)
            // More often than what kills its members is given again.
            for number in 1...3 {
                try await eventually("it's handled in life \(number)") { tree.begins("repeated") == number }
                // The second message of this life, which the first one outlasts.
                try await pool.ask(Crash.Once(Crash.Deed("\(number)")), timeout: .seconds(60))
            }
            try await eventually("it's handled once more") { tree.begins("repeated") == 4 }
            tree.notebook.note("calm")
            if case .failure(let error) = await repeated.value { Issue.record("\(error)") }
            #expect(tree.runtime.deadLetters.count == 0 && pool.members[0].incarnation == 4)
        }
    }

    @Test("Forty bad inputs end no pool of three, and no other request")
    func badInputs() async throws {
        try await PageTree.run(options: Self.quietly(allowing: 0)) { tree in
            let pool = try await tree.startCrashing("pool", in: .pool(3, .worker))
            let results = await withTaskGroup(of: (isBad: Bool, Result<Void, CoordinatorError>).self) { group in
                for number in 0..<120 {
                    let isBad = number % 3 == 0
                    let deed = Crash.Deed("\(number)", isBad ? .trap : nil)
                    group.addTask { (isBad, await Self.ask(pool, deed, isIdempotent: !isBad).value) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for (isBad, result) in results {
                switch result {
                case .success: #expect(!isBad)
                case .failure(let error): #expect(isBad && error.code == .peerLost && error.maybeExecuted, "\(error)")
                }
            }
            let begun = stride(from: 0, to: 120, by: 3).map { tree.begins("\($0)") }
            #expect(begun.allSatisfy { $0 <= 1 }, "\(begun)")
            let place = try await tree.runtime.snapshot(of: "/pool")
            #expect(place.state == .active && place.incarnation == 1)
            try await pool.ask(Crash.Once(Crash.Deed("last")), timeout: .seconds(60))
        }
    }

    /// A pool that ends because of its members.
    enum End: String, CaseIterable, Sendable {
        case policy, limits, allGivenUp

        var placement: PoolPlacement {
            switch self {
            case .policy: .pool(2, .worker, supervision: SupervisionPolicy(intensity: 0))
            case .limits: .pool(2, .worker, restartLimits: RestartLimits(intensity: 0))
            case .allGivenUp: .pool(1, .worker, routing: .hashing(\Crash.Once.deed.name))
            }
        }
    }

    @Test("A pool that ends, and that its parent restarts, loses nothing that only waited", arguments: End.allCases)
    func escalation(_ end: End) async throws {
        try await PageTree.run(options: Self.quietly(allowing: 1)) { tree in
            let pool = try await tree.startCrashing("pool", in: end.placement)
            let bad = Self.ask(pool, Crash.Deed("bad", after: "go", end == .allGivenUp ? .exitForGood : .trap), isIdempotent: false)
            let other = Self.ask(pool, Crash.Deed("other", after: "never"), isIdempotent: false)
            try await eventually("both have begun") { tree.begins("bad") == 1 && tree.begins("other") == 1 }
            // One is beside the bad one, the other in a healthy member.
            let gate = end == .allGivenUp ? "go" : "go on"
            let repeated = (1...2).map { Self.ask(pool, Crash.Deed("repeated \($0)", after: gate), isIdempotent: true) }
            if end != .allGivenUp {
                try await eventually("they have begun too") { (1...2).allSatisfy { tree.begins("repeated \($0)") == 1 } }
            }
            let waiting = (1...20).map { number in Self.ask(pool, Crash.Deed("\(number)"), isIdempotent: number % 2 == 0) }
            for number in 21...25 { try await pool.send(Crash.Once(Crash.Deed("\(number)"))) }
            tree.notebook.note("go")
            for task in waiting {
                if case .failure(let error) = await task.value { Issue.record("what waited has failed: \(error)") }
            }
            for (task, codes) in [(bad, [.peerLost]), (other, [.peerLost, .stopped])] as [(_, [CoordinatorError.Code])] {
                guard case .failure(let error) = await task.value else { Issue.record("its member has ended"); continue }
                #expect(codes.contains(error.code) && error.maybeExecuted, "\(error)")
            }
            tree.notebook.note("go on")
            for task in repeated {
                if case .failure(let error) = await task.value { Issue.record("what is idempotent has failed: \(error)") }
            }
            try await eventually("what was sent is handled too") { (21...25).allSatisfy { tree.begins("\($0)") == 1 } }
            #expect((1...20).allSatisfy { tree.begins("\($0)") == 1 })
            #expect(tree.root.children.map(\.incarnation) == [2])
            #expect(tree.runtime.deadLetters.count == 0)
        }
    }
}

extension PageTree {
    fileprivate func startCrashing(
        _ key: String,
        in placement: PoolPlacement,
        shutdown: Shutdown = .timeout(.seconds(5))
    ) async throws -> Pool<CrashCoordinator> {
        try await root.start(CrashCoordinator.self, as: key, in: placement, shutdown: shutdown) { $0.notebook = notebook }
    }

    /// Returns how often a handler has begun.
    fileprivate func begins(_ name: String) -> Int { notebook.lines.count { $0.hasPrefix("\(name) begins") } }

    fileprivate func end(_ member: Child<CrashCoordinator>, by way: Crash.Way) async throws {
        if way == .operatorsKill { return _ = try await runtime.kill(member.path) }
        let process = try #require(try await runtime.snapshot(of: member.path).processID)
        kill(process, SIGKILL)
    }
}
