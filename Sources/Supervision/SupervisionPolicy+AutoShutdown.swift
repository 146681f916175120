extension SupervisionPolicy {
    /// A rule for when a supervisor ends by itself because its significant children have ended.
    ///
    /// The words and the rules are OTP's: https://www.erlang.org/doc/system/sup_princ.html#automatic-shutdown. A significant child counts
    /// when it has ended by itself and isn't restarted: a transient one after a normal exit, a temporary one after any. A child that was
    /// stopped, by a request or for a sibling's sake, doesn't count. An end that counts ends the supervisor in an orderly way: its children
    /// are stopped in their ``SupervisionPolicy/StopOrder``, and its own exit reason is ``ExitReason/shutdown``.
    public enum AutoShutdown: String, Sendable, Hashable, Codable, CaseIterable {
        /// The supervisor doesn't end by itself, and refuses significant children.
        case never
        /// The supervisor ends after the first end that counts.
        case anySignificant
        /// The supervisor ends after an end that counts when no significant child is left alive or about to be started.
        case allSignificant
    }
}
