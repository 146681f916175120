import Coordinators
import CoordinatorsTesting

/// A worker that asks its parent, or is killed and comes back, as often as the second argument says: what `Tests/Walks/run` counts the files of.
@main
struct Walks {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let count = Int(arguments[2]) else {
            return try await CoordinatorRuntime.main(Parent.self, coordinators: [Walker.self])
        }
        var options = CoordinatorRuntime.Options()
        options.supervision = SupervisionPolicy(intensity: 1_000, backoff: .none)
        let runtime = CoordinatorRuntime(Parent.self, options: options)
        try await runtime.start()
        switch arguments[1] {
        case "ask": try await runtime.ask(Walk(count: count), at: "/walker", timeout: .seconds(60))
        case "crash":
            for life in 1...count {
                try await runtime.kill("/walker")
                try await eventually("it's back") {
                    let walker = try await runtime.snapshot(of: "/walker")
                    return walker.incarnation > life && walker.state == .active
                }
            }
        default: print("\(arguments[1]) is neither ask nor crash")
        }
        await runtime.stop()
    }
}

/// Makes the walker ask so many times.
private struct Walk: ResponderMessage {
    var count: Int
}

private struct Question: ResponderMessage {
    typealias Reply = Int
    var number: Int
}

private actor Parent: Coordinator {
    static let responders: Responders = [.respond(to: Question.self) { _, question in question.number }]

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func start() async throws { try await context.start(Walker.self, as: "walker", in: .worker) }
}

private actor Walker: Coordinator {
    static let responders: Responders = [
        .respond(to: Walk.self) { me, walk in
            for number in 0..<walk.count { _ = try await me.context.ask(Question(number: number), timeout: .seconds(60)) }
        }
    ]

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
}
