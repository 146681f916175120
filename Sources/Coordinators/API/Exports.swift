// A coordinator's author writes `SupervisionPolicy(.oneForOne, intensity: 5, period: .seconds(60))` and matches exit reasons: these types
// belong to this library's API, though they are declared in the pure target.
@_exported public import Supervision

// Pages, and messages that are sent by name, are JSON.
@_exported public import enum WireProtocol.JSONValue
