public import Coordinators

/// Runs a tree of coordinators for the length of a test, and ends it whatever happens.
///
///     try await withRuntime(AppCoordinator.self) { runtime in
///         let count = try await runtime.ask(Cart.Add(sku: "apple"), at: "/catalog")
///         #expect(count == 1)
///     }
///
/// - Throws: what the root's start threw, or the body.
public func withRuntime<Root: Coordinator, Result>(
    _ root: Root.Type,
    options: CoordinatorRuntime.Options = .init(),
    configure: (inout Root.Configuration) -> Void = { _ in },
    _ body: (CoordinatorRuntime) async throws -> Result
) async throws -> Result where Root.Configuration: CoordinatorConfiguration {
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
