import ArgumentParser
import Control
import WireProtocol

/// The command `ask PATH NAME [JSON]`.
struct AskCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Ask.self,
        discussion: """
            Example: coordinatorctl ask /shop Account.Login '{"name":"a","password":"b"}'

            With --trace, the way of the message is printed to standard error: every coordinator whose row has handled it or a message that was \
            sent on its way, indented by who waited for whom, with the times in microseconds. AT counts from the ask's beginning, WAIT is the \
            time in the coordinator's mailbox, TOOK the time until the row had ended. Where a line names a process, the message has crossed \
            from one process into another. With --json, the reply and the trace are one object.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path, completion: .livePaths) var path: String
    @Argument(help: "The message's name, such as Account.Login.") var name: String
    @Argument(help: MessageArgument.help) var json: String?
    @Option(help: "The time to wait for the reply, such as 250ms, 5s or 2m; 1h at most.")
    var timeout = TimeoutArgument(duration: .seconds(5))
    @Flag(help: "Print the way of the message through the tree, with times.") var trace = false

    func run() throws {
        let options = options.merged(over: root.options)
        let json = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in
            let payload = try MessageArgument.payload(self.json)
            var client = try options.connect()
            return try client.callSingle(operation(payload))
        }
        trace ? try print(trace: json, options) : try print(reply: json, options)
    }

    private func operation(_ payload: JSONValue) -> ControlOperation {
        trace
            ? .trace(path: path, message: name, payload: payload, timeout: timeout.duration)
            : .ask(path: path, message: name, payload: payload, timeout: timeout.duration)
    }

    private func print(reply json: JSONValue, _ options: CommonOptions) throws {
        let text = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in
            let answer = try ControlJSON.decode(AskResult.self, from: json)
            return try ControlJSON.text(of: options.isJSON ? json : answer.reply) + "\n"
        }
        try Terminal.print(text)
    }

    /// Prints the reply, and the trace also when there is an error instead.
    private func print(trace json: JSONValue, _ options: CommonOptions) throws {
        let (answer, text) = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in
            let answer = try ControlJSON.decode(TraceResult.self, from: json)
            if options.isJSON { return (answer, try ControlJSON.text(of: json) + "\n") }
            return (answer, try answer.reply.map { reply throws(ControlError) in try ControlJSON.text(of: reply) + "\n" } ?? "")
        }
        try Terminal.print(text)
        if !options.isJSON { Terminal.printError(TraceText(answer, path: path, message: name).text) }
        guard let error = answer.error else { return }
        if !options.isJSON { Terminal.printError("coordinatorctl: \(error.message)\n") }
        throw ExitCode(error.code.exitCode)
    }
}
