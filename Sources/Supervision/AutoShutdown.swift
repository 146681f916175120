/// Whether a supervisor ends of itself when its significant children have.
///
/// The words and the rules are OTP's: https://www.erlang.org/doc/system/sup_princ.html#automatic-shutdown. A significant child counts
/// when it has ended by itself and isn't restarted: a transient one after a normal exit, a temporary one after any. A child that was
/// stopped, by a request or for a sibling's sake, doesn't count. An end that counts ends the supervisor in an orderly way: its children
/// are stopped in reverse start order, and its own exit reason is ``ExitReason/shutdown``.
public enum AutoShutdown: String, Sendable, Hashable, Codable, CaseIterable {
    /// It doesn't, and takes no significant children.
    case never
    /// One such end is enough.
    case anySignificant
    /// The end counts that leaves no significant child alive, or about to be.
    case allSignificant
}
