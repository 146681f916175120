/// The end of a child's pipe, FIFO or socket that is read here, and the function that gets its content.
struct ReadingEnd {
    /// What is read.
    enum Role: String, Codable, Sendable {
        case output, errors
        /// A pipe by which the child tells its parent something.
        case channel
        /// A socket for datagrams.
        case datagrams

        /// Whether the content waits while what gets the output is full; what the child tells its parent doesn't.
        var isOutput: Bool { self == .output || self == .errors }
    }

    let descriptor: Int32
    let receive: @Sendable ([UInt8]) -> Void
    /// The path of the FIFO or socket; `nil`: it's a pipe.
    let path: String?
    var isFIFO = false
    var role = Role.output
    /// Whether what gets the output would like it to wait.
    var isFull: (@Sendable () -> Bool)?

    /// Closes the end, and removes the file.
    func close(_ systemCalls: SystemCalls) {
        systemCalls.close(descriptor)
        if let path { systemCalls.unlink(path) }
    }
}
