import ArgumentParser
import Control
import WireProtocol

/// A command that makes one request and prints its result.
protocol DaemonCommand: AsyncParsableCommand {
    associatedtype Answer: Codable & Sendable

    var root: CoordinatorControl { get }
    var options: CommonOptions { get }

    /// The request that the arguments ask for.
    func operation() throws(ControlError) -> Operation

    /// The answer for people; ends with a line's end unless it is empty.
    func text(of answer: Answer) -> String

    /// The exit code of a request that succeeded.
    func exitCode(of answer: Answer) -> Int32
}

extension DaemonCommand {
    func exitCode(of answer: Answer) -> Int32 { 0 }

    func run() async throws {
        let options = options.merged(over: root.options)
        let operation = try Terminal.exitingOnFailure { () throws(ControlError) in try self.operation() }
        let outcome = await DaemonRequest(runtimeDirectory: options.runtimeDirectory, operation: operation).result()
        let code = try Terminal.exitingOnFailure { () throws(ControlError) in
            let json = try outcome.get()
            let answer = try ControlJSON.decode(Answer.self, from: json)
            Terminal.print(options.isJSON ? try ControlJSON.text(of: json) + "\n" : text(of: answer))
            return exitCode(of: answer)
        }
        if code != 0 { throw ExitCode(code) }
    }
}

/// One request on a connection of its own.
struct DaemonRequest: Sendable {
    let runtimeDirectory: String?
    let operation: Operation

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
