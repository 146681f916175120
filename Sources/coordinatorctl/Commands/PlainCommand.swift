import ArgumentParser
import Control

/// A command that has no arguments of its own.
protocol PlainCommand: DaemonCommand {
    static var operation: ControlOperation { get }

    /// Returns the answer as text for people, ended by a newline unless it is empty.
    static func text(of answer: Answer) -> String
}

extension PlainCommand {
    func operation() -> ControlOperation { Self.operation }

    func text(of answer: Answer) -> String { Self.text(of: answer) }

    /// Makes the request and prints its result, without an instance, which only the parser can make.
    static func run(_ options: CommonValues) throws(ExitCode) {
        if let (_, text) = try output(options, operation: { () throws(ControlError) in operation }, text: text) { try Terminal.print(text) }
    }
}

/// The arguments of a plain command that the parser isn't needed for.
///
/// The parser looks at all commands and their options first, whose types are looked up in the program's tables: that takes longer than the
/// daemon's answer, and `ps` and `tree` are what scripts call again and again. Everything that isn't plainly right is left to the parser: help,
/// mistakes, abbreviations.
struct PlainArguments: Equatable {
    /// A command whose arguments are read here.
    enum Name: String {
        case tree, ps
        case deadLetters = "dead-letters"
    }

    var name: Name
    var runtimeDirectory: String?
    var isJSON = false

    /// Reads the arguments after the program's name; `nil` when they are the parser's.
    init?(_ arguments: some Sequence<String>) {
        var (name, rest): (Name?, _) = (nil, arguments.makeIterator())
        while let argument = rest.next() {
            if argument == "--json" {
                isJSON = true
            } else if argument == "--runtime-dir", runtimeDirectory == nil {
                guard let directory = rest.next(), !directory.isEmpty, !directory.hasPrefix("-") else { return nil }
                runtimeDirectory = directory
            } else if name == nil, let known = Name(rawValue: argument) {
                name = known
            } else {
                return nil
            }
        }
        guard let name else { return nil }
        self.name = name
    }

    /// Runs the command.
    func run() throws(ExitCode) {
        let options = CommonValues(runtimeDirectory: runtimeDirectory, isJSON: isJSON)
        switch name {
        case .tree: try TreeCommand.run(options)
        case .ps: try ProcessesCommand.run(options)
        case .deadLetters: try DeadLettersCommand.run(options)
        }
    }
}
