import ConcurrencySupport
public import Coordinators

/// Runs a tree of coordinators while a test's body runs, and stops the tree in any case.
///
///     try await withRuntime(AppCoordinator.self, dependencies: { $0.accounts = FakeAccounts() }, workers: .inProcess) { runtime in
///         let count = try await runtime.ask(Cart.Add(sku: "apple"), at: "/catalog")
///         #expect(count == 1)
///     }
///
/// - Parameters:
///   - root: The type of the tree's root.
///   - options: The runtime's options.
///   - configure: A function that changes the root's default configuration.
///   - dependencies: A function that sets dependencies, which override those of the tree in every coordinator of this process.
///   - workers: The way in which children run that are placed in workers; `nil`: as the options say, or in this process if the time is the
///     test's.
///   - time: The time that the tree lives by, if the test moves it; `nil`: real time.
///   - probe: A probe in the place of all ancestors: the root is then its child, at the path `CoordinatorPath.subject`.
///   - standIns: Probes in the places of children.
///   - body: The test, which gets the running tree. At its end all faults are undone that it has caused.
/// - Throws: The error of the root's start, or of the body; `unsupported` for a manual time together with real workers.
public func withRuntime<Root: Coordinator, Result>(
    _ root: Root.Type,
    options: CoordinatorRuntime.Options = .init(),
    configure: (inout Root.Configuration) -> Void = { _ in },
    dependencies: (inout Dependencies) -> Void = { _ in },
    workers: TestWorkers? = nil,
    time: ManualTime? = nil,
    under probe: Probe? = nil,
    standIns: [StandIn] = [],
    _ body: (CoordinatorRuntime) async throws -> Result
) async throws -> Result where Root.Configuration: CoordinatorConfiguration {
    var configuration = Root.Configuration()
    configure(&configuration)
    return try await withRuntime(
        root,
        configuration: configuration,
        options: options,
        dependencies: dependencies,
        workers: workers,
        time: time,
        under: probe,
        standIns: standIns,
        body
    )
}

/// Runs a tree of coordinators whose root's configuration has no defaults; see the other form.
public func withRuntime<Root: Coordinator, Result>(
    _ root: Root.Type,
    configuration: Root.Configuration,
    options: CoordinatorRuntime.Options = .init(),
    dependencies: (inout Dependencies) -> Void = { _ in },
    workers: TestWorkers? = nil,
    time: ManualTime? = nil,
    under probe: Probe? = nil,
    standIns: [StandIn] = [],
    _ body: (CoordinatorRuntime) async throws -> Result
) async throws -> Result {
    var options = options
    dependencies(&options.dependencyOverrides)
    try workers?.apply(to: &options)
    if let time { try time.apply(to: &options, workers) }
    if probe != nil || !standIns.isEmpty {
        let probes = Probes(above: probe, standIns: Dictionary(standIns.map { ($0.name, $0.probe) }) { _, last in last })
        options.dependencyOverrides.coordinatorsTestingProbes = probes
        options.standIns = probes.standIns.mapValues { _ in StandInCoordinator.self }
    }
    let runtime =
        probe == nil
        ? CoordinatorRuntime(root, configuration: configuration, options: options)
        : CoordinatorRuntime(ProbeRoot<Root>.self, configuration: configuration, options: options)
    guard let time else { return try await perform(body, with: runtime) }
    return try await withTaskExecutorPreference(time.virtual) {
        // The task goes on by the executor after its next suspension.
        await Task.yield()
        return try await perform(body, with: runtime, by: time)
    }
}

private func perform<Result>(
    _ body: (CoordinatorRuntime) async throws -> Result,
    with runtime: CoordinatorRuntime,
    by time: ManualTime? = nil
) async throws -> Result {
    try await runtime.start()
    let faults = Faults()
    do {
        let result = try await Faults.$current.withValue(faults) { try await body(runtime) }
        await end(runtime, faults, time)
        return result
    } catch {
        await end(runtime, faults, time)
        throw error
    }
}

private func end(_ runtime: CoordinatorRuntime, _ faults: Faults, _ time: ManualTime?) async {
    faults.undo()
    // The graces of the end pass by themselves.
    time?.virtual.letPass(true)
    await runtime.stop()
    time?.virtual.letPass(false)
}

extension ManualTime {
    fileprivate func apply(to options: inout CoordinatorRuntime.Options, _ workers: TestWorkers?) throws(CoordinatorError) {
        if case .built(let name) = workers?.kind {
            throw CoordinatorError(
                .unsupported,
                "a manual time drives one process, and the workers built as '\(name)' would live by the clock: "
                    + "use `workers: .inProcess` or `.encoded`, or test these workers in real time"
            )
        }
        options.runsInOneProcess = true
        options.time = TimeSource(virtual: virtual)
    }
}
