import ConcurrencySupport
import Coordinators
import WireProtocol

/// Spans as OTLP/JSON.
///
/// Identifiers are hexadecimal here, other than in Protobuf's own JSON, and 64-bit numbers are texts:
/// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
enum OTLPTraces {
    /// Returns the request that exports spans, with a resource for each process.
    static func request(_ spans: [MessageSpan], _ resource: OTLPResource) -> JSONValue {
        var processes: [Int32] = []
        var grouped: [Int32: [JSONValue]] = [:]
        for span in spans {
            if grouped[span.processID] == nil { processes.append(span.processID) }
            grouped[span.processID, default: []].append(value(of: span))
        }
        let resources = processes.map { process -> JSONValue in
            [
                "resource": resource.value(of: process),
                "scopeSpans": [["scope": OTLPResource.scope, "spans": .array(grouped[process] ?? [])]],
            ]
        }
        return ["resourceSpans": .array(resources)]
    }

    private static func value(of span: MessageSpan) -> JSONValue {
        var members: [String: JSONValue] = [
            "traceId": .string(hexadecimal(span.trace.high) + hexadecimal(span.trace.low)),
            "spanId": .string(hexadecimal(span.span)),
            "name": .string(span.type.isEmpty ? span.message : "\(span.type)/\(span.message)"),
            "kind": .integer(kind(of: span)),
            "startTimeUnixNano": .string("\(max(0, span.began))"),
            "endTimeUnixNano": .string("\(max(0, span.began.addingSaturating(max(0, span.took))))"),
            "attributes": .array(attributes(of: span)),
            // The trace is sampled: https://www.w3.org/TR/trace-context/#sampled-flag
            "flags": 1,
        ]
        if let parent = span.parent { members["parentSpanId"] = .string(hexadecimal(parent)) }
        if let error = span.error { members["status"] = ["code": 2, "message": .string(error)] }
        return .object(members)
    }

    /// The numbers of `Span.SpanKind`: server 2, client 3, producer 4, consumer 5.
    private static func kind(of span: MessageSpan) -> Int64 {
        switch (span.isOutgoing, span.isOneWay) {
        case (false, false): 2
        case (true, false): 3
        case (true, true): 4
        case (false, true): 5
        }
    }

    private static func attributes(of span: MessageSpan) -> [JSONValue] {
        var attributes: [JSONValue] =
            span.isOneWay
            ? [
                .attribute("messaging.system", "coordinators"), .attribute("messaging.operation.name", .text(span.message)),
                .attribute("messaging.operation.type", .text(span.isOutgoing ? "send" : "process")),
            ]
            : [.attribute("rpc.system.name", "coordinators"), .attribute("rpc.method", .text(span.message))]
        attributes.append(.attribute("coordinator.path", .text(span.path.description)))
        attributes.append(.attribute("coordinator.sender", .text(span.sender.description)))
        if !span.type.isEmpty { attributes.append(.attribute("coordinator.type", .text(span.type))) }
        if !span.isOutgoing {
            attributes.append(.attribute("coordinator.remote", ["boolValue": .bool(span.isRemote)]))
            attributes.append(.attribute("coordinator.waited_us", .number(max(0, span.waited) / 1000)))
        }
        if let error = span.errorType { attributes.append(.attribute("error.type", .text(error))) }
        return attributes
    }

    /// The sixteen digits of a number.
    private static func hexadecimal(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
