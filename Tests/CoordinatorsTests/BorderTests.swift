import Coordinators
import CoordinatorsTesting
import Fixtures
import TestSupport
import Testing

/// A root whose program is another build than its workers', which among themselves are one.
private actor ForeignRoot: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws {
        let configuration: JSONValue = ["children": ["leaf"], "placement": "worker"]
        let executable = Support.worker.path
        try await context.start(worker: "RootCoordinator", as: "middle", executable: executable, configuration: configuration)
        try await context.start(worker: "HidingCoordinator", as: "hiding", executable: executable)
    }
}

@Suite("What crosses between processes", .timeLimit(minutes: 3))
struct BorderTests {
    @Test("A trace context that is too long for a link stays behind, and its message doesn't")
    func longTrace() async throws {
        try await withRoot("a", in: .worker) { runtime in
            let before = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
            let trace = TraceContext(traceparent: String(repeating: "x", count: 2_000))
            let after = try await TraceContext.$current.withValue(trace) { try await runtime.ask(Fixture.WhereAmI(), at: "/a") }
            #expect(before == after)
        }
    }

    @Test("A handler's error is thrown as it was wherever its type is known, through any processes and for any asker")
    func typedErrors() async throws {
        try await withRuntime(ForeignRoot.self, options: Support.options) { runtime in
            // The leaf and the middle are one program, below a root that makes them speak JSON.
            #expect(try await runtime.perform(.refuse(asCodable: true), at: "/middle/leaf") == "Refusal: not today")
            let untyped = try await runtime.perform(.refuse(asCodable: false), at: "/middle/leaf")
            #expect(untyped == "RemoteError: Fixture.LocalRefusal")
            // The tests are another program, which has the type too.
            let refusal = await #expect(throws: Fixture.Refusal.self) {
                try await runtime.ask(Fixture.Refuse(asCodable: true), at: "/middle/leaf")
            }
            #expect(refusal == Fixture.Refusal("not today"))
            let other = await #expect(throws: RemoteError.self) {
                try await runtime.ask(Fixture.Refuse(asCodable: false), at: "/middle/leaf")
            }
            #expect(other?.type == "Fixture.LocalRefusal")
        }
    }

    @Test("Private messages, coordinators and dependencies work between processes of one build")
    func privateTypes() async throws {
        try await withRuntime(ForeignRoot.self, options: Support.options) { runtime in
            let secret = try await runtime.ask(Fixture.ShareSecret(), at: "/hiding", timeout: .seconds(20))
            #expect(secret == "42 heard")
        }
    }

    @Test("An error of a private type that its message declares is thrown as it was between processes of one build")
    func privateErrors() async throws {
        try await withRuntime(ForeignRoot.self, options: Support.options) { runtime in
            let objections = try await runtime.ask(Fixture.ProvokeObjections(), at: "/hiding", timeout: .seconds(20))
            #expect(objections == ["Objection: too low", "Objection: too low", "RemoteError"])
        }
    }
}
