/// The destination of a child's standard output or error.
public enum OutputDestination: Sendable {
    /// /dev/null.
    case null
    /// The same stream of this process; /dev/null when that is closed.
    case inherit
    /// An open descriptor of this process. The child gets a copy; the caller closes the original.
    case descriptor(Int32)
    /// A pipe to a function, which gets the output in the order in which it was written, in pieces of at most 64 KiB.
    ///
    /// The function runs on the one thread that serves all children: it must return at once, and the child can't write faster than the
    /// function takes. All that a child wrote before it ended is delivered before its exit is reported. The last call has no bytes and
    /// means that no more output comes. It is made when the last process that holds the pipe has closed it (a grandchild may outlive the
    /// child), after `ChildProcess.endCapture()`, or at the child's end when its group is killed with it.
    case captured(@Sendable ([UInt8]) -> Void)
    /// The destination of standard output, for standard error only. With `.captured`, both arrive in one stream, in order.
    case sameAsOutput
}
