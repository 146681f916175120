import TestSupport
import Testing

/// The sources of the reader, in which the keys of each mapping are written out where it is read.
enum ReaderSource {
    private static let folder = "\(Files.packageRoot)/Sources/DaemonConfiguration/Reader"

    /// Returns the keys of each mapping that the reader knows.
    static func keyLists() throws -> [Set<String>] {
        let sources = try Files.names(in: folder).filter { $0.hasSuffix(".swift") }.map { try #require(Files.text(of: "\(folder)/\($0)")) }
        let lists = sources.flatMap { $0.matches(of: /keys(?::| =) \[([^\]]*"[^\]]*)\]/).map(\.output.1) }
        return lists.map { list in Set(list.matches(of: /"([A-Za-z_]+)"/).map { String($0.output.1) }) }
    }
}
