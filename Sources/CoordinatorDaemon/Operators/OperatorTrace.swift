import ConcurrencySupport
import Control
import Coordinators
import Glibc
import WireProtocol

extension TraceResult {
    /// Asks on behalf of an operator and returns the outcome with the way of the message.
    static func asking(
        _ message: String,
        _ payload: JSONValue,
        at path: CoordinatorPath,
        timeout: Duration,
        in runtime: CoordinatorRuntime
    ) async -> TraceResult {
        let (outcome, trace) = await runtime.trace(named: message, payload: payload, at: path, timeout: timeout)
        return TraceResult(outcome, trace, pid: getpid())
    }

    /// Creates the result of an ask from its outcome and the way of the message.
    init(_ outcome: Result<JSONValue, any Error>, _ trace: MessageTrace, pid: Int32) {
        self.init(
            trace: trace.identifier,
            durationMicroseconds: trace.duration.microseconds,
            pid: pid,
            hops: trace.hops.map { Hop($0) }
        )
        switch outcome {
        case .success(let reply): self.reply = reply
        case .failure(let error): self.error = ControlError(error)
        }
    }
}

extension TraceResult.Hop {
    fileprivate init(_ hop: MessageTrace.Hop) {
        self.init(
            path: hop.path.description,
            type: hop.type,
            pid: hop.processID,
            message: hop.message,
            sender: hop.sender.description,
            startMicroseconds: hop.began.microseconds,
            waitedMicroseconds: hop.waited.microseconds,
            durationMicroseconds: hop.took.microseconds,
            error: hop.error
        )
    }
}

extension Duration {
    fileprivate var microseconds: Int64 { nanosecondsClamped / 1000 }
}
