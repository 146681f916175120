import Glibc

/// The connections that wait to be accepted at a listening Unix socket.
enum Backlog {
    /// Has a listening socket hold as many as the system allows (`net.core.somaxconn`); nng has it hold 128.
    ///
    /// When there are more, each peer dials again and again: hundreds of children that start at once leave the processor to nobody, and to
    /// the process that is to accept them neither. nng doesn't give its descriptor away, so the socket is looked for by its path. Where it
    /// isn't found, peers dial again.
    static func enlarge(ofSocketAt path: Substring) {
        for descriptor in OwnProcess.descriptors where isListening(descriptor, at: path) {
            // listen(2) of a socket that listens changes its backlog alone.
            listen(descriptor, SOMAXCONN)
        }
    }

    private static func isListening(_ descriptor: Int32, at path: Substring) -> Bool {
        var (isListening, size): (Int32, socklen_t) = (0, 4)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening == 1 else { return false }
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isRead = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) == 0 }
        }
        guard isRead, address.sun_family == sa_family_t(AF_UNIX) else { return false }
        return withUnsafeBytes(of: &address.sun_path) { $0.prefix { $0 != 0 }.elementsEqual(path.utf8) }
    }
}
