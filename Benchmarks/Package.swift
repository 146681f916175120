// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of the library don't download what only benchmarks need.
let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "swift-coordinators", path: "../"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        // Runs what is measured and its peers in turn. It shares nothing with them: Foundation would slow the start of workers.
        .executableTarget(
            name: "Compare",
            dependencies: ["CSubreaper", .product(name: "ArgumentParser", package: "swift-argument-parser")]
        ),
        .target(name: "CSubreaper"),
        .systemLibrary(name: "CMalloc"),
        .executableTarget(name: "Measure", dependencies: ["CMalloc", .product(name: "Coordinators", package: "swift-coordinators")]),
        .executableTarget(
            name: "FlowMeasure",
            dependencies: [
                "CMalloc", .product(name: "Coordinators", package: "swift-coordinators"),
                .product(name: "CoordinatorsSQLite", package: "swift-coordinators"),
            ]
        ),
        .executableTarget(
            name: "Placements",
            dependencies: [
                .product(name: "CoordinatorsCluster", package: "swift-coordinators"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .executableTarget(name: "Soak", dependencies: [.product(name: "Coordinators", package: "swift-coordinators")]),
        .executableTarget(name: "Answerer", dependencies: [.product(name: "Coordinators", package: "swift-coordinators")]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where !["CSubreaper", "CMalloc"].contains(target.name) {
    target.swiftSettings = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
}

// Programs whose workers are measured are linked as the article Workers recommends for a fast start: at a fixed address, and with the
// static libraries to which `build` has made links.
for target in package.targets where ["Answerer", "Measure", "Soak"].contains(target.name) {
    target.linkerSettings = [
        .unsafeFlags(["-Xclang-linker", "-no-pie", "-L\(Context.packageDirectory)/.build/static"]),
        .linkedLibrary("mbedtls"), .linkedLibrary("mbedx509"), .linkedLibrary("mbedcrypto"),
    ]
}
