/// The reasons why a coordinator is paused, which are kept apart.
///
/// Resuming a parent doesn't resume a child that was paused by name.
struct PauseReasons: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// The coordinator was paused by name.
    static let explicit = PauseReasons(rawValue: 1 << 0)
    /// An ancestor was paused.
    static let cascade = PauseReasons(rawValue: 1 << 1)

    /// The byte that represents a single reason in a frame.
    var wire: UInt8 { self == .explicit ? 0 : 1 }

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(wire: UInt8) { self = wire == 0 ? .explicit : .cascade }
}
