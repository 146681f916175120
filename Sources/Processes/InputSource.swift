/// Where a child's standard input comes from.
public enum InputSource: Sendable, Hashable {
    /// /dev/null: the child reads the end at once.
    case null
    /// Ours; /dev/null when ours is closed.
    case inherit
    /// An open descriptor of ours. The child gets a copy; closing the original stays the caller's business.
    case descriptor(Int32)
}
