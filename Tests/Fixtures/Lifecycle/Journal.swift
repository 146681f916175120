import Glibc

/// The events of coordinators, in one order for all processes: lines appended to a file.
///
/// It depends on nothing of what is tested.
public struct Journal: Codable, Sendable {
    /// The path of the file; empty: nothing is written.
    public var path = ""

    public init() {}

    /// A journal in a fresh file.
    public static func temporary() -> Journal {
        var journal = Journal()
        var template = Array("/tmp/pattern-journal-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        precondition(descriptor >= 0, "no journal can be made in /tmp: \(String(cString: strerror(errno)))")
        close(descriptor)
        journal.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return journal
    }

    /// Appends a line, all of it or nothing.
    public func write(_ line: String) {
        guard !path.isEmpty else { return }
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        let bytes = Array((line + "\n").utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
        close(descriptor)
    }

    /// The lines so far.
    public var lines: [String] {
        guard let file = fopen(path, "re") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Returns the number of times that a line occurs.
    public func count(of line: String) -> Int { lines.count { $0 == line } }

    /// Deletes the file.
    public func remove() { unlink(path) }
}
