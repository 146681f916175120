/// When a child is started again after its end, in OTP's words.
public enum RestartType: String, CaseIterable, Codable, Hashable, Sendable {
    /// Always.
    case permanent
    /// Only after an abnormal end.
    case transient
    /// Never.
    case temporary
}
