/// The events that an operator wants to see.
public struct EventQuery: Hashable, Sendable {
    /// The number after which events are sent; nil means from the oldest that is kept.
    public var after: UInt64?
    /// The daemon whose numbers `after` counts, as in ``ControlEvent/boot``; nil means the present one, unless it hasn't reached the number.
    ///
    /// When another daemon runs by now, its events are sent from the first on, after a gap.
    public var boot: String?
    /// The time from which on events are sent, in milliseconds since 1970; nil means any time.
    public var sinceMilliseconds: Int64?
    /// The path whose events are sent, with those of its descendants; nil means the whole tree and the daemon.
    public var path: String?
    /// Whether later events are sent too, until the stream is cancelled.
    public var follows: Bool

    /// Creates a query.
    public init(
        after: UInt64? = nil,
        boot: String? = nil,
        sinceMilliseconds: Int64? = nil,
        path: String? = nil,
        follows: Bool = false
    ) {
        self.after = after
        self.boot = boot
        self.sinceMilliseconds = sinceMilliseconds
        self.path = path
        self.follows = follows
    }
}
