import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// What each operation is on the wire, and what is said of it, beside a record of both.
@Suite("Operations on the wire")
struct OperationTests {
    /// The lines of the record that begin with a word, without it.
    private static func record(_ word: String) throws -> [String] {
        let text = try #require(Files.text(of: "\(Files.packageRoot)/Tests/Transcript/operations.txt"))
        return text.split(separator: "\n").filter { $0.hasPrefix("\(word) ") }.map { String($0.dropFirst(word.count + 1)) }
    }

    @Test("Each request has the bytes of the record, and the record's role, effect, path and patience")
    func requests() throws {
        let lines = try ControlOperation.samples.map { operation in
            let facts: [(String, Bool)] = [
                ("changes", operation.isMutating), ("streams", operation.isStream), ("describes", operation.isDescription),
                ("ends with its requester", operation.endsWithItsRequester), ("asks a node", operation.isNodeQuestion),
            ]
            let said = facts.filter(\.1).map(\.0) + [operation.path.map { "at \($0)" }].compactMap(\.self)
            let request = ControlRequest(id: 7, operation: operation, requestID: operation.isMutating ? "r" : nil)
            let bytes = String(decoding: try ControlJSON.bytes(of: request.json), as: UTF8.self)
            #expect(try ControlRequest(json: try ControlJSON.parse(Array(bytes.utf8))) == request)
            return
                "\(bytes) \(([operation.role.rawValue, operation.defaultTimeout.map { "\($0)" } ?? "the children's times"] + said).joined(separator: ", "))"
        }
        let record = try Self.record("request")
        for line in lines where !record.contains(line) { Issue.record("request \(line)") }
        #expect(Set(record).subtracting(lines) == [])
    }

    @Test("Each change of a lifecycle can name the life that is meant, and no other operation can")
    func lives() throws {
        let expected: Set = ["start", "stop", "restart", "replace", "kill", "pause", "resume", "signal", "reload"]
        let operations = ControlOperation.types.map { $0.at("/a", life: 3) }
        #expect(Set(operations.filter { $0.meantLife == 3 }.map(\.name)) == expected)
        for operation in operations where operation.meantLife != nil {
            var fields = ControlRequest(id: 7, operation: operation).json
            if operation.name == "signal" { fields["signal"] = 15 }
            #expect(try ControlRequest(json: fields).operation.meantLife == 3, "\(operation.name)")
            // Another life is another request, also under the same name.
            fields["incarnation"] = JSONValue.null
            let other = try ControlRequest(json: fields).operation
            #expect(other.meantLife == nil && other != operation, "\(operation.name)")
            for wrong in [-1, "3", 1.5] as [JSONValue] {
                fields["incarnation"] = wrong
                let error = #expect(throws: ControlError.self) { try ControlRequest(json: fields) }
                #expect(error?.code == .invalidRequest, "\(operation.name): \(wrong)")
            }
        }
    }

    @Test("Each answer of the record is read as its operation's, and written again with the same bytes")
    func answers() throws {
        let answers = try Self.record("answer").map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
        for answer in answers {
            let type = try #require(ControlOperation.types.first { $0.name == answer[0] })
            let again = try Self.rewritten(type, try ControlJSON.parse(answer: Array(answer[1].utf8)))
            #expect(again == answer[1], "\(answer[0])")
        }
        #expect(Set(answers.map(\.[0])) == Set(ControlOperation.types.map { $0.name }))
    }

    private static func rewritten<Operation: DescribedOperation>(_ type: Operation.Type, _ json: JSONValue) throws -> String {
        String(decoding: try ControlJSON.bytes(of: try ControlJSON.decode(Operation.Answer.self, from: json)), as: UTF8.self)
    }
}
