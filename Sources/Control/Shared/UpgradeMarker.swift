import Glibc
public import Processes

/// The file that tells operators that another program is taking the daemon's place: there is no socket for a moment, and there will be one.
public struct UpgradeMarker: Sendable {
    private let path: String

    /// Names the marker of a runtime directory.
    public init(_ directory: RuntimeDirectory) { path = directory.file("control.upgrade") }

    /// Writes the file, with this process's number.
    public func set() {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard file >= 0 else { return }
        defer { close(file) }
        // Whatever the umask, and the mode of a file that is there: who may connect, which the directory decides, may read it.
        fchmod(file, 0o644)
        let text = Array("\(getpid())\n".utf8)
        _ = write(file, text, text.count)
    }

    /// Removes the file: the daemon serves again.
    public func remove() { unlink(path) }

    /// Whether a daemon that lives is being replaced.
    var isSet: Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return false }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = read(file, &buffer, buffer.count)
        let number = Int32(String(decoding: buffer[..<max(0, count)].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        guard let number, number > 0 else { return false }
        return kill(number, 0) == 0 || errno == EPERM
    }
}
