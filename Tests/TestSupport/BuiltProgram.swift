import Glibc
import Processes

/// A program that a test runs, as a rule one of this package, which is built beside the tests.
public struct BuiltProgram: Sendable {
    public let path: String

    public init(_ name: String) { path = "\(Self.directory)/\(name)" }

    /// One of the system's.
    public init(path: String) { self.path = path }

    /// The end of a program, and its output until then.
    public struct Ended: Equatable, Sendable {
        /// The code it exited with, or minus the signal that ended it.
        public var exitCode: Int32
        public var output: String
        public var errors: String

        public init(exitCode: Int32, output: String = "", errors: String = "") {
            self.exitCode = exitCode
            self.output = output
            self.errors = errors
        }
    }

    /// Runs it to its end; one that hasn't ended in time is killed.
    ///
    /// - Parameters:
    ///   - environment: what its environment has apart from `PATH`.
    ///   - limit: how long it may take; more with a sanitizer.
    public func run(
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        within limit: Duration = .seconds(60)
    ) async throws -> Ended {
        let (output, errors) = (Transcript(), Transcript())
        let specification = ProcessSpecification(
            executable: path,
            arguments: arguments,
            environment: environment.merging(["PATH": "/usr/bin:/bin"]) { given, _ in given }
                .merging(Sanitizer.environment) { given, _ in given },
            standardOutput: output.destination,
            standardError: errors.destination
        )
        let status = try await withChild(specification) { child in
            let killing = Task {
                try await realTime(.patient(limit), because: "the program may hang")
                try child.send(.kill)
            }
            defer { killing.cancel() }
            return await child.waitForExit()
        }
        let exitCode =
            switch status {
            case .exited(let code): code
            case .signaled(let signal, _): -signal.rawValue
            }
        return Ended(exitCode: exitCode, output: output.text, errors: errors.text)
    }

    private static let directory: String = {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }()
}
