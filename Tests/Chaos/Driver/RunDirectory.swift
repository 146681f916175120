import ChaosHistory
import Glibc

/// The fresh directory of a run: the history, the locks of the paths, the runtime directory, the log.
struct RunDirectory {
    let path: String

    init() throws {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/chaos-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw DriverError("no directory can be made in \(parent)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for name in ["history", "locks", "run"] where mkdir("\(path)/\(name)", 0o700) != 0 {
            throw DriverError("\(path)/\(name) can't be made")
        }
    }

    /// Reads all records of the run.
    func history() throws -> [Record] {
        try Self.names(in: "\(path)/history").flatMap { name -> [Record] in
            let (records, senseless) = Record.read(try Self.text(of: "\(path)/history/\(name)"))
            // No write is cut in two, unless the disk is full.
            guard senseless == 0 else { throw DriverError("\(senseless) lines of \(path)/history/\(name) are no records") }
            return records
        }
    }

    /// Removes the directory with all that is in it.
    func remove() {
        for name in ["history", "locks", "run"] {
            for file in Self.names(in: "\(path)/\(name)") { unlink("\(path)/\(name)/\(file)") }
            rmdir("\(path)/\(name)")
        }
        for file in Self.names(in: path) { unlink("\(path)/\(file)") }
        rmdir(path)
    }

    /// The names of a directory's entries.
    static func names(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            // Unsafe: the name is a fixed array of the C structure, ended by NUL.
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    static func text(of path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw DriverError("\(path) can't be read: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "we") else { throw DriverError("\(path) can't be written: \(String(cString: strerror(errno)))") }
        defer { fclose(file) }
        fputs(text, file)
    }
}

/// An error of the driver itself.
struct DriverError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
