import TestSupport

/// A file that isn't there until it's opened: it holds back coordinators in any process.
final class Gate: Sendable {
    private let directory: TemporaryDirectory
    let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("open")
    }

    /// Whether a stop waits at it.
    var isReached: Bool { Files.text(of: "\(path).begun") != nil }

    func open() throws { try Files.write("", to: path) }
}
