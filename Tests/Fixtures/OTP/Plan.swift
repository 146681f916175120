public import Coordinators
import Supervision

/// A child as a test wants it: its specification, and what it does at its starts and stops.
public struct Plan: CoordinatorConfiguration, Hashable, ExpressibleByStringLiteral {
    public var key = ""
    public var restart = RestartType.permanent
    public var shutdown = Shutdown.timeout(.seconds(5))
    public var isSignificant = false
    public var isInWorker = false
    /// The lives whose start throws, as numbers of incarnations.
    public var failingLives: ClosedRange<UInt32>?
    /// The lives that decline: they finish within their start.
    public var decliningLives: ClosedRange<UInt32>?
    /// The time that its stop takes; longer than any grace means that it ignores the stop.
    public var stopMilliseconds = 0
    /// Its process ends with this code within its stop.
    public var stopExitCode: Int32?
    /// The way in which the child ends by itself once a file exists.
    public var ending: Ending?
    /// Its stop waits until this file is there.
    public var stopGate: String?
    /// The policy of a child that is a supervisor, with the children below.
    public var policy: Policies?
    public var children: [Plan] = []

    public struct Ending: Codable, Sendable, Hashable {
        public var way: OTP.Way
        public var gate: String
        public init(_ way: OTP.Way, gate: String) { (self.way, self.gate) = (way, gate) }
    }

    public init() {}

    public init(stringLiteral key: String) { self.key = key }

    public init(
        _ key: String,
        _ restart: RestartType = .permanent,
        shutdown: Shutdown = .timeout(.seconds(5)),
        isSignificant: Bool = false,
        failingLives: ClosedRange<UInt32>? = nil,
        decliningLives: ClosedRange<UInt32>? = nil,
        stopMilliseconds: Int = 0
    ) {
        self.key = key
        self.restart = restart
        self.shutdown = shutdown
        self.isSignificant = isSignificant
        self.failingLives = failingLives
        self.decliningLives = decliningLives
        self.stopMilliseconds = stopMilliseconds
    }

    /// A supervisor; its shutdown is OTP's for one, infinity.
    public static func supervisor(
        _ key: String,
        _ policy: Policies,
        restart: RestartType = .permanent,
        isSignificant: Bool = false,
        _ children: Plan...
    ) -> Plan {
        var plan = Plan(key, restart, shutdown: .infinity, isSignificant: isSignificant)
        plan.policy = policy
        plan.children = children
        return plan
    }

    /// A child that ends with the reason `shutdown` once the child `x` below it returns.
    ///
    /// A plain coordinator can't end by itself with that reason; a supervisor whose significant child has ended does.
    public static func endingWithShutdown(_ key: String, _ restart: RestartType) -> Plan {
        .supervisor(key, .any, restart: restart, Plan("x", .temporary, isSignificant: true))
    }

    package var specification: ChildSpecification {
        ChildSpecification(id: key, restart: restart, shutdown: shutdown, isSignificant: isSignificant)
    }

    public func fails(in life: UInt32) -> Bool { failingLives?.contains(life) ?? false }

    public func declines(in life: UInt32) -> Bool { decliningLives?.contains(life) ?? false }
}
