// swift-tools-version: 6.2
import PackageDescription

// A package of its own: a fuzzer's main function is libFuzzer's, and every module is built for it.
let package = Package(
    name: "Fuzz",
    dependencies: [
        .package(name: "swift-coordinators", path: "../../")
    ],
    targets: [
        .executableTarget(name: "PeerFuzz", dependencies: [.product(name: "Coordinators", package: "swift-coordinators")])
    ],
    swiftLanguageModes: [.v6]
)
