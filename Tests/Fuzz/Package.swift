// swift-tools-version: 6.2
import PackageDescription

/// A fuzzer of something that reads bytes; how it's checked stands in a file of the tests, which is linked here.
func fuzzer(_ name: String, product: String = "Fuzzed") -> Target {
    .executableTarget(name: name, dependencies: ["FuzzBench", .product(name: product, package: "swift-coordinators")])
}

// A package of its own: a fuzzer's main function is libFuzzer's, and every module is built for it.
let package = Package(
    name: "Fuzz",
    dependencies: [
        .package(name: "swift-coordinators", path: "../../")
    ],
    targets: [
        // Counts memory and time of an input.
        .target(name: "CFuzzBench"),
        .target(name: "FuzzBench", dependencies: ["CFuzzBench"]),
        fuzzer("FrameFuzz"),
        fuzzer("CompactFuzz"),
        fuzzer("ControlFuzz"),
        fuzzer("ConfigurationFuzz"),
        fuzzer("StoreFuzz"),
        .executableTarget(name: "PeerFuzz", dependencies: [.product(name: "Coordinators", package: "swift-coordinators")]),
    ],
    swiftLanguageModes: [.v6]
)
