import Glibc

/// The console's messages to the supervisor that has started it, by sd_notify(3).
enum Readiness {
    /// Sends a message to the socket that `NOTIFY_SOCKET` names; without one nothing happens.
    static func tell(_ message: String) {
        guard let variable = getenv("NOTIFY_SOCKET") else { return }
        var path = Array(String(cString: variable).utf8)
        // A name that isn't in the file system.
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        var address = sockaddr_un()
        guard !path.isEmpty, path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        address.sun_family = sa_family_t(AF_UNIX)
        // Unsafe: the path is a fixed array of the C structure.
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count + (path.first == 0 ? 0 : 1))
        let bytes = Array(message.utf8)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { sendto(descriptor, bytes, bytes.count, 0, $0, length) }
        }
    }
}
