import Glibc
public import Processes

/// Programs that sleep, found among all processes by a number that no other test has.
public struct Sleepers: Sendable {
    /// The time that they sleep, which distinguishes them from others.
    public let seconds = "9999\(UInt32.random(in: 100_000 ... 999_999)).\(getpid())"

    public init() {}

    /// A command that has `sleep` run in the background of a shell, in its own or in another group or session.
    public func command(_ kind: Kind) -> [String] {
        switch kind {
        case .plain: ["sleep", seconds]
        case .background: ["sh", "-c", "sleep \(seconds) & wait"]
        case .session: ["sh", "-c", "setsid sleep \(seconds) & wait"]
        case .deepSession: ["sh", "-c", "setsid sh -c 'sleep \(seconds) & wait' & wait"]
        case .group: ["sh", "-c", "set -m; sleep \(seconds) & wait"]
        }
    }

    public enum Kind: String, CaseIterable, Sendable {
        case plain, background, session, deepSession, group
    }

    /// The sleeping programs that live now, without the shells.
    public var living: Set<ProcessIdentity> {
        let arguments = "sleep\0\(seconds)\0"
        let found = Files.numbers(in: "/proc").filter { Files.text(of: "/proc/\($0)/cmdline") == arguments }
        return Set(found.compactMap { ProcessIdentity(processID: Int32($0)) }.filter(\.isAlive))
    }

    /// Ends them; for a test that has failed.
    public func end() {
        for process in living { try? process.send(.kill) }
    }
}
