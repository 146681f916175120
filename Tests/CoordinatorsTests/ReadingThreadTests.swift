#if !SLOW_PATH_ONLY
import Coordinators
import CoordinatorsTesting
import Fixtures
import TestSupport
import Testing

@Suite("Rows that don't await, on the thread that has read their message", .timeLimit(minutes: 2))
struct ReadingThreadTests {
    @Test("Such a row runs on the thread that has read, and one that awaits in Swift's pool")
    func thread() async throws {
        try await withThreadNamingRoot(ThreadGate(isOpen: true)) { runtime in
            try await eventually("no other thread handles a message") {
                try await runtime.perform(.echo("thread"), at: "/leaf") == "nng:task"
            }
            #expect(try await runtime.perform(.waitAbove(milliseconds: 60_000), at: "/leaf") == "waited")
            let threads = try await runtime.perform(.echo("threads"), at: "/leaf").split(separator: " ")
            #expect(threads.count == 1 && threads[0] != "nng:task")
        }
    }

    @Test("A row that holds up its thread holds up its coordinator alone: links are read, and what waits begins in order")
    func held() async throws {
        let gate = ThreadGate()
        try await withThreadNamingRoot(gate) { runtime in
            defer { gate.open() }
            let held = Task { try await runtime.perform(.echo("held"), at: "/leaf") }
            try await eventually("the row holds up its thread") { gate.isAwaited }
            // More than nng has threads. An interceptor adds 101.
            for number in 0..<20 {
                #expect(try await runtime.perform(.add(number), at: "/leaf") == String(number + 101))
                #expect(try await runtime.perform(.add(number), at: "/other") == String(number + 101))
            }
            let later = try await withThrowingTaskGroup(of: String.self, returning: [String].self) { group in
                let actions: [(CoordinatorPath, Fixture.Action)] = [
                    ("/other", .echo("second")), ("/leaf", .waitAbove(milliseconds: 60_000)), ("/other", .echo("third")),
                ]
                for (path, action) in actions {
                    let former = try await runtime.snapshot().mailbox?.waiting ?? 0
                    group.addTask { try await runtime.perform(action, at: path) }
                    try await eventually("it waits at the root") { (try await runtime.snapshot().mailbox?.waiting ?? 0) > former }
                }
                gate.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(later.count == 3)
            _ = try await held.value
            #expect(try await runtime.perform(.echo("order"), at: "/leaf") == "held second waited third")
            #expect(try await !runtime.perform(.echo("threads"), at: "/leaf").contains("nng:task"))
        }
    }
}

private func withThreadNamingRoot(_ gate: ThreadGate, _ body: (CoordinatorRuntime) async throws -> Void) async throws {
    try await withRuntime(ThreadNamingRoot.self, options: Support.options, dependencies: { $0.gate = gate }, body)
}

extension DependencyKeys {
    fileprivate var gate: DependencyKey<ThreadGate> { .init() }
}

/// Says on which threads it handles messages, and passes a gate when it's told to.
private actor ThreadNamingRoot: Coordinator {
    nonisolated let context: Context
    private var order: [String] = []
    private var threads: Set<String> = []

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Fixture.Echo.self) { me, echo in me.answer(echo.text) },
        .inline(Fixture.Add.self) { _, add in add.amount },
        .respond(to: Fixture.Wait.self) { me, _ in
            me.threads.insert(ThreadName.current)
            me.order.append("waited")
            await Task.yield()
        },
    ]

    private func answer(_ text: String) -> String {
        switch text {
        case "thread": return ThreadName.current
        case "threads": return threads.joined(separator: " ")
        case "order": return order.joined(separator: " ")
        default:
            order.append(text)
            if text == "held" { context.dependencies.gate?.pass() }
            return text
        }
    }

    func start() async throws {
        for key in ["leaf", "other"] as [ChildKey] { try await context.start(MiddleCoordinator.self, as: key, in: .worker) }
    }
}
#endif
