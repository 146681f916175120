import Coordinators
import Glibc

/// The way in which a test runs the children that coordinators place in workers.
public struct TestWorkers: Sendable {
    enum Kind {
        case inProcess(isEncoded: Bool)
        case built(String)
    }

    let kind: Kind

    /// Every child runs in the test's process: no executable is needed, and breakpoints work.
    public static let inProcess = TestWorkers(kind: .inProcess(isEncoded: false))

    /// Every child runs in the test's process, and what passes between it and its parent is encoded and decoded, as between processes.
    ///
    /// Messages, replies, errors, configurations, events and outputs: what can't cross fails as it would there, with an error that names it.
    public static let encoded = TestWorkers(kind: .inProcess(isEncoded: true))

    /// Children run in real workers, of an executable of the package that is built with the tests.
    ///
    /// - Parameter name: The name of the executable's target. Its test target must depend on it, so that it is built.
    public static func built(_ name: String) -> TestWorkers { TestWorkers(kind: .built(name)) }

    func apply(to options: inout CoordinatorRuntime.Options) throws(CoordinatorError) {
        switch kind {
        case .inProcess(let isEncoded):
            options.runsInOneProcess = true
            options.encodesBorders = isEncoded
        case .built(let name):
            options.runsInOneProcess = false
            options.workerExecutable = try Self.executable(name)
        }
    }

    /// Returns the path of an executable that is built beside the tests.
    ///
    /// - Throws: `spawnFailed` if it's not there.
    private static func executable(_ name: String) throws(CoordinatorError) -> String {
        let directory = directoryOfTests
        let path = "\(directory)/\(name)"
        if access(path, X_OK) == 0 { return path }
        throw CoordinatorError(
            .spawnFailed,
            "there is no executable '\(name)' beside the tests, in \(directory): add the target '\(name)' to the dependencies of the test "
                + "target, so that `swift test` builds it"
        )
    }

    private static var directoryOfTests: String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = buffer.withUnsafeMutableBytes { readlink("/proc/self/exe", $0.baseAddress!, $0.count) }
        let path = String(decoding: buffer[..<max(length, 0)], as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}
