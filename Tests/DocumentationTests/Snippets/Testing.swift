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

    // snippet: unhandled
    @Test("A clerk without an office says so at once")
    func orphan() async throws {
        let accounts = MemoryAccounts(passwords: ["ada": "secret"])
        try await withRuntime(ClerkCoordinator.self, dependencies: { $0.accounts = accounts }, workers: .inProcess) { runtime in
            let error = await #expect(throws: CoordinatorError.self) { try await runtime.ask(Clerk.Enter(name: "ada")) }
            #expect(error?.code == .unhandled)
        }
    }
    // end
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

func withRealWorkers(_ path: String) async throws {
    // snippet: workers
    var options = CoordinatorRuntime.Options()
    options.workerExecutable = path
    try await withRuntime(Office.self, options: options) { runtime in
        let former = try await runtime.snapshot(of: "/clerk")
        let now = try await runtime.restart("/clerk")
        #expect(now.processID != former.processID)
    }
    // end
}
