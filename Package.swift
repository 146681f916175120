// swift-tools-version: 6.2
import PackageDescription

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let inMemoryTracing = Target.Dependency.product(name: "InMemoryTracing", package: "swift-distributed-tracing")
let instrumentation = Target.Dependency.product(name: "Instrumentation", package: "swift-distributed-tracing")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")

extension Target {
    /// An example: an executable with a README of its own.
    static func example(_ name: String) -> Target {
        .executableTarget(name: name, dependencies: ["Coordinators", logging], path: "Sources/Examples/\(name)", exclude: ["README.md"])
    }

    /// The names of what the target depends on in this package.
    var namesOfDependencies: [String] {
        dependencies.compactMap { dependency in
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): name
            case .productItem: nil
            @unknown default: nil
            }
        }
    }

    static func exampleTests(_ name: String) -> Target {
        .testTarget(
            name: "\(name)Tests",
            dependencies: ["Coordinators", "CoordinatorsTesting", "Processes", "TestSupport", "WireProtocol", .target(name: name), logging]
        )
    }
}

let package = Package(
    name: "swift-coordinators",
    // SwiftPM fetches what the targets of any product need, for every user. So a target whose packages a user of the library shouldn't fetch
    // is no product; `swift build --product` builds its executable all the same. See FetchedPackagesTests.
    products: [
        .library(name: "Coordinators", targets: ["Coordinators"]),
        .library(name: "CoordinatorsCluster", targets: ["CoordinatorsCluster"]),
        .library(name: "CoordinatorsObservability", targets: ["CoordinatorsObservability"]),
        .library(name: "CoordinatorsSQLite", targets: ["CoordinatorsSQLite"]),
        .library(name: "CoordinatorsTesting", targets: ["CoordinatorsTesting"]),
        .executable(name: "coordinatord", targets: ["coordinatord"]),
        .executable(name: "coordinatorctl", targets: ["coordinatorctl"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Pure: the standard library only. Machines and bytes; no clock, no randomness, no I/O.
        .target(name: "Supervision"),
        .target(name: "WireProtocol"),

        .target(name: "WorkerLifecycle", dependencies: ["Supervision"]),
        .target(name: "Acknowledgement"),
        .target(name: "Flows", dependencies: ["Acknowledgement", "WireProtocol"]),
        .target(name: "Ownership"),
        .target(name: "Placement", dependencies: ["Ownership"]),

        // Fake worlds for the machines: all chance comes from a seed.
        .target(name: "SimulationSupport", dependencies: ["Supervision"], path: "Tests/Simulations/SimulationSupport"),
        .target(
            name: "SupervisionSimulation",
            dependencies: ["SimulationSupport", "Supervision"],
            path: "Tests/Simulations/SupervisionSimulation"
        ),
        .target(
            name: "WorkerLifecycleSimulation",
            dependencies: ["SimulationSupport", "Supervision", "WorkerLifecycle"],
            path: "Tests/Simulations/WorkerLifecycleSimulation"
        ),
        .target(
            name: "AcknowledgementSimulation",
            dependencies: ["Acknowledgement", "SimulationSupport", "Supervision"],
            path: "Tests/Simulations/AcknowledgementSimulation"
        ),
        .target(
            name: "FlowSimulation",
            dependencies: ["Flows", "SimulationSupport", "Supervision", "WireProtocol"],
            path: "Tests/Simulations/FlowSimulation"
        ),
        .target(
            name: "OwnershipSimulation",
            dependencies: ["Ownership", "Placement", "SimulationSupport", "Supervision"],
            path: "Tests/Simulations/OwnershipSimulation"
        ),

        // OTP's own supervisor as the oracle of ours.
        .target(
            name: "OTPOracle",
            dependencies: ["Processes", "SimulationSupport", "Supervision", "SupervisionSimulation"],
            path: "Tests/Simulations/OTPOracle",
            exclude: ["otp_oracle.erl"]
        ),

        // What the targets below wait with: one-shot values, timers, the monotonic clock.
        .target(name: "ConcurrencySupport", dependencies: [deque, heap]),

        // Boundary: the only targets that talk to nng and to the kernel.
        .systemLibrary(name: "CNNG", providers: [.apt(["libnng-dev"])]),
        .systemLibrary(name: "CMbedTLS", providers: [.apt(["libmbedtls-dev"])]),
        .target(name: "NNG", dependencies: ["CMbedTLS", "CNNG", "CProcess", "ConcurrencySupport"]),
        .target(name: "CProcess"),
        .target(name: "Processes", dependencies: ["CProcess", "ConcurrencySupport"]),
        .target(name: "Links", dependencies: ["ConcurrencySupport", "NNG", "Processes", "WireProtocol"]),

        // Library: what users import.
        .target(
            name: "Coordinators",
            dependencies: [
                "Acknowledgement", "ConcurrencySupport", "Flows", "Supervision", "WorkerLifecycle", "WireProtocol", "Links", "Processes",
                deque, logging, serviceLifecycle, unixSignals,
            ]
        ),
        .target(name: "CoordinatorsTesting", dependencies: ["ConcurrencySupport", "Coordinators"]),
        // Metrics and traces for other people's tools: the only target with their packages.
        .target(
            name: "CoordinatorsObservability",
            dependencies: [
                "ConcurrencySupport", "Coordinators", "Processes", "WireProtocol", coreMetrics, deque, instrumentation, logging, tracing,
            ]
        ),

        // The store of durable flows: the only target that talks to SQLite.
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "CoordinatorsSQLite", dependencies: ["CSQLite", "ConcurrencySupport", "Coordinators", "Flows", deque]),

        // What the nodes of a cluster agree on, on one machine or in etcd, for which libcurl is loaded when a store is made.
        .target(name: "CCurl"),
        .target(
            name: "CoordinatorsCluster",
            dependencies: ["CCurl", "ConcurrencySupport", "Ownership", "Placement", "Processes", deque, logging]
        ),

        // Shells: the daemon, and the operator's way to it.
        .target(name: "Control", dependencies: ["ConcurrencySupport", "NNG", "Processes", "WireProtocol"]),
        .systemLibrary(name: "CYAML", providers: [.apt(["libyaml-dev"])]),
        .target(name: "DaemonConfiguration", dependencies: ["CYAML", "ConcurrencySupport", "Processes", "Supervision", "WireProtocol"]),
        // What those find who come from other supervisors: their files are read, and supervisord's clients answered.
        .target(name: "Migration", dependencies: ["DaemonConfiguration", "WireProtocol"]),
        .target(name: "Supervisord", dependencies: ["ConcurrencySupport", "Control", "Processes", "WireProtocol"]),
        .target(
            name: "CoordinatorDaemon",
            dependencies: [
                "ConcurrencySupport", "Control", "Coordinators", "CoordinatorsCluster", "CoordinatorsObservability", "DaemonConfiguration",
                "Links", "NNG", "Ownership", "Processes", "WireProtocol", logging, serviceLifecycle,
            ]
        ),

        // Executables parse, build and run.
        .executableTarget(
            name: "coordinatord",
            dependencies: [
                "ConcurrencySupport", "Control", "CoordinatorDaemon", "Coordinators", "DaemonConfiguration", "Migration", "Processes",
                "Supervision", argumentParser, logging, serviceLifecycle,
            ]
        ),
        .executableTarget(
            name: "coordinatorctl",
            dependencies: [
                "ConcurrencySupport", "Control", "Processes", "Supervision", "WireProtocol", argumentParser,
            ]
        ),
        // The web page and the metrics, in a process of their own: the only targets with an HTTP server.
        .systemLibrary(name: "CMicroHTTPD", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(name: "CConsoleAssets", exclude: ["page"]),
        .target(
            name: "CoordinatorConsole",
            dependencies: [
                "CConsoleAssets", "CMicroHTTPD", "ConcurrencySupport", "Control", "Processes", "Supervisord", "WireProtocol",
                serviceLifecycle,
            ]
        ),
        .executableTarget(
            name: "coordinator-console",
            dependencies: ["Control", "CoordinatorConsole", "Processes", argumentParser, logging, serviceLifecycle, unixSignals]
        ),
        .executableTarget(
            name: "Shop",
            dependencies: ["Coordinators", "CoordinatorsSQLite"],
            path: "Sources/Examples/Shop",
            exclude: ["README.md"],
            linkerSettings: [.linkedLibrary("crypt")]
        ),

        .executableTarget(
            name: "supervision-simulator",
            dependencies: [
                "AcknowledgementSimulation", "FlowSimulation", "OTPOracle", "OwnershipSimulation", "SimulationSupport",
                "SupervisionSimulation", "WorkerLifecycleSimulation", argumentParser,
            ],
            path: "Tests/Simulations/supervision-simulator"
        ),
        // For Benchmarks/guard; here, and not in the package of the other benchmarks, so that it shares what Deploy/test builds in release mode.
        .executableTarget(
            name: "InstructionCounts",
            dependencies: ["Coordinators", "WireProtocol", logging],
            path: "Benchmarks/InstructionCounts",
            exclude: ["limits.json"]
        ),
        // For Benchmarks/nodes, and here for the same reason.
        .executableTarget(name: "NodesWorker", dependencies: ["Coordinators"], path: "Benchmarks/Nodes"),
        // For Tests/Chaos/run: a library that judges, a tree that is harmed, and the program that harms it.
        .target(name: "ChaosHistory", path: "Tests/Chaos/History"),
        .executableTarget(
            name: "ChaosTree",
            dependencies: ["ChaosHistory", "Coordinators", "Supervision", logging, unixSignals],
            path: "Tests/Chaos/Tree"
        ),
        .executableTarget(
            name: "Chaos",
            dependencies: ["CProcess", "ChaosHistory", "Control", "Processes", "Supervision", argumentParser],
            path: "Tests/Chaos/Driver"
        ),
        // For Tests/Walks/run.
        .executableTarget(name: "Walks", dependencies: ["Coordinators", "CoordinatorsTesting"], path: "Tests/Walks", exclude: ["run"]),
        .example("Contacts"),
        .example("Experience"),
        .example("Thumbnails"),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: ["ConcurrencySupport", "CoordinatorsTesting", "Processes", "Supervision"],
            path: "Tests/TestSupport"
        ),
        // The fixture is a program of coordinators that the tests' workers run.
        .target(
            name: "Fixtures",
            dependencies: [
                "ConcurrencySupport", "Coordinators", "CoordinatorsObservability", "Supervision", inMemoryTracing, metricsTestKit,
                serviceLifecycle,
            ],
            path: "Tests/Fixtures"
        ),
        .executableTarget(
            name: "FixtureWorker",
            dependencies: ["Coordinators", "Fixtures", "Links", "WireProtocol"],
            path: "Tests/FixtureWorker"
        ),
        .testTarget(
            name: "CoordinatorsTests",
            dependencies: [
                "Acknowledgement", "ConcurrencySupport", "Coordinators", "CoordinatorsTesting", "Links", "NNG", "Processes",
                "Supervision", "TestSupport", "WireProtocol", "WorkerLifecycle", "Fixtures", "FixtureWorker", deque, logging,
                serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "PatternTests",
            dependencies: [
                "ConcurrencySupport", "Coordinators", "CoordinatorsTesting", "FixtureWorker", "Fixtures", "Links", "NNG", "OldBuild",
                "Processes", "TestSupport", "WireProtocol", logging,
            ]
        ),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: [
                "ConcurrencySupport", "Coordinators", "CoordinatorsObservability", "FixtureWorker", "Fixtures", "Processes", "TestSupport",
                "WireProtocol", coreMetrics, inMemoryTracing, logging, metricsTestKit, tracing,
            ],
            exclude: ["otlp.py"]
        ),
        .testTarget(
            name: "OTPTests",
            dependencies: ["ConcurrencySupport", "Coordinators", "Fixtures", "FixtureWorker", "Supervision", "TestSupport", logging]
        ),
        // Two programs that stand for two builds of one.
        .executableTarget(name: "OldBuild", dependencies: ["Coordinators", "Fixtures"], path: "Tests/VersionFixtures/Old"),
        .executableTarget(name: "NewBuild", dependencies: ["Coordinators", "Fixtures"], path: "Tests/VersionFixtures/New"),
        .testTarget(name: "VersionTests", dependencies: ["FixtureWorker", "Fixtures", "NewBuild", "OldBuild", "TestSupport"]),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "ConcurrencySupport", "Coordinators", "CoordinatorsObservability", "CoordinatorsSQLite", "CoordinatorsTesting", "Processes",
                "TestSupport", coreMetrics, logging, serviceLifecycle, tracing,
            ]
        ),
        // A program of durable flows, which the tests end at any moment.
        .executableTarget(
            name: "FlowWorker",
            dependencies: ["ConcurrencySupport", "Coordinators", "CoordinatorsSQLite"],
            path: "Tests/FlowWorker"
        ),
        .executableTarget(name: "ReadmeProgram", dependencies: ["Coordinators"], path: "Tests/ReadmeProgram"),
        .testTarget(name: "ReadmeTests", dependencies: ["Processes", "ReadmeProgram", "TestSupport"]),
        .testTarget(
            name: "CoordinatorDaemonTests",
            dependencies: [
                "ConcurrencySupport", "Control", "CoordinatorDaemon", "Coordinators", "CoordinatorsObservability", "CoordinatorsTesting",
                "DaemonConfiguration", "Processes", "TestSupport", "WireProtocol", "FixtureWorker", "FlowWorker", "Shop",
                "coordinator-console",
                "coordinatorctl", "coordinatord", logging,
            ]
        ),
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "ConcurrencySupport", "Control", "CoordinatorConsole", "Processes", "TestSupport", "WireProtocol", "FixtureWorker",
                "FlowWorker",
                "coordinator-console", "coordinatorctl", "coordinatord",
            ],
            exclude: ["Browser"]
        ),
        .testTarget(
            name: "CoordinatorsClusterTests",
            dependencies: [
                "ConcurrencySupport", "Control", "CoordinatorsCluster", "DaemonConfiguration", "Links", "NNG", "Ownership", "Processes",
                "TestSupport", "WireProtocol", "FixtureWorker", "coordinatorctl", "coordinatord", logging,
            ]
        ),
        .testTarget(name: "ConcurrencySupportTests", dependencies: ["ConcurrencySupport", "TestSupport"]),
        .testTarget(
            name: "CoordinatorsSQLiteTests",
            dependencies: [
                "ConcurrencySupport", "Coordinators", "CoordinatorsSQLite", "CoordinatorsTesting", "FlowWorker", "Flows", "Processes",
                "Supervision", "TestSupport", "WireProtocol", logging,
            ]
        ),
        .testTarget(name: "LinksTests", dependencies: ["ConcurrencySupport", "Links", "TestSupport", "WireProtocol"]),
        .testTarget(
            name: "ShopTests",
            dependencies: [
                "Coordinators", "CoordinatorsSQLite", "CoordinatorsTesting", "Processes", "TestSupport", "WireProtocol", "Shop", logging,
            ]
        ),
        .exampleTests("Contacts"),
        .exampleTests("Experience"),
        .exampleTests("Thumbnails"),
        .testTarget(name: "NNGTests", dependencies: ["CNNG", "CProcess", "ConcurrencySupport", "NNG", "Processes", "TestSupport"]),
        .testTarget(name: "WorkerLifecycleTests", dependencies: ["Supervision", "TestSupport", "WorkerLifecycle"]),
        .testTarget(name: "WireProtocolTests", dependencies: ["TestSupport", "WireProtocol"]),
        .testTarget(name: "ProcessesTests", dependencies: ["ConcurrencySupport", "Processes", "TestSupport"]),
        .testTarget(
            name: "AcknowledgementTests",
            dependencies: ["Acknowledgement", "AcknowledgementSimulation", "SimulationSupport", "TestSupport"]
        ),
        .testTarget(
            name: "FlowsTests",
            dependencies: ["ConcurrencySupport", "FlowSimulation", "Flows", "SimulationSupport", "TestSupport", "WireProtocol"]
        ),
        .testTarget(name: "OwnershipTests", dependencies: ["Ownership"]),
        .testTarget(name: "OwnershipSimulationTests", dependencies: ["OwnershipSimulation", "SimulationSupport"]),
        .testTarget(name: "PlacementTests", dependencies: ["Ownership", "Placement", "Supervision"], exclude: ["rendezvous.py"]),
        .testTarget(name: "ChaosHistoryTests", dependencies: ["ChaosHistory"]),
        .testTarget(name: "SupervisionTests", dependencies: ["Supervision", "SupervisionSimulation", "TestSupport"]),
        .testTarget(name: "SupervisionSimulationTests", dependencies: ["SimulationSupport", "SupervisionSimulation", "TestSupport"]),
        .testTarget(name: "OTPOracleTests", dependencies: ["OTPOracle", "Supervision", "SupervisionSimulation", "TestSupport"]),
        .testTarget(
            name: "WorkerLifecycleSimulationTests",
            dependencies: ["SimulationSupport", "Supervision", "TestSupport", "WorkerLifecycle", "WorkerLifecycleSimulation"]
        ),
        .testTarget(
            name: "DaemonConfigurationTests",
            dependencies: ["ConcurrencySupport", "DaemonConfiguration", "Processes", "Supervision", "TestSupport", "WireProtocol"]
        ),
        // All that reads what others have written, of all targets.
        .testTarget(
            name: "DecoderTests",
            dependencies: [
                "ConcurrencySupport", "Control", "CoordinatorDaemon", "Coordinators", "CoordinatorsCluster", "DaemonConfiguration", "Flows",
                "Migration", "NNG", "Ownership", "Placement", "Processes", "Supervisord", "TestSupport", "WireProtocol",
            ]
        ),
        .testTarget(
            name: "MigrationTests",
            dependencies: [
                "DaemonConfiguration", "Migration", "Processes", "Supervision", "TestSupport", "WireProtocol", "coordinatorctl",
                "coordinatord",
            ]
        ),
        .testTarget(name: "SupervisordTests", dependencies: ["Control", "Supervisord"]),
        .testTarget(
            name: "ControlTests",
            dependencies: [
                "ConcurrencySupport", "Control", "NNG", "Processes", "TestSupport", "WireProtocol", "coordinatorctl", "coordinatord",
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// Set by `Deploy/test`: a warning is an error there, and no reason for a user's build to fail. Nor is a file that doesn't import what it uses: where a
// module isn't compiled as a whole, it depends on the order of its files whether the compiler finds the members of `timespec` in Glibc (Swift 6.3.1).
let strictness: [SwiftSetting] =
    Context.environment["COORDINATORS_STRICT"] == nil
    ? []
    : [
        .treatAllWarnings(as: .error),
        // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
        .enableUpcomingFeature("MemberImportVisibility"),
    ]

// Set by `Deploy/test --sanitize`, for locks that the thread sanitizer knows, and for the time limits of tests.
let sanitized: [SwiftSetting] =
    Context.environment["COORDINATORS_SANITIZE"].map { [.define("COORDINATORS_SANITIZE_\($0.uppercased())")] } ?? []

// Set by `Deploy/test --all`, which also runs the tests of messages without the shortcuts: the files in `FastPaths` are left out then, so that what
// mentions them anywhere but in a hook (`#if !SLOW_PATH_ONLY`) doesn't compile. Only these tests are built, and what measures messages; with `all`,
// as `--long` sets it, all tests.
let slowPathOnly = Context.environment["COORDINATORS_SLOW_PATH_ONLY"]
let isSlowPathOnly = slowPathOnly != nil
let hooks: [SwiftSetting] = isSlowPathOnly ? [.define("SLOW_PATH_ONLY")] : []
if isSlowPathOnly {
    for target in package.targets where ["ConcurrencySupport", "Coordinators", "Links", "NNG"].contains(target.name) {
        target.exclude.append("FastPaths")
    }
}
if isSlowPathOnly, slowPathOnly != "all" {
    var needed: Set = ["CoordinatorsTests", "InstructionCounts", "LinksTests", "NNGTests", "OTPTests", "PatternTests"]
    while case let more = needed.union(package.targets.filter { needed.contains($0.name) }.flatMap(\.namesOfDependencies)), more != needed {
        needed = more
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products = [.library(name: "Coordinators", targets: ["Coordinators"])]
}

for target in package.targets where target.type != .system && !["CConsoleAssets", "CCurl", "CProcess"].contains(target.name) {
    target.swiftSettings =
        (target.swiftSettings ?? []) + strictness + sanitized + hooks + [
            // Async functions run where their caller runs: an ask must not leave the asker's actor before it is on its way.
            // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
            .enableUpcomingFeature("InternalImportsByDefault"),
            // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
            .enableUpcomingFeature("ExistentialAny"),
        ]
}

// Set by `Deploy/build`, which builds for size: what messages pass within a process, and programs of users, are built for speed. A package that
// others depend on may not say so.
if Context.environment["COORDINATORS_SHIPPED"] != nil {
    let shells: Set = [
        "Acknowledgement", "Control", "CoordinatorConsole", "CoordinatorDaemon", "CoordinatorsCluster", "CoordinatorsObservability",
        "DaemonConfiguration", "Flows", "Links", "Migration", "NNG", "Ownership", "Placement", "Processes", "Supervision", "Supervisord",
        "WorkerLifecycle",
        "coordinator-console", "coordinatorctl", "coordinatord",
    ]
    for target in package.targets where target.type != .system && !shells.contains(target.name) {
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-Xfrontend", "-O"])]
    }
}

// Set by `Deploy/test --all`, whose simulators take millions of steps: what they step through is optimized, in what is built for debugging otherwise.
if Context.environment["COORDINATORS_FAST_SIMULATIONS"] != nil {
    let simulated: Set = [
        "Acknowledgement", "AcknowledgementSimulation", "FlowSimulation", "Flows", "OTPOracle", "Ownership", "OwnershipSimulation",
        "SimulationSupport", "Supervision", "SupervisionSimulation", "WorkerLifecycle", "WorkerLifecycleSimulation",
    ]
    for target in package.targets where simulated.contains(target.name) {
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-O"])]
    }
}

// Set by `Tests/Fuzz/run`, whose package can depend on products alone.
if Context.environment["COORDINATORS_FUZZ"] != nil {
    let fuzzed = ["Control", "CoordinatorsCluster", "DaemonConfiguration", "Ownership", "Placement", "WireProtocol"]
    package.products.append(.library(name: "Fuzzed", targets: fuzzed))
}
