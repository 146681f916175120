public import Processes

/// Runs a child as long as the body, and ends it whatever happens.
public func withChild<Result>(
    of spawner: ProcessSpawner = .shared,
    _ specification: ProcessSpecification,
    _ body: (ChildProcess) async throws -> Result
) async throws -> Result {
    let child = try await spawner.spawn(specification)
    do {
        let result = try await body(child)
        _ = await child.terminate(grace: .zero)
        return result
    } catch {
        _ = await child.terminate(grace: .zero)
        throw error
    }
}
