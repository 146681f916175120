@testable import Control
@testable import WireProtocol

/// What must hold of the reading of control requests and answers, whatever the bytes are.
enum FuzzedRequests {
    /// Returns what is wrong; `nil` when all is well.
    static func problem(_ bytes: [UInt8]) -> String? {
        // What the operator's command reads of a daemon.
        if let answer = try? ControlJSON.parse(answer: bytes) {
            _ = try? ControlJSON.decode(TreeNode.self, from: answer)
            _ = try? ControlJSON.decode(ProcessList.self, from: answer)
            _ = try? ControlJSON.decode(DeadLetterList.self, from: answer)
            _ = try? ControlJSON.decode(TreeMetrics.self, from: answer)
        }
        guard JSONSyntax.firstProblem(in: bytes) == nil else { return nil }
        let json: JSONValue
        do throws(ControlError) {
            json = try ControlJSON.parse(bytes)
        } catch {
            return "what the grammar accepts isn't decoded: \(error)"
        }
        do throws(ControlError) {
            let request = try ControlRequest(json: json)
            let again = try ControlRequest(json: request.json)
            let comesBack = again.operation.name == request.operation.name && again.id == request.id
            return comesBack ? nil : "the request \(request) doesn't come back"
        } catch {
            return error.code == .invalidRequest ? nil : "another error than for a request: \(error)"
        }
    }
}
