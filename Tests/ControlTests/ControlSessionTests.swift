import Testing
import WireProtocol

@testable import Control

/// The session of a client without a connection.
@Suite("A client's session, without a connection")
struct ControlSessionTests {
    private enum End: Equatable {
        case settled(String, Result<JSONValue, ControlError>), items(String, [JSONValue]), skipped, over(ControlError)

        init(_ step: ControlSession<String>.Step) {
            self =
                switch step {
                case .settled(let call, let outcome): .settled(call, outcome)
                case .items(let call, let items): .items(call, items)
                case .skipped: .skipped
                case .over(let error): .over(error)
                }
        }
    }

    private let error = ControlError(.failed, "no")

    @Test("Answers in any order find their requests, and no others")
    func answers() throws {
        var session = ControlSession<String>(to: "s")
        #expect(try ["a", "b", "c"].map { call throws(ControlError) in try session.openCall(call) } == [1, 2, 3])
        #expect(End(session.advance(ControlAnswer(id: 2, .items([1])))) == .items("b", [1]))
        #expect(End(session.advance(ControlAnswer(id: 2, .result([:])))) == .settled("b", .success([:])))
        #expect(End(session.advance(ControlAnswer(id: 2, .result([:])))) == .skipped)
        #expect(End(session.advance(ControlAnswer(id: 1, .failure(error)))) == .settled("a", .failure(error)))
        session.forget(3)
        #expect(End(session.advance(ControlAnswer(id: 3, .result([:])))) == .skipped)
        #expect(session.open.isEmpty && End(session.advance(ControlAnswer(id: nil, .result([:])))) == .skipped)
    }

    @Test("A refusal of the connection, and what is no answer, end it; later requests have the reason")
    func ends() throws {
        var session = ControlSession<String>(to: "s")
        _ = try session.openCall("a")
        #expect(End(session.advance(ControlAnswer(id: nil, .failure(error)))) == .over(error))
        #expect(End(session.advance(ControlAnswer(message: Array("x".utf8)))) == .over(.speaksAnotherProtocol(at: "s")))
        #expect(session.end(with: error) == ["a"])
        #expect(throws: error) { try session.openCall("b") }
    }
}
