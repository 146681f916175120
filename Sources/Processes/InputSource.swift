/// The source of a child's standard input.
public enum InputSource: Sendable, Hashable {
    /// /dev/null: the child reads end-of-file at once.
    case null
    /// The standard input of this process; /dev/null when that is closed.
    case inherit
    /// An open descriptor of this process. The child gets a copy; the caller closes the original.
    case descriptor(Int32)
}
