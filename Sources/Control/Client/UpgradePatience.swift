import ConcurrencySupport
package import Processes

/// The time for which an operator waits while another program takes the daemon's place, and connects again when idle connections are ended.
package struct UpgradePatience {
    package static let pauseMicroseconds: UInt32 = 10_000
    private static let limit = Duration.seconds(60)

    private let marker: UpgradeMarker
    private let deadline = MonotonicTime.now + limit
    /// Whether the marker was gone once: one attempt more is made, since the daemon may have come back just then.
    private var wasUnset = false

    package init(_ directory: RuntimeDirectory) { marker = UpgradeMarker(directory) }

    /// Returns whether an attempt that has failed is worth another.
    package mutating func allowsAnotherAttempt(after error: ControlError) -> Bool {
        let mayPass = error.code.provesAbsence || [.unreachable, .timedOut].contains(error.code)
        guard mayPass, MonotonicTime.now < deadline else { return false }
        // The daemon itself has said that it will be back, or is still there.
        if error.code.provesAbsence || marker.isSet { return true }
        defer { wasUnset = true }
        return !wasUnset && error.code == .unreachable
    }
}
