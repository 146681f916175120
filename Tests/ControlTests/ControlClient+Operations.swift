import Control
import WireProtocol

/// The operations that tests request most, with their answers decoded.
extension ControlClient {
    func tree() async throws(ControlError) -> TreeNode {
        try ControlJSON.decode(TreeNode.self, from: try await call(.tree, timeout: .seconds(50)))
    }

    func status(_ path: String) async throws(ControlError) -> TreeNode {
        try ControlJSON.decode(TreeNode.self, from: try await call(.status(path: path), timeout: .seconds(50)))
    }

    func restart(_ path: String) async throws(ControlError) -> LifecycleResult {
        try ControlJSON.decode(LifecycleResult.self, from: try await call(.restart(path: path)))
    }

    func ask(
        _ path: String,
        _ message: String,
        payload: JSONValue = .object([:]),
        timeout: Duration = .seconds(50)
    ) async throws(ControlError) -> AskResult {
        try ControlJSON.decode(
            AskResult.self,
            from: try await call(.ask(path: path, message: message, payload: payload, timeout: timeout))
        )
    }

    func send(_ path: String, _ message: String, payload: JSONValue = .object([:])) async throws(ControlError) -> SendResult {
        let operation = ControlOperation.send(path: path, message: message, payload: payload)
        return try ControlJSON.decode(SendResult.self, from: try await call(operation, timeout: .seconds(50)))
    }

    func ping() async throws(ControlError) {
        _ = try await call(.ping, timeout: .seconds(50))
    }
}
