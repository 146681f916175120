import ArgumentParser
import Control
import Glibc
import WireProtocol

/// A command that makes one request and prints its result.
protocol DaemonCommand: ParsableCommand {
    associatedtype Answer: Codable & Sendable

    var root: CoordinatorControl { get }
    var options: CommonOptions { get }
    /// The options of a command that waits for children; nil of any other.
    var waiting: WaitOptions? { get }

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
    var waiting: WaitOptions? { nil }

    func complaint(about answer: Answer) -> String? { nil }

    func exitCode(of answer: Answer) -> Int32 { 0 }

    func run() throws {
        let options = options.merged(over: root.options).values
        guard let (answer, output) = try Self.output(options, waiting: waiting, operation: operation, text: text) else {
            let text = options.isJSON ? try ControlJSON.text(of: RequestedResult()) : "requested; the daemon goes on with it"
            try Terminal.print(text + "\n")
            return
        }
        if let complaint = complaint(about: answer), !options.isJSON { Terminal.printError("coordinatorctl: \(complaint)\n") }
        try Terminal.print(output)
        let code = exitCode(of: answer)
        if code != 0 { throw ExitCode(code) }
    }

    /// Makes the request.
    ///
    /// - Returns: the answer, and what is printed of it; nil when the operation was only to be begun, and goes on.
    static func output(
        _ options: CommonValues,
        waiting: WaitOptions? = nil,
        operation: () throws(ControlError) -> ControlOperation,
        text: (Answer) -> String
    ) throws(ExitCode) -> (Answer, String)? {
        try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) -> (Answer, String)? in
            let patience = waiting?.patience(isQuiet: options.isJSON) ?? ClientPatience()
            let operation = try operation()
            var client = try options.connect(patience)
            let json: JSONValue
            do throws(ControlError) {
                json = try client.callSingle(operation)
            } catch {
                if waiting?.accepts(error) == true { return nil }
                throw error
            }
            let answer = try ControlJSON.decode(Answer.self, from: json)
            return (answer, options.isJSON ? try ControlJSON.text(of: json) + "\n" : text(answer))
        }
    }
}

extension DaemonCommand {
    /// Returns the path of a file for the daemon, which has another working directory.
    func absolute(_ file: String?) throws(ControlError) -> String? {
        guard let file, !file.hasPrefix("/") else { return file }
        guard let directory = getcwd(nil, 0) else {
            throw ControlError(.failed, "the working directory is unknown: \(String(cString: strerror(errno))); give the file's whole path")
        }
        defer { free(directory) }
        return "\(String(cString: directory))/\(file)"
    }
}
