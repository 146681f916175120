import Glibc
import TestSupport
import Testing

@Suite("What a user of the library fetches", .timeLimit(minutes: 5))
struct FetchedPackagesTests {
    /// All packages beside this one: at most eight, and none with an HTTP server, a database or a parser of YAML.
    private static let expected = [
        "swift-argument-parser", "swift-async-algorithms", "swift-collections", "swift-distributed-tracing", "swift-log", "swift-metrics",
        "swift-service-lifecycle",
    ]

    @Test("A package that depends on the product Coordinators alone fetches these packages, and no others")
    func coordinatorsAlone() async throws {
        let directory = try TemporaryDirectory()
        // SwiftPM names a package at a path after its directory.
        let identity = try #require(Files.packageRoot.split(separator: "/").last)
        let manifest = """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "user",
                dependencies: [.package(path: "\(Files.packageRoot)")],
                targets: [.target(name: "User", dependencies: [.product(name: "Coordinators", package: "\(identity)")], path: ".")]
            )
            """
        try Files.write(manifest, to: directory.file("Package.swift"))
        try Files.write("import Coordinators\n", to: directory.file("User.swift"))
        // A cache of its own: what this package or its other users have fetched before isn't seen, and stays as it is.
        let options = [
            "--package-path", directory.path, "--scratch-path", directory.file("built"), "--cache-path", directory.file("cache"),
        ]
        let resolved = try await BuiltProgram(path: "/usr/bin/env").run(
            ["swift", "package", "resolve"] + options,
            environment: Self.environment,
            within: .seconds(240)
        )
        try #require(resolved.exitCode == 0, "\(resolved.output) \(resolved.errors)")
        #expect(Files.names(in: directory.file("built/checkouts")) == Self.expected)
    }

    /// What names the tools, and the configuration by which git and SwiftPM find packages elsewhere.
    private static var environment: [String: String] {
        var environment: [String: String] = [:]
        for name in ["PATH", "HOME", "XDG_CONFIG_HOME"] { environment[name] = getenv(name).map { String(cString: $0) } }
        return environment
    }
}
