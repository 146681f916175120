import Coordinators
import CoordinatorsTesting
import Testing

enum Clerk {
    struct Enter: ResponderMessage {
        typealias Reply = Bool
        var name: String
    }

    struct Welcome: ResponderMessage {
        typealias Reply = Bool
        var name: String
    }
}

actor ClerkCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Clerk.Enter.self, needs: \.accounts) { me, enter, accounts in
            guard try await accounts.verify(enter.name, "secret") else { return false }
            return try await me.context.ask(Clerk.Welcome(name: enter.name))
        }
    ]
}

@Suite("The article on testing")
struct TestingSnippets {
    // snippet: test
    @Test("A known name may enter")
    func entry() async throws {
        let accounts = MemoryAccounts(passwords: ["ada": "secret"])
        try await withRuntime(Office.self, dependencies: { $0.accounts = accounts }, workers: .inProcess) { runtime in
            let ada = try await runtime.ask(Clerk.Enter(name: "ada"), at: "/clerk")
            let eve = try await runtime.ask(Clerk.Enter(name: "eve"), at: "/clerk")
            #expect(ada)
            #expect(!eve)
        }
    }
    // end

    @Test("What a test looks at besides replies")
    func observations() async throws {
        let accounts = MemoryAccounts(passwords: ["ada": "secret"])
        try await withRuntime(Office.self, dependencies: { $0.accounts = accounts }, workers: .inProcess) { runtime in
            // snippet: restart
            let former = try await runtime.snapshot(of: "/clerk").incarnation
            let now = try await runtime.restart("/clerk")
            #expect(now.incarnation > former)
            #expect(try await runtime.ask(Clerk.Enter(name: "ada"), at: "/clerk"))
            // end

            // snippet: leaks
            #expect(runtime.counters.observers == 0)
            #expect(runtime.deadLetters.count == 0)
            // end

            // snippet: paused
            #expect(try await runtime.pause("/clerk").state == .paused)
            let error = await #expect(throws: CoordinatorError.self) {
                try await runtime.ask(Clerk.Enter(name: "ada"), at: "/clerk", timeout: .milliseconds(50))
            }
            #expect(error?.code == .timedOut)
            #expect(try await runtime.resume("/clerk").state == .active)
            // end
        }
    }

    // snippet: probe
    @Test("A clerk asks whether a known name is welcome")
    func alone() async throws {
        let accounts = MemoryAccounts(passwords: ["ada": "secret"])
        let above = Probe()
        try await withRuntime(ClerkCoordinator.self, dependencies: { $0.accounts = accounts }, under: above) { runtime in
            async let isIn = runtime.ask(Clerk.Enter(name: "ada"), at: .subject)
            let welcome = try await above.expect(Clerk.Welcome.self)
            #expect(welcome.message.name == "ada")
            welcome.reply(true)
            #expect(try await isIn)
            #expect(above.waiting.isEmpty)
        }
    }
    // end

    @Test("A probe answers")
    func standIn() async throws {
        // snippet: standin
        let clerk = Probe()
        clerk.answer(Clerk.Enter.self) { $0.name == "ada" }
        try await withRuntime(Office.self, standIns: [StandIn(for: ClerkCoordinator.self, clerk)]) { runtime in
            let isIn = try await runtime.ask(Clerk.Enter(name: "ada"), at: "/clerk")
            #expect(isIn)
            #expect(clerk.received.map(\.name) == ["Clerk.Enter"])
        }
        // end
    }

    // snippet: time
    @Test("Thirty minutes of a clock that ticks")
    func time() async throws {
        let time = ManualTime()
        try await withRuntime(ClockCoordinator.self, time: time) { runtime in
            await time.advance(by: .seconds(1_800))
            let ticks = try await runtime.ask(ClockCoordinator.Ticks())
            #expect(ticks == 180)
        }
    }
    // end

    // snippet: timeout
    @Test("A visitor whom nobody welcomes is refused after five seconds")
    func timeout() async throws {
        let accounts = MemoryAccounts(passwords: ["ada": "secret"])
        let (above, time) = (Probe(), ManualTime())
        try await withRuntime(ClerkCoordinator.self, dependencies: { $0.accounts = accounts }, time: time, under: above) { runtime in
            async let isIn = runtime.ask(Clerk.Enter(name: "ada"), at: .subject)
            await time.advance(by: .seconds(5))
            do {
                _ = try await isIn
                Issue.record("it was let in")
            } catch let error as CoordinatorError {
                #expect(error.code == .timedOut)
            }
        }
    }
    // end

    // snippet: encoded
    @Test("Everything crosses to the clerk and back")
    func border() async throws {
        let accounts = MemoryAccounts(passwords: ["ada": "secret"])
        try await withRuntime(Office.self, dependencies: { $0.accounts = accounts }, workers: .encoded) { runtime in
            let isIn = try await runtime.ask(Clerk.Enter(name: "ada"), at: "/clerk")
            #expect(isIn)
        }
    }
    // end

    @Test("A fault")
    func crash() async throws {
        let accounts = MemoryAccounts(passwords: ["ada": "secret"])
        try await withRuntime(Office.self, dependencies: { $0.accounts = accounts }, workers: .inProcess) { runtime in
            // snippet: crash
            let former = try await runtime.snapshot(of: "/clerk").incarnation
            try await runtime.fault(.crash, at: "/clerk")
            try await eventually("the clerk is there again") {
                let clerk = try await runtime.snapshot(of: "/clerk")
                return clerk.state == .active && clerk.incarnation > former
            }
            // end
        }
    }
}

// snippet: office
actor Office: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Clerk.Welcome.self) { _, welcome in welcome.name == "ada" }
    ]

    func start() async throws {
        try await context.start(ClerkCoordinator.self, as: "clerk", in: .worker)
    }
}
// end

func withRealWorkers() async throws {
    // snippet: workers
    try await withRuntime(Office.self, workers: .built("Program")) { runtime in
        let hang = try await runtime.fault(.hang, at: "/clerk")
        let error = await #expect(throws: CoordinatorError.self) {
            try await runtime.ask(Clerk.Enter(name: "ada"), at: "/clerk", timeout: .milliseconds(200))
        }
        #expect(error?.code == .timedOut)
        hang.undo()
        let isIn = try await runtime.ask(Clerk.Enter(name: "ada"), at: "/clerk")
        #expect(isIn)
    }
    // end
}

// snippet: clock
actor ClockCoordinator: Coordinator {
    struct Ticks: ResponderMessage { typealias Reply = Int }

    let context: Context
    private var ticks = 0

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.respond(to: Ticks.self) { me, _ in me.ticks }]

    func run() async throws {
        while true {
            try await context.clock.sleep(for: .seconds(10))
            ticks += 1
        }
    }
}
// end
