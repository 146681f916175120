/// Where a child's standard output or error goes.
public enum OutputDestination: Sendable {
    /// /dev/null.
    case null
    /// To ours; /dev/null when ours is closed.
    case inherit
    /// To an open descriptor of ours. The child gets a copy; closing the original stays the caller's business.
    case descriptor(Int32)
    /// Through a pipe to a function, in the order in which it was written, in pieces of at most 64 KiB.
    ///
    /// The function runs on the one thread that serves all children: it must return at once, and its pace is the pace at which the child
    /// can write. All that a child wrote before it ended is delivered before its exit is reported. The last call has no bytes: nothing
    /// more will come. That is when the last process that holds the pipe has closed it (a grandchild may outlive the child), after
    /// `ChildProcess.endCapture()`, or at the child's end when its group is killed with it.
    case captured(@Sendable ([UInt8]) -> Void)
    /// For standard error only: wherever standard output goes. With `.captured`, both arrive in one stream, in order.
    case sameAsOutput
}
