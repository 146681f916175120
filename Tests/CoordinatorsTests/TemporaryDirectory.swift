import Glibc

/// A directory that goes away with its last reference.
final class TemporaryDirectory {
    let path: String

    struct Failure: Error { let code: Int32 }

    init() throws {
        var template = Array("/tmp/coordinators-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(code: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for entry in entries { unlink("\(path)/\(entry)") }
        rmdir(path)
    }

    /// The names of what is in it.
    var entries: [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
