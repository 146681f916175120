// A coordinator's author writes `SupervisionPolicy(.oneForOne, intensity: 5, period: .seconds(60))` and matches exit reasons: these types
// belong to this library's API, though they are declared in lower targets.
@_exported public import struct Flows.WallTime
@_exported public import enum Processes.Capability
@_exported public import struct Processes.GivenSockets
@_exported public import struct Processes.GroupLimits
@_exported public import struct Processes.HealthCheck
@_exported public import struct Processes.ProcessAttributes
@_exported public import struct Processes.ProgramHooks
@_exported public import enum Processes.ProgramInput
@_exported public import enum Processes.Readiness
@_exported public import struct Processes.Signal
@_exported public import struct Processes.SocketSpecification
@_exported public import struct Supervision.Backoff
@_exported public import enum Supervision.ExitReason
@_exported public import struct Supervision.RestartLimits
@_exported public import enum Supervision.RestartType
@_exported public import enum Supervision.Shutdown
@_exported public import struct Supervision.SupervisionError
@_exported public import struct Supervision.SupervisionPolicy
@_exported public import struct Supervision.TokenBucket
// Pages, and messages that are sent by name, are JSON.
@_exported public import enum WireProtocol.JSONValue
