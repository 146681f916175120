import Control
import TestSupport
import Testing

@testable import CoordinatorDaemon
@testable import Coordinators

@Suite("The codes of errors that operators get")
struct ErrorCodeTests {
    @Test("The article on errors says which code and which exit code each of the runtime's has")
    func documented() throws {
        let article = try #require(Files.text(of: "\(Files.packageRoot)/Sources/Coordinators/Coordinators.docc/Errors.md"))
        let section = try #require(article.split(separator: "## The codes of coordinatorctl\n", maxSplits: 1).dropFirst().first)
        // A row has an operator's code, the exit code, and the codes of the runtime.
        let lines = section.split(separator: "\n").filter { $0.hasPrefix("| `") && !$0.hasPrefix("| `code` |") }
        let rows = lines.map { $0.split(separator: "|").map(String.init) }
        try #require(rows.count > 5 && rows.allSatisfy { $0.count == 3 })
        for row in rows {
            let code = ControlError.Code(name: Self.quoted(row[0]).first ?? "")
            #expect("\(code.exitCode)" == row[1].filter(\.isNumber), "\(row)")
        }
        for kind in CoordinatorError.Code.Kind.allCases where kind != .notHere {
            // The row of all others names none.
            let named = rows.filter { Self.quoted($0[2]).contains(kind.rawValue) }.flatMap { Self.quoted($0[0]) }
            let code = ControlError.Code(CoordinatorError.Code(kind: kind))
            #expect((named.isEmpty ? ["failed"] : named) == [code.name], "\(kind)")
        }
    }

    /// The words of a text that are quoted as code.
    private static func quoted(_ text: String) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { !$0.offset.isMultiple(of: 2) }
            .map { String($0.element) }
    }
}
