import Coordinators
import Glibc

/// A program whose root starts a child that asks for another one all the time, and that other one, when the test lets it.
public enum Siblings {
    /// The variable with the directory of the program's files; without it another program runs.
    public static let variable = "FIXTURE_SIBLINGS"
    /// The variable that makes the root start its children once it's ready.
    public static let laterVariable = "FIXTURE_SIBLINGS_LATER"

    /// While this file exists, the root doesn't start the child that is asked for.
    public static let gate = "gate"
    /// Each outcome of an ask is a line of this file.
    public static let outcomes = "outcomes"
    /// Each number that the sibling has counted is a line of this file.
    public static let count = "count"

    public static var directory: String? { getenv(variable).map { String(cString: $0) } }

    static var startsLater: Bool { getenv(laterVariable) != nil }

    /// Runs the program.
    public static func main(in directory: String) async throws {
        var options = CoordinatorRuntime.Options()
        options.runtimeDirectory = "\(directory)/run"
        options.orphanGrace = .seconds(60)
        options.endsOrphansWhenReady = !startsLater
        let children: [any Coordinator.Type] = [AskingCoordinator.self, SiblingCoordinator.self]
        try await CoordinatorRuntime.main(SiblingsRoot.self, coordinators: children, options: options)
    }

    /// Answered by the sibling.
    struct Greet: ResponderMessage {
        typealias Reply = Int
        static var isIdempotent: Bool { true }
        static var timeout: Duration { .seconds(60) }
    }

    /// Sent acknowledged, one after the other.
    struct Count: ResponderMessage {
        var number: Int
    }

    static func note(_ outcome: String, in name: String = outcomes) {
        if let directory { SharedFile.append(outcome, to: "\(directory)/\(name)") }
    }
}

/// The root of the program.
private actor SiblingsRoot: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.forward(prefix: "Siblings.", to: "b")]

    func start() async throws {
        if !Siblings.startsLater { try await startChildren() }
    }

    func run() async throws {
        if Siblings.startsLater {
            try await startChildren()
            await context.endOrphans()
        }
        try await Fixture.untilCancelled()
    }

    private func startChildren() async throws {
        try await context.start(AskingCoordinator.self, as: "a", in: .worker)
        if let directory = Siblings.directory { try await SharedFile.wait(for: "\(directory)/\(Siblings.gate)", isThere: false) }
        try await context.start(SiblingCoordinator.self, as: "b", in: .worker)
    }
}

/// The child that is asked for.
private actor SiblingCoordinator: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Siblings.Greet.self) { _, _ in Int(getpid()) },
        .respond(to: Siblings.Count.self) { _, count in Siblings.note("\(count.number)", in: Siblings.count) },
    ]
}

/// The child that asks.
private actor AskingCoordinator: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    func run() async throws {
        var number = 0
        while true {
            try await Fixture.realTime(
                .milliseconds(2),
                because: "without a pause its asks would take a processor for as long as the test lasts"
            )
            do {
                let life = try await context.ask(Siblings.Greet())
                Siblings.note("\(life)")
                let isCounted = try await context.send(Siblings.Count(number: number), acknowledged: true)
                if !isCounted { Siblings.note("unhandled") }
                number += 1
            } catch let error as CoordinatorError {
                Siblings.note("\(error.code)")
            }
        }
    }
}
