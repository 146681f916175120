/// How a child is stopped, in OTP's words.
public enum ShutdownPolicy: Codable, Hashable, Sendable {
    /// It is asked to stop, and killed when it has not ended within this time.
    case timeout(Duration)
    /// It is killed at once.
    case brutalKill
    /// It is asked to stop and waited for, however long it takes.
    case infinity
}
