// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of the library don't download an HTTP server.
let package = Package(
    name: "HummingbirdShop",
    dependencies: [
        .package(name: "swift-coordinators", path: "../../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "HummingbirdShop",
            dependencies: [
                .product(name: "Coordinators", package: "swift-coordinators"),
                .product(name: "CoordinatorsObservability", package: "swift-coordinators"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        .testTarget(name: "HummingbirdShopTests", dependencies: ["HummingbirdShop"]),
    ],
    swiftLanguageModes: [.v6]
)
