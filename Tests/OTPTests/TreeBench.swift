import ConcurrencySupport
import Coordinators
import Fixtures
import Logging
import TestSupport
import Testing

/// A supervisor that is a coordinator, at `/top` of a tree whose root is in the tests' process.
struct TreeBench: Bench {
    private final class Book: Sendable {
        let entries = Lock<[Entry]>([])
    }

    let runtime: CoordinatorRuntime
    private let inWorkers: Bool
    private let book = Book()

    private static let worker = BuiltProgram("FixtureWorker")

    /// Runs a tree for the length of a test, and ends it whatever happens.
    static func run(_ top: Plan, inWorkers: Bool, _ body: (any Bench) async throws -> Void) async throws {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = worker.path
        // Failures, escalations and abandoned hooks are what these tests are about.
        options.logger.logLevel = .critical
        let runtime = CoordinatorRuntime(Supervising<OneForOne>.self, options: options)
        try await runtime.start()
        let bench = TreeBench(runtime: runtime, inWorkers: inWorkers)
        let events = runtime.tap()
        let book = bench.book
        let reader = Task {
            for await event in events {
                guard case .lifecycle(let change) = event.kind, event.path.isWithin("/top") else { continue }
                let key = event.path.components.dropFirst().joined(separator: "/")
                book.entries.withLock { $0.append(Entry(key: key, change: change)) }
            }
        }
        _ = await bench.start(top, at: .root)
        do {
            try await body(bench)
        } catch {
            await runtime.stop()
            reader.cancel()
            throw error
        }
        await runtime.stop()
        reader.cancel()
    }

    private init(runtime: CoordinatorRuntime, inWorkers: Bool) {
        self.runtime = runtime
        self.inWorkers = inWorkers
    }

    var log: [Entry] { book.entries.withLock { $0 } }

    static func path(of key: String) -> CoordinatorPath {
        CoordinatorPath(key.isEmpty ? "/top" : "/top/\(key)") ?? .root
    }

    func start(_ plan: Plan) async -> Outcome { await start(plan, at: "/top") }

    /// The supervisor itself lives here, its children in workers of their own, and what is below them in those.
    private func start(_ plan: Plan, at path: CoordinatorPath) async -> Outcome {
        var plan = plan
        if path.isRoot {
            for index in plan.children.indices { plan.children[index].isInWorker = inWorkers }
        } else {
            plan.isInWorker = inWorkers
        }
        return await outcome { try await runtime.ask(OTP.Start(plan), at: path, timeout: .seconds(60)) }
    }

    func stop(_ key: String) async -> Outcome { await outcome { try await runtime.stop(Self.path(of: key)) } }

    func startAgain(_ key: String) async -> Outcome { await outcome { try await runtime.start(Self.path(of: key)) } }

    func restart(_ key: String) async -> Outcome { await outcome { try await runtime.restart(Self.path(of: key)) } }

    func remove(_ key: String) async -> Outcome {
        let path = Self.path(of: key)
        return await outcome {
            try await runtime.ask(OTP.Remove(path.key), at: path.parent ?? .root, timeout: .seconds(60))
        }
    }

    func end(_ key: String, _ way: OTP.Way) async {
        // Its own end may be quicker than the word that it has heard.
        _ = try? await runtime.send(OTP.End(way), at: Self.path(of: key))
    }

    func beginShutDown() {
        // Its end is seen in the log.
        Task { try? await runtime.ask(OTP.Remove("top"), timeout: .seconds(60)) }
    }

    func children(of key: String) async -> [Seen]? {
        try? await runtime.snapshot(of: Self.path(of: key)).children.map { child in
            let state: Seen.State =
                switch child.state {
                case .active, .paused: .ready(child.incarnation)
                case .starting, .stopping, .restarting, .failing: .changing
                case .inactive, .failed: .stopped
                }
            return Seen(key: child.path.key, state: state)
        }
    }

    func startOther(_ key: String) async -> Outcome {
        await outcome { try await runtime.ask(OTP.StartOther(key), at: "/top", timeout: .seconds(60)) }
    }

    /// The description that a child gives of itself; its end may have lost a word before.
    func describe(_ key: String) async throws -> String {
        try await runtime.ask(OTP.Describe(), at: Self.path(of: key), timeout: .seconds(60))
    }

    private func outcome<Result>(_ body: () async throws -> Result) async -> Outcome {
        do {
            _ = try await body()
            return .done
        } catch let error as CoordinatorError {
            switch error.code {
            case .noSuchChild, .noSuchPath, .unhandled: return .unknown
            case .invalidSpecification: return .invalid
            case .keyInUse: return .taken
            default: return .failed
            }
        } catch {
            return .failed
        }
    }
}
