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
    /// A FIFO that is made at a path, to a function like that of `.captured`.
    ///
    /// The child holds the FIFO open for reading and writing. So the child outlives this process without losing output: a write meets
    /// neither the end nor a broken pipe, and what was written waits in the FIFO until another process opens it by its path, with
    /// ``ProcessSpawner/adopt(_:output:killsGroupAtExit:)``. Up to 1 MiB waits as a rule; the writer of more blocks. The FIFO is removed
    /// when no more output comes from it. A grandchild that is left then blocks at the latest when the FIFO is full.
    case fifo(at: String, @Sendable ([UInt8]) -> Void)
    /// The destination of standard output, for standard error only. With `.captured`, both arrive in one stream, in order.
    case sameAsOutput

    /// Whether this process reads the output.
    var isRead: Bool {
        switch self {
        case .captured, .fifo: true
        case .null, .inherit, .descriptor, .sameAsOutput: false
        }
    }
}
