/// A way by which a child tells its parent something, besides its output.
package enum ProcessChannel: Sendable {
    /// A pipe, whose writing end the child has under a number of its own.
    ///
    /// The function gets what is written, and an empty piece at the end; see ``OutputDestination/captured(_:)``. With a path it's a FIFO, as of
    /// ``OutputDestination/fifo(at:_:)``.
    case pipe(target: Int32, at: String? = nil, @Sendable ([UInt8]) -> Void)
    /// A socket at a path, to which only the child's user and root can send: the kernel checks who sends.
    ///
    /// The function gets each datagram by itself. The socket is removed when the child has ended.
    case datagrams(path: String, @Sendable ([UInt8]) -> Void)

    /// The number that the child's end has.
    var target: Int32? {
        switch self {
        case .pipe(let target, _, _): target
        case .datagrams: nil
        }
    }
}
