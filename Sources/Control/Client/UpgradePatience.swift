import ConcurrencySupport
import Processes

/// The time for which an operator waits while another program takes the daemon's place.
struct UpgradePatience {
    static let pauseMicroseconds: UInt32 = 10_000
    private static let limit = Duration.seconds(60)

    private let marker: UpgradeMarker
    private let deadline = MonotonicTime.now + limit
    /// Whether the marker was gone once: one attempt more is made, since the daemon may have come back just then.
    private var wasUnset = false

    init(_ directory: RuntimeDirectory) { marker = UpgradeMarker(directory) }

    /// Returns whether an attempt that has failed because of an upgrade is worth another.
    mutating func allowsAnotherAttempt(after error: ControlError) -> Bool {
        guard [.unreachable, .timedOut, .upgrading].contains(error.code), MonotonicTime.now < deadline else { return false }
        // The daemon itself has said that it will be back.
        if error.code == .upgrading || marker.isSet { return true }
        defer { wasUnset = true }
        return !wasUnset && error.code == .unreachable
    }
}
