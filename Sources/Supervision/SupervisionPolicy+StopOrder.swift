extension SupervisionPolicy {
    /// A rule for which children wait for which when their supervisor ends.
    ///
    /// Children that are a *chain* end one after the other, the one that was started last first, as all children of OTP's supervisor do: a
    /// child can rely on those that were started before it until its own end. Children outside of the chain end together, before the chain
    /// begins, as those of Elixir's `DynamicSupervisor` do: a thousand need as long as the slowest. Restarts of siblings always keep the
    /// start order, and its reverse.
    public enum StopOrder: String, Sendable, Codable, CaseIterable {
        /// The children that the `start` hook has started are a chain, and those that were started later are outside of it.
        case chainOfStart
        /// All children are a chain.
        case chain
    }
}
