public import Coordinators

/// Runs a tree of coordinators for the length of a test, and ends it whatever happens.
///
///     try await withRuntime(AppCoordinator.self, dependencies: { $0.accounts = FakeAccounts() }, inOneProcess: true) { runtime in
///         let count = try await runtime.ask(Cart.Add(sku: "apple"), at: "/catalog")
///         #expect(count == 1)
///     }
///
/// - Parameters:
///   - dependencies: what every coordinator of this process gets, whatever the tree provides.
///   - inOneProcess: whether children that are placed in workers live in this process instead, so that the test needs no other program.
/// - Throws: what the root's start threw, or the body.
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
