public import Coordinators
import Glibc

/// A file that coordinators of every process note things down in, in order.
///
/// The notes are read after the coordinator has crashed or stopped, so they can't be the coordinator's own state.
public struct Notebook: Codable, Sendable, Hashable {
    public struct Failure: Error { public let code: Int32 }

    /// Empty: nothing is noted down.
    public var file = ""

    public init() {}

    public static func temporary() throws -> Notebook {
        var template = Array("/tmp/coordinators-notebook-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        close(descriptor)
        var notebook = Notebook()
        notebook.file = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return notebook
    }

    public func note(_ path: CoordinatorPath, _ words: String) {
        note("\(path) \(words)")
    }

    public func note(_ line: String) { SharedFile.append(line, to: file, creating: false) }

    public var lines: [String] {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(descriptor, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Returns the notes of the coordinator at a path.
    public func words(at path: CoordinatorPath) -> [String] {
        let prefix = "\(path) "
        return lines.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    public func reads(_ line: String) -> Bool { lines.contains(line) }

    /// Returns the number of times that a line occurs.
    public func count(of line: String) -> Int { lines.count { $0 == line } }

    /// Returns when the line has been written: how a test lets a handler go on that has begun.
    public func wait(for line: String) async throws { try await FileEvents.wait(at: file) { reads(line) } }

    /// The same, and blocks the thread.
    func block(until line: String) { FileEvents.block(at: file) { reads(line) } }

    public func remove() { unlink(file) }
}

/// A configuration with the notebook of a test.
public protocol NotingConfiguration: CoordinatorConfiguration {
    var notebook: Notebook { get set }
}

/// The configuration of a coordinator that needs a notebook and nothing else.
public struct NotebookConfiguration: NotingConfiguration {
    public var notebook = Notebook()
    public init() {}
}

extension Coordinator {
    nonisolated var configuration: Configuration { context.configuration }
}

extension Coordinator where Configuration: NotingConfiguration {
    nonisolated var notebook: Notebook { context.configuration.notebook }

    /// Notes words down as those of the coordinator at this path.
    nonisolated func note(_ words: String) { notebook.note(context.path, words) }
}
