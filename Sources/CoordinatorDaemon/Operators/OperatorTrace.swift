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
        var result = TraceResult(
            trace: trace.identifier,
            durationMicroseconds: trace.duration.microseconds,
            pid: getpid(),
            hops: trace.hops.map { Hop($0) }
        )
        switch outcome {
        case .success(let reply): result.reply = reply
        case .failure(let error): result.error = ControlError(error)
        }
        return result
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
