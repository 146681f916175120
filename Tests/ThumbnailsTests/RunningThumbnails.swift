import Coordinators
import CoordinatorsTesting
import Glibc
import Logging
import TestSupport

@testable import Thumbnails

/// The service, with the test as its front end.
struct RunningThumbnails {
    let runtime: CoordinatorRuntime

    static func with(_ body: (RunningThumbnails) async throws -> Void) async throws {
        // A trap of a debug build has its backtrace written for seconds.
        setenv("SWIFT_BACKTRACE", "enable=no", 0)
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = program.path
        options.logger.logLevel = .critical
        try await withRuntime(ThumbnailCoordinator.self, options: options) { try await body(RunningThumbnails(runtime: $0)) }
    }

    /// Asks for a thumbnail as a front end does, within its time limit.
    func make(_ picture: [UInt8], within limit: Duration = .seconds(1)) async throws -> [UInt8] {
        try await runtime.ask(Thumbnail.Make(picture: picture, width: 8), timeout: limit)
    }

    func renderers() async throws -> [CoordinatorSnapshot] { try await runtime.snapshot(of: "/renderers").children }

    static let program = BuiltProgram("Thumbnails")
}
