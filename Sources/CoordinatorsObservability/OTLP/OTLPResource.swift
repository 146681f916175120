import Coordinators
import WireProtocol

/// The description of the processes that telemetry is from.
struct OTLPResource: Sendable {
    /// The name of the service, `service.name`.
    var service: String

    /// The scope of everything that this library exports.
    static let scope: JSONValue = ["name": "swift-coordinators"]

    func value(of processID: Int32) -> JSONValue {
        [
            "attributes": [
                .attribute("service.name", .text(service)),
                .attribute("process.pid", .number(Int64(processID))),
                .attribute("telemetry.sdk.language", "swift"),
                .attribute("telemetry.sdk.name", "swift-coordinators"),
            ]
        ]
    }
}

extension JSONValue {
    /// An attribute with a value that ``text(_:)`` or ``number(_:)`` makes.
    static func attribute(_ key: String, _ value: JSONValue) -> JSONValue {
        if case .string = value { return ["key": .string(key), "value": ["stringValue": value]] }
        return ["key": .string(key), "value": value]
    }

    static func text(_ text: String) -> JSONValue { ["stringValue": .string(text)] }

    /// Numbers of 64 bits are texts, as in Protobuf's own JSON.
    static func number(_ number: Int64) -> JSONValue { ["intValue": .string("\(number)")] }
}
