import ArgumentParser
import Control
import Testing

@testable import coordinatorctl

/// The arguments that are read without the parser: what they mean must be what the parser makes of them.
@Suite struct PlainArgumentsTests {
    @Test(
        "What is read without the parser is what the parser reads",
        arguments: [
            ["ps"], ["tree"], ["dead-letters"], ["ps", "--json"], ["--json", "tree"], ["--json", "ps", "--json"],
            ["--runtime-dir", "/run/a", "ps"], ["ps", "--runtime-dir", "a b"], ["--runtime-dir", "tree", "ps", "--json"],
        ]
    )
    func agreesWithTheParser(arguments: [String]) throws {
        let plain = try #require(PlainArguments(arguments))
        let command = try CoordinatorControl.parseAsRoot(arguments)
        let options: CommonOptions
        switch (plain.name, command) {
        case (.tree, let command as TreeCommand): options = command.options.merged(over: command.root.options)
        case (.ps, let command as ProcessesCommand): options = command.options.merged(over: command.root.options)
        case (.deadLetters, let command as DeadLettersCommand): options = command.options.merged(over: command.root.options)
        default:
            Issue.record("\(plain.name) is \(type(of: command)) for the parser")
            return
        }
        #expect(options.runtimeDirectory == plain.runtimeDirectory)
        #expect(options.isJSON == plain.isJSON)
    }

    @Test(
        "Everything else is the parser's",
        arguments: [
            [], ["--help"], ["ps", "--help"], ["ps", "-h"], ["help", "ps"], ["--version"], ["ps", "tree"], ["ps", "ps"], ["status", "/a"],
            ["p"], ["ps", "--node", "b"], ["dead-letters", "--node=b"],
            ["ps", "/a"], ["ps", "--"], ["--runtime-dir"], ["ps", "--runtime-dir", "--json"], ["ps", "--runtime-dir", ""],
            ["ps", "--runtime-dir=/run/a"], ["--runtime-dir", "a", "ps", "--runtime-dir", "b"], ["ps", "--jso"],
            ["---completion", "ps", "--"], ["ps", "--generate-completion-script"],
        ]
    )
    func isTheParsers(arguments: [String]) { #expect(PlainArguments(arguments) == nil) }
}
