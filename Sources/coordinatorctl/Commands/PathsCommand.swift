import ArgumentParser
import Control
import Processes
import WireProtocol

/// A command that does the same to each of the paths that it names.
///
/// For one path it prints that path's result. For several it prints a line for each, or `{"results":[…]}`, in which a path that failed has
/// `path` and `error`; the exit code is that of the first failure.
protocol PathsCommand: ParsableCommand {
    associatedtype Answer: Codable & Sendable

    var root: CoordinatorControl { get }
    var options: CommonOptions { get }
    var selection: PathArguments { get }
    /// The options of a command that waits for children; nil of any other.
    var waiting: WaitOptions? { get }

    /// Whether what is done to a path is done to its descendants.
    static var coversDescendants: Bool { get }

    /// Returns the operation on one path.
    func operation(on path: String) throws(ControlError) -> ControlOperation

    /// Returns the answer as text for people, ended by a newline.
    func text(of answer: Answer) -> String

    /// Returns the exit code for an answer.
    func exitCode(of answer: Answer) -> Int32

    /// Completes the outcomes by what the answers to the operation don't have, or takes out what isn't wanted.
    ///
    /// - Parameter isJSON: Whether the objects are printed; otherwise the texts are.
    func complete(_ outcomes: inout [PathOutcome<Answer>], by client: inout BlockingControlClient, isJSON: Bool) throws(ControlError)
}

extension PathsCommand {
    var waiting: WaitOptions? { nil }

    func exitCode(of answer: Answer) -> Int32 { 0 }

    func complete(_ outcomes: inout [PathOutcome<Answer>], by client: inout BlockingControlClient, isJSON: Bool) throws(ControlError) {}

    func run() throws { try runOnPaths() }

    /// Requests the operation on all paths at the same time, and prints the outcomes.
    func runOnPaths() throws {
        let options = options.merged(over: root.options)
        let outcomes = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) -> [PathOutcome<Answer>] in
            // Before the connection is made: a wrong argument is wrong without a daemon, too.
            _ = try operation(on: "/")
            var client = try options.connect(waiting?.patience(isQuiet: options.isJSON) ?? ClientPatience())
            var outcomes = try self.outcomes(of: client.paths(self), by: &client)
            try complete(&outcomes, by: &client, isJSON: options.isJSON)
            return outcomes
        }
        try print(outcomes, isJSON: options.isJSON, isList: selection.isList || outcomes.count > 1)
    }

    /// Prints the outcomes, and exits with the code of the first failure.
    ///
    /// - Parameter isList: Whether a single outcome is printed as a list too.
    func print(_ outcomes: [PathOutcome<Answer>], isJSON: Bool, isList: Bool) throws {
        let output = try Terminal.exitingOnFailure(isJSON: isJSON) { () throws(ControlError) in
            isJSON ? try json(of: outcomes, isList: isList) : self.text(of: outcomes)
        }
        for case .failure(let error) in outcomes.map(\.result) where waiting?.accepts(error) != true {
            if !isJSON {
                Terminal.printError("coordinatorctl: \(error.message)\n")
            } else if !isList {
                Terminal.printError(Terminal.json(of: error))
            }
        }
        try Terminal.print(output)
        let codes = outcomes.map { outcome in
            switch outcome.result {
            case .success(let (_, answer)): exitCode(of: answer)
            case .failure(let error): waiting?.accepts(error) == true ? 0 : error.code.exitCode
            }
        }
        if let code = codes.first(where: { $0 != 0 }) { throw ExitCode(code) }
    }

    private func outcomes(of paths: [String], by client: inout BlockingControlClient) throws(ControlError) -> [PathOutcome<Answer>] {
        var operations: [ControlOperation] = []
        for path in paths { operations.append(try operation(on: path)) }
        let results = client.call(all: operations)
        var outcomes: [PathOutcome<Answer>] = []
        for ((path, operation), outcome) in zip(zip(paths, operations), results) {
            if case .failure(let error) = outcome {
                let instances = client.instances(operation, error)
                if !instances.isEmpty {
                    outcomes += try self.outcomes(of: instances, by: &client)
                    continue
                }
            }
            outcomes.append(PathOutcome(path: path, outcome))
        }
        return outcomes
    }

    private func text(of outcomes: [PathOutcome<Answer>]) -> String {
        let texts = outcomes.compactMap { outcome -> String? in
            switch outcome.result {
            case .success(let (_, answer)): outcome.text ?? text(of: answer)
            case .failure(let error): waiting?.accepts(error) == true ? "\(outcome.path): requested; the daemon goes on with it\n" : nil
            }
        }
        // Answers of several lines are kept apart.
        return texts.joined(separator: texts.contains { $0.dropLast().contains("\n") } ? "\n" : "")
    }

    private func json(of outcomes: [PathOutcome<Answer>], isList: Bool) throws(ControlError) -> String {
        guard isList else {
            switch outcomes.first?.result {
            case .success(let (json, _)): return try ControlJSON.text(of: json) + "\n"
            case .failure(let error) where waiting?.accepts(error) == true: return try ControlJSON.text(of: RequestedResult()) + "\n"
            case .failure, nil: return ""
            }
        }
        // The daemon's own answers, with what a later one may have added.
        let results = PathResults(
            results: outcomes.map { outcome -> Either<JSONValue, FailedPath> in
                switch outcome.result {
                case .success(let (json, _)): .first(json)
                case .failure(let error) where waiting?.accepts(error) == true: .second(FailedPath(path: outcome.path, requested: true))
                case .failure(let error): .second(FailedPath(path: outcome.path, error: error))
                }
            }
        )
        return try ControlJSON.text(of: results) + "\n"
    }
}

/// What a command with several paths prints.
struct PathResults<Answer: Codable>: Codable {
    /// The outcomes, in the order of the paths.
    var results: [Either<Answer, FailedPath>]
}

/// What a command with several paths prints for a path of which it has no answer.
struct FailedPath: Codable {
    /// A path in the tree.
    var path: String
    /// The failure; nil when the operation was only to be begun.
    var error: ControlError?
    /// True when the operation was only to be begun, and goes on; else nil.
    var requested: Bool?
}

/// What a command prints that only was to begin an operation, which goes on.
struct RequestedResult: Codable {
    /// True.
    var requested = true
}

/// What came of an operation on a path: the answer in both forms, or the failure.
struct PathOutcome<Answer: Sendable> {
    var path: String
    var result: Result<(JSONValue, Answer), ControlError>
    /// The text for people, if it isn't that of the answer alone.
    var text: String?
}

extension PathOutcome where Answer: Codable {
    /// Creates the outcome from the daemon's answer.
    init(path: String, _ outcome: Result<JSONValue, ControlError>) {
        self.path = path
        result = outcome.flatMap { json in
            do throws(ControlError) {
                return .success((json, try ControlJSON.decode(Answer.self, from: json)))
            } catch {
                return .failure(error)
            }
        }
    }
}

extension BlockingControlClient {
    /// Returns the paths that a command's arguments name.
    mutating func paths<Command: PathsCommand>(_ command: Command) throws(ControlError) -> [String] {
        try command.selection.resolved(by: &self, outermost: Command.coversDescendants)
    }
}
