import Control
import Glibc

extension RuntimeDirectory {
    /// Removes the sockets that a daemon which was killed has left.
    ///
    /// To be called by the one daemon that has the control socket.
    func removeStaleSockets() {
        guard let directory = opendir(path) else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            // The runtime's sockets are called after the process that listens: 4711.sock.
            guard name.hasSuffix(".sock"), let pid = Int32(name.dropLast(5)), pid != getpid() else { continue }
            if kill(pid, 0) != 0 && errno == ESRCH { unlink("\(path)/\(name)") }
        }
    }
}
