/// A rule for when a child that has ended by itself is started again.
///
/// The words and the rules are OTP's: https://www.erlang.org/doc/system/sup_princ.html#restart
public enum RestartType: String, Sendable, Codable, CaseIterable {
    /// The child is always restarted, also after a normal exit.
    case permanent
    /// The child is restarted after an abnormal exit only; after a normal one its specification is kept, as stopped.
    case transient
    /// The child is never restarted: once it has ended, its specification is forgotten.
    case temporary
}
