/// Which siblings are restarted together with a child that has failed.
///
/// The words and the rules are OTP's: https://www.erlang.org/doc/system/sup_princ.html#strategy
public enum Strategy: String, Sendable, Codable, CaseIterable {
    /// None: only the child that failed.
    case oneForOne
    /// All: they are stopped in reverse start order, then all are started in start order.
    ///
    /// That means all whose specification is there: one that was stopped, by itself or by a request, is brought back as well. Only
    /// temporary children, and those that failed for good, aren't.
    case oneForAll
    /// Those that were started after it; otherwise as ``oneForAll``.
    case restForOne
}
