import ArgumentParser
import Control
import Processes
import WireProtocol

/// A command that makes one request and prints its result.
protocol DaemonCommand: AsyncParsableCommand {
    associatedtype Answer: Codable & Sendable

    var root: CoordinatorControl { get }
    var options: CommonOptions { get }

    /// The request that the arguments ask for.
    func operation() throws(ControlError) -> ControlOperation

    /// The answer for people; ends with a line's end unless it is empty.
    func text(of answer: Answer) -> String

    /// What is wrong with the answer, for standard error.
    func complaint(about answer: Answer) -> String?

    /// The exit code of a request that succeeded.
    func exitCode(of answer: Answer) -> Int32
}

extension DaemonCommand {
    func complaint(about answer: Answer) -> String? { nil }

    func exitCode(of answer: Answer) -> Int32 { 0 }

    func run() async throws {
        let options = options.merged(over: root.options)
        let operation = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in try self.operation() }
        let outcome = await DaemonRequest(runtimeDirectory: options.runtimeDirectory, operation: operation).result()
        let (answer, output) = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) -> (Answer, String) in
            let json = try outcome.get()
            let answer = try ControlJSON.decode(Answer.self, from: json)
            return (answer, options.isJSON ? try ControlJSON.text(of: json) + "\n" : self.text(of: answer))
        }
        if let complaint = complaint(about: answer), !options.isJSON { Terminal.printError("coordinatorctl: \(complaint)\n") }
        try Terminal.print(output)
        let code = exitCode(of: answer)
        if code != 0 { throw ExitCode(code) }
    }
}

/// One request on a connection of its own.
struct DaemonRequest: Sendable {
    let runtimeDirectory: String?
    let operation: ControlOperation

    /// Runs away from the main actor, where ArgumentParser starts commands: hops to it are dear.
    @concurrent func result() async -> Result<JSONValue, ControlError> {
        do throws(ControlError) {
            let directory = try RuntimeDirectory.resolve(option: runtimeDirectory)
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            defer { client.close() }
            return .success(try await client.call(operation))
        } catch {
            return .failure(error)
        }
    }
}
