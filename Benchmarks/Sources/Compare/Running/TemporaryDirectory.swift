import Foundation

/// A directory that only this user can enter, for sockets and files of the programs, or for files that lie on a disk; removed at the end with all that is in it.
struct TemporaryDirectory {
    let path: String

    init(in parent: String = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp") throws {
        var template = Array("\(parent)/benchmarks-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw RunFailure("No directory can be made in \(parent): \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
