import Glibc
import TestSupport
import Testing

/// Programs under their own supervisor, and imported, under ours: supervisord, circus and honcho, side by side.
@Suite(
    "Programs beside their own supervisor",
    .enabled(
        if: getenv("COORDINATORS_TEST_PYTHON") != nil,
        "COORDINATORS_TEST_PYTHON names a Python that has the packages supervisor, circus and honcho"
    )
)
struct BesideTests {
    /// Runs the comparison, and returns what differs.
    private static func compare(_ arguments: [String], within limit: Duration) async throws -> BuiltProgram.Ended {
        let python = BuiltProgram(path: try #require(getenv("COORDINATORS_TEST_PYTHON").map { String(cString: $0) }))
        let script = "\(Files.packageRoot)/Tests/Originals/beside.py"
        return try await python.run([script, arguments[0], BuiltProgram("coordinatord").path] + arguments.dropFirst(), within: limit)
    }

    @Test(
        "Imported programs find what they found: arguments, variables, directory, user, umask, limits and output",
        .enabled(if: getuid() == 0)
    )
    func surroundings() async throws {
        let ended = try await Self.compare(["surroundings"], within: .seconds(120))
        #expect(ended.exitCode == 0, "\(ended.output)\(ended.errors)")
    }

    @Test(
        "The same programs run after failures of single ones, for files of known applications' shape",
        .enabled(if: TestTier.current >= .all)
    )
    func states() async throws {
        let seed = UInt32.random(in: 0...UInt32.max)
        let seconds = rounds(short: 10, all: 60, long: 600)
        let ended = try await Self.compare(["states", "--seconds", "\(seconds)", "--seed", "\(seed)"], within: .seconds(seconds + 300))
        #expect(ended.exitCode == 0, "\(ended.output)\(ended.errors)")
    }
}
