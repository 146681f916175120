// A coordinator's author writes `SupervisionPolicy(.oneForOne, intensity: 5, period: .seconds(60))` and matches exit reasons:
// these words belong to this library's API, though they live in the pure target.
@_exported public import Supervision

// Pages and messages by name are JSON.
@_exported public import enum WireProtocol.JSONValue
