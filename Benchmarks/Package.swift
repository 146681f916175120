// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of the library don't download what only benchmarks need.
let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "swift-coordinators", path: "../")
    ],
    targets: [
        .executableTarget(name: "Measure", dependencies: [.product(name: "Coordinators", package: "swift-coordinators")]),
        .executableTarget(name: "Soak", dependencies: [.product(name: "Coordinators", package: "swift-coordinators")]),
        .executableTarget(name: "Answerer", dependencies: [.product(name: "Coordinators", package: "swift-coordinators")]),
        .executableTarget(name: "PingPongBaseline", linkerSettings: [.linkedLibrary("nng")]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.name != "PingPongBaseline" {
    target.swiftSettings = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
}
