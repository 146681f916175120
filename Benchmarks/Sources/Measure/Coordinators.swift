import Coordinators
import Glibc

/// Answered by the root.
struct Ping: ResponderMessage {
    typealias Reply = Int
    var number: Int
    var padding = "0123456789012345678901234567890123456789012345"
}

/// Tells which process answers.
struct WhoAreYou: ResponderMessage {
    typealias Reply = Int32
}

/// Makes a child ask the root, one ask after the other, and return each one's duration in nanoseconds.
struct AskTheRoot: ResponderMessage {
    typealias Reply = [Int64]
    var count: Int
}

struct NobodyAnswersThis: ResponderMessage {}

/// Makes a child ask what nobody answers, and return how long each failure took, in nanoseconds.
struct AskNobody: ResponderMessage {
    typealias Reply = [Int64]
    var count: Int
}

/// Makes a child ask the root from many tasks for a while, and return the number of asks.
struct AskConcurrently: ResponderMessage {
    typealias Reply = Int
    var askers: Int
    var milliseconds: Int
}

/// Starts a child, and returns how long it took to be ready, in nanoseconds.
struct StartChild: ResponderMessage {
    typealias Reply = Int64
    var key: String
    var inWorker: Bool
    var spares = 0
}

struct StopChild: ResponderMessage {
    var key: String
}

actor RootCoordinator: Coordinator {
    nonisolated let context: Context<RootCoordinator>

    init(_ context: Context<RootCoordinator>, _ configuration: Configuration) { self.context = context }

    static let supervision = SupervisionPolicy(.oneForOne, intensity: 10_000, period: .seconds(1), backoff: .none)

    static let responders: [Responder<RootCoordinator>] = [
        .respond(to: Ping.self) { _, ping in ping.number },
        .respond(to: StartChild.self) { me, start in
            let begin = ContinuousClock.now
            try await me.context.start(
                ChildCoordinator.self,
                as: start.key,
                in: start.inWorker ? .worker(spares: start.spares) : .inProcess
            )
            return (ContinuousClock.now - begin).nanoseconds
        },
        .respond(to: StopChild.self) { me, stop in try await me.context.stop(stop.key) },
    ]
}

actor ChildCoordinator: Coordinator {
    nonisolated let context: Context<ChildCoordinator>

    init(_ context: Context<ChildCoordinator>, _ configuration: Configuration) { self.context = context }

    static let responders: [Responder<ChildCoordinator>] = [
        .respond(to: WhoAreYou.self) { _, _ in getpid() },
        .respond(to: AskTheRoot.self) { me, request in
            var durations: [Int64] = []
            for number in 0..<request.count {
                let begin = ContinuousClock.now
                _ = try await me.context.ask(Ping(number: number))
                durations.append((ContinuousClock.now - begin).nanoseconds)
            }
            return durations
        },
        .respond(to: AskNobody.self) { me, request in
            var durations: [Int64] = []
            for _ in 0..<request.count {
                let begin = ContinuousClock.now
                do {
                    try await me.context.ask(NobodyAnswersThis())
                } catch let error as CoordinatorError where error.code == .unhandled {
                    durations.append((ContinuousClock.now - begin).nanoseconds)
                }
            }
            return durations
        },
        .respond(to: AskConcurrently.self) { me, request in
            let context = me.context
            let deadline = ContinuousClock.now + .milliseconds(request.milliseconds)
            return try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<request.askers {
                    group.addTask {
                        var count = 0
                        while ContinuousClock.now < deadline {
                            _ = try await context.ask(Ping(number: count))
                            count += 1
                        }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
        },
    ]
}

extension Duration {
    var nanoseconds: Int64 { Int64(self / .nanoseconds(1)) }
}
