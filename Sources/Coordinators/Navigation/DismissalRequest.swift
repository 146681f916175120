import ConcurrencySupport
import WireProtocol

/// A worker's request, on behalf of its coordinator, to be dismissed.
struct DismissalRequest {
    static let operation = "requestDismissal"

    let timeout: Duration

    init(timeout: Duration) { self.timeout = timeout }

    init?(_ operation: String, _ payload: JSONValue) {
        guard operation == Self.operation, case .integer(let milliseconds) = payload["timeoutMilliseconds"] else { return nil }
        timeout = .milliseconds(min(max(milliseconds, 0), Int64(UInt32.max)))
    }

    var payload: JSONValue { ["timeoutMilliseconds": .integer(Int64(timeout.millisecondsClamped))] }
}
