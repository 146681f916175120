import Testing
import WireProtocol

@testable import Control
@testable import coordinatorctl

/// Codes on the wire and for the shell.
@Suite struct ControlErrorTests {
    @Test(
        "Each error code has its name on the wire and its exit code",
        arguments: [
            (.failed, "failed", 1), (.cancelled, "cancelled", 1), (.unhandled, "unhandled", 1), (.alreadyRunning, "alreadyRunning", 1),
            (.notRunning, "notRunning", 3), (.noSuchPath, "noSuchPath", 4), (.invalidRequest, "invalidRequest", 64),
            (.unreachable, "unreachable", 69), (.upgrading, "upgrading", 69), (.idle, "idle", 69), (.notHere, "notHere", 3),
            (.otherLife, "otherLife", 1), (.timedOut, "timedOut", 75), (.notPermitted, "notPermitted", 77),
            (.badConfiguration, "badConfiguration", 78), (.init(name: "ofANewerDaemon"), "ofANewerDaemon", 1),
        ] as [(ControlError.Code, String, Int32)]
    )
    func aCode(code: ControlError.Code, name: String, exitCode: Int32) throws {
        #expect(code.name == name)
        #expect(code.exitCode == exitCode)
        #expect(ControlError.Code(name: name) == code)
        let members = [(nil, ""), (true, #","maybe_executed":true"#), (false, #","maybe_executed":false"#)] as [(Bool?, String)]
        for (maybeExecuted, member) in members {
            let error = ControlError(code, "m", maybeExecuted: maybeExecuted)
            let text = #"{"code":"\#(name)"\#(member),"message":"m"}"#
            #expect(try ControlJSON.parse(Array(text.utf8)) == error.json)
            #expect(try ControlJSON.value(of: error) == error.json)
            #expect(try ControlJSON.parse(Array(Terminal.json(of: error).utf8)) == ["error": error.json])
            #expect(try ControlJSON.decode(ControlError.self, from: ControlJSON.value(of: error)) == error)
            let answer = ControlAnswer(id: 3, .failure(error))
            #expect(ControlAnswer(json: answer.json) == answer)
        }
    }

    @Test("Answers are read as they were written")
    func answersReadAsTheyAreWritten() {
        for answer in [ControlAnswer(id: 1, .result(nil)), ControlAnswer(id: 2, .items([1])), ControlAnswer(id: nil, .result("x"))] {
            #expect(ControlAnswer(json: answer.json) == answer)
        }
        for json in [nil, [:], ["id": 1], ["id": 1, "error": "x"], ["error": ["code": 5, "message": "m"]]] as [JSONValue] {
            #expect(ControlAnswer(json: json) == nil)
        }
    }

    @Test("A request is one JSON object with its fields")
    func aRequestOnTheWire() throws {
        let request = ControlRequest(
            id: 7,
            operation: .ask(path: "/a", message: "M.N", payload: ["k": 1], timeout: .milliseconds(1500)),
            requestID: "u"
        )
        let text = try ControlJSON.text(of: request)
        #expect(
            text == #"{"id":7,"message":"M.N","op":"ask","path":"/a","payload":{"k":1},"request_id":"u","timeout_ms":1500,"v":1}"#
        )
        #expect(try ControlRequest(json: ControlJSON.parse(Array(text.utf8))) == request)
        #expect(try ControlJSON.decode(ControlRequest.self, from: request.json) == request)
    }

    @Test("A number that JSON has no form for is an error")
    func aNumberThatJSONDoesNotHaveIsAnError() {
        #expect(throws: ControlError.self) { try ControlJSON.text(of: JSONValue.number(.nan)) }
    }
}
