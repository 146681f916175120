/// The outcome of an upgrade of the daemon, or of the checks alone.
public struct UpgradeResult: Codable, Hashable, Sendable {
    /// The daemon's process, which stays the same.
    public var pid: Int32
    /// The path of the executable that the daemon runs now.
    public var executable: String
    /// The version of the daemon that runs now; after the checks alone, that of the executable.
    public var version: String
    /// The version of the daemon before.
    public var formerVersion: String
    /// The paths of the children of the daemon that keep their processes, sorted.
    public var kept: [String]
    /// The paths of those that are ended and started again, sorted.
    public var restarted: [String]
    /// Whether asks were still open when the wait was over; they have ended with `peerLost`.
    public var endedAsks: Bool
    /// The milliseconds from the request to the answer.
    public var durationMilliseconds: Int64
    /// The milliseconds of it in which the daemon took no requests.
    public var pauseMilliseconds: Int64
    /// Whether nothing was done but the checks.
    public var isDryRun: Bool

    /// Creates a result.
    public init(
        pid: Int32,
        executable: String,
        version: String,
        formerVersion: String,
        kept: [String],
        restarted: [String],
        endedAsks: Bool,
        durationMilliseconds: Int64,
        pauseMilliseconds: Int64,
        isDryRun: Bool
    ) {
        self.pid = pid
        self.executable = executable
        self.version = version
        self.formerVersion = formerVersion
        self.kept = kept
        self.restarted = restarted
        self.endedAsks = endedAsks
        self.durationMilliseconds = durationMilliseconds
        self.pauseMilliseconds = pauseMilliseconds
        self.isDryRun = isDryRun
    }

    private enum CodingKeys: String, CodingKey {
        case pid, executable, version, kept, restarted
        case formerVersion = "former_version"
        case endedAsks = "ended_asks"
        case durationMilliseconds = "duration_ms"
        case pauseMilliseconds = "pause_ms"
        case isDryRun = "dry_run"
    }
}
