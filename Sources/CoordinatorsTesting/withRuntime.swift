public import Coordinators

/// Runs a tree of coordinators while a test's body runs, and stops the tree in any case.
///
///     try await withRuntime(AppCoordinator.self, dependencies: { $0.accounts = FakeAccounts() }, inOneProcess: true) { runtime in
///         let count = try await runtime.ask(Cart.Add(sku: "apple"), at: "/catalog")
///         #expect(count == 1)
///     }
///
/// - Parameters:
///   - root: the type of the tree's root.
///   - options: the runtime's options.
///   - configure: changes the root's default configuration.
///   - dependencies: sets dependencies that override those of the tree in every coordinator of this process.
///   - inOneProcess: whether children that are placed in workers run in this process instead, so that the test needs no other program.
///   - body: the test, which gets the running tree.
/// - Throws: the error of the root's start, or of the body.
public func withRuntime<Root: Coordinator, Result>(
    _ root: Root.Type,
    options: CoordinatorRuntime.Options = .init(),
    configure: (inout Root.Configuration) -> Void = { _ in },
    dependencies: (inout Dependencies) -> Void = { _ in },
    inOneProcess: Bool? = nil,
    _ body: (CoordinatorRuntime) async throws -> Result
) async throws -> Result where Root.Configuration: CoordinatorConfiguration {
    var options = options
    dependencies(&options.dependencyOverrides)
    if let inOneProcess { options.runsInOneProcess = inOneProcess }
    let runtime = CoordinatorRuntime(root, options: options, configure: configure)
    try await runtime.start()
    do {
        let result = try await body(runtime)
        await runtime.stop()
        return result
    } catch {
        await runtime.stop()
        throw error
    }
}
