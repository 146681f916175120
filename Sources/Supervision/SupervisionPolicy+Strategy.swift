extension SupervisionPolicy {
    /// A rule for which siblings are restarted together with a child that has failed.
    ///
    /// The words and the rules are OTP's: https://www.erlang.org/doc/system/sup_princ.html#strategy
    public enum Strategy: String, Sendable, Codable, CaseIterable {
        /// Only the child that failed is restarted.
        case oneForOne
        /// All children are stopped in reverse start order, then started in start order.
        ///
        /// This includes children that were stopped before, by themselves or by a request. Only temporary children, and those that failed for
        /// good, are not started.
        case oneForAll
        /// The child that failed and those that were started after it are restarted, otherwise as with ``oneForAll``.
        case restForOne
    }
}
