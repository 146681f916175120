import Glibc

/// A directory that goes away with its last reference, and what is in it too.
final class TemporaryDirectory {
    let path: String

    struct Failure: Error { let code: Int32 }

    init() throws {
        var template = Array("/tmp/shop-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(code: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        // What SQLite makes of one file; the directory goes only if that was all.
        for name in ["shop.sqlite", "shop.sqlite-wal", "shop.sqlite-shm"] { unlink("\(path)/\(name)") }
        rmdir(path)
    }
}
