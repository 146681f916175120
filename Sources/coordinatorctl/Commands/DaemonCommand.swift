import ArgumentParser
import Control
import Processes
import WireProtocol

/// A command that makes one request and prints its result.
protocol DaemonCommand: AsyncParsableCommand {
    associatedtype Answer: Codable & Sendable

    var root: CoordinatorControl { get }
    var options: CommonOptions { get }

    /// Returns the operation that the arguments describe.
    func operation() throws(ControlError) -> ControlOperation

    /// Returns the answer as text for people, ended by a newline unless it is empty.
    func text(of answer: Answer) -> String

    /// Returns a message for standard error when the answer is a failure.
    func complaint(about answer: Answer) -> String?

    /// Returns the exit code for an answer.
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

/// A request on a connection of its own.
struct DaemonRequest: Sendable {
    let runtimeDirectory: String?
    let operation: ControlOperation

    /// Makes the request and returns the result.
    ///
    /// It runs apart from the main actor, on which ArgumentParser starts commands, because each hop to that actor takes time.
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
