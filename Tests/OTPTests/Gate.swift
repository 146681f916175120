import Glibc

/// A file that isn't there until it's opened: it holds back coordinators in any process.
final class Gate: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/otp-gate-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        precondition(descriptor >= 0, "no file can be made in /tmp: \(String(cString: strerror(errno)))")
        close(descriptor)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) + ".open"
        unlink(String(path.dropLast(5)))
    }

    deinit { unlink(path) }

    func open() {
        let descriptor = Glibc.open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }
}
