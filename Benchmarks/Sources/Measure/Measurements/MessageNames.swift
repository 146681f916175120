import Coordinators
import Glibc

/// Messages of so many names, all of which one coordinator responds to: the time to start a worker below it, and to ask each once from there.
struct MessageNames: Measurement {
    /// Makes the coordinator of the names start a worker, and the one in the worker ask.
    struct Request: ResponderMessage {
        var names: Int
    }

    let names: Int

    init(_ arguments: inout Arguments) throws {
        names = try arguments.take("names", default: 100)
        guard names <= 1_000 else { throw UsageError("there are at most 1000 names") }
        setenv(Names.variable, "\(names)", 1)
    }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        try await runtime.ask(StartNames())
        let path = CoordinatorPath.root.appending("names").appending("asker")
        Figures.print(
            "time",
            try await Clock.duration {
                try await runtime.ask(Names.StartAsker(), at: CoordinatorPath.root.appending("names"), timeout: .seconds(60))
                try await runtime.ask(Request(names: names), at: path, timeout: .seconds(60))
            }
        )
    }
}

/// Starts the coordinator that responds to messages of many names.
struct StartNames: ResponderMessage {}

/// A digit as a type.
protocol Digit: Sendable {
    static var text: String { get }
}

enum Zero: Digit { static let text = "0" }
enum One: Digit { static let text = "1" }
enum Two: Digit { static let text = "2" }
enum Three: Digit { static let text = "3" }
enum Four: Digit { static let text = "4" }
enum Five: Digit { static let text = "5" }
enum Six: Digit { static let text = "6" }
enum Seven: Digit { static let text = "7" }
enum Eight: Digit { static let text = "8" }
enum Nine: Digit { static let text = "9" }

private let digits: [any Digit.Type] = [
    Zero.self, One.self, Two.self, Three.self, Four.self, Five.self, Six.self, Seven.self, Eight.self, Nine.self,
]

/// Returns the three digits of a number.
private func threeDigits(of number: Int) -> (any Digit.Type, any Digit.Type, any Digit.Type) {
    (digits[number / 100], digits[number / 10 % 10], digits[number % 10])
}

/// A message whose name has three digits.
struct Numbered<A: Digit, B: Digit, C: Digit>: ResponderMessage {
    typealias Reply = Int

    static var name: String { "Numbered-\(A.text)\(B.text)\(C.text)" }
}

/// Responds to as many kinds of messages as the environment says.
actor Names: Coordinator {
    struct StartAsker: ResponderMessage {}

    static let variable = "MEASURE_NAMES"

    private static let count = getenv(variable).flatMap { Int(String(cString: $0)) } ?? 0

    static let responders: Responders =
        [.respond(to: StartAsker.self) { me, _ in try await me.context.start(Hop.self, as: "asker", in: .worker) }]
        + (0..<count).map { number in
            let (a, b, c) = threeDigits(of: number)
            return row(a, b, c, number)
        }

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    private static func row<A: Digit, B: Digit, C: Digit>(_: A.Type, _: B.Type, _: C.Type, _ number: Int) -> Responder<Names> {
        .respond(to: Numbered<A, B, C>.self) { _, _ in number }
    }
}

extension MessageNames.Request {
    /// Asks each message once.
    @concurrent
    func ask(_ context: Hop.Context) async throws {
        for number in 0..<names {
            let (a, b, c) = threeDigits(of: number)
            let answer = try await Self.ask(a, b, c, context)
            guard answer == number else { throw UsageError("\(number) was answered with \(answer)") }
        }
    }

    private static func ask<A: Digit, B: Digit, C: Digit>(_: A.Type, _: B.Type, _: C.Type, _ context: Hop.Context) async throws -> Int {
        try await context.ask(Numbered<A, B, C>(), timeout: .seconds(60))
    }
}
