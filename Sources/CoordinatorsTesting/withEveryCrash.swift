package import ConcurrencySupport
public import Coordinators
package import Flows

/// Repeats a test of durable flows, and ends the life of the flow that makes a commit: before and after the first one, the second, and so on until
/// there are no more.
///
///     try await withEveryCrash { store in
///         let services = FakeServices()
///         try await withRuntime(Shop.self, dependencies: { ($0.flows, $0.services) = (store, services) }) { runtime in
///             _ = try await runtime.ask(Shop.Buy(book), at: "/")
///         }
///         #expect(services.charges == 1)
///     }
///
/// The coordinator fails then, and its parent restarts it; whoever waits for the change gets `peerLost`. All else goes on: the store stays open, and
/// others live. The first run has no crash.
///
/// - Parameters:
///   - makeStore: A function that makes the store of a run; by default one in memory.
///   - body: The test, which gets the store.
/// - Returns: The number of runs.
/// - Throws: The error of a run, and at which commit its crash was.
@discardableResult
public func withEveryCrash(
    of makeStore: () async throws -> FlowStore = { .inMemory() },
    _ body: (FlowStore) async throws -> Void
) async throws -> Int {
    let count = try await run(nil, makeStore, body)
    var runs = 1
    guard count > 0 else { return runs }
    // A crash may lead to further commits, of which each run has as many as it has.
    for number in 1...count {
        for point in [CrashPoint.before, .after] {
            _ = try await run((number, point), makeStore, body)
            runs += 1
        }
    }
    return runs
}

/// A test with a crash that has failed.
public struct CrashError: Error, CustomStringConvertible {
    /// The number of the commit, counted from 1.
    public let commit: Int
    /// Whether the commit was on disk.
    public let isOnDisk: Bool
    /// The error of the test.
    public let cause: any Error

    /// The crash and the error.
    public var description: String { "with a crash \(isOnDisk ? "after" : "before") commit \(commit): \(cause)" }
}

private enum CrashPoint { case before, after }

/// - Returns: The number of commits.
private func run(
    _ crash: (number: Int, point: CrashPoint)?,
    _ makeStore: () async throws -> FlowStore,
    _ body: (FlowStore) async throws -> Void
) async throws -> Int {
    let commits = Lock(0)
    let storage = InterceptedFlowStorage(try await makeStore().storage) { storage, row, writes, keepsPlace in
        let number = commits.withLock { commits in
            commits += 1
            return commits
        }
        let point = number == crash?.number ? crash?.point : nil
        if point != .before { try await storage.commit(row, writes, keepsPlace: keepsPlace) }
        if let point { throw CoordinatorError(.peerLost, "a crash \(point) commit \(number), by a test", maybeExecuted: true) }
    }
    do {
        try await body(FlowStore(storage))
    } catch {
        guard let crash else { throw error }
        throw CrashError(commit: crash.number, isOnDisk: crash.point == .after, cause: error)
    }
    return commits.withLock { $0 }
}

/// A store whose commits a test makes, and which is as another one otherwise.
package final class InterceptedFlowStorage: FlowStorage {
    package typealias Commit = @Sendable (any FlowStorage, FlowRow, _ writes: [any Sendable], _ keepsPlace: Bool) async throws -> Void
    package typealias Summary = @Sendable (_ storage: any FlowStorage, WallTime) async throws -> FlowSummary

    private let storage: any FlowStorage
    private let commit: Commit
    private let summary: Summary

    package var isLocal: Bool { storage.isLocal }

    package init(
        _ storage: any FlowStorage,
        commit: @escaping Commit,
        summary: @escaping Summary = { try await $0.summary(at: $1) }
    ) {
        (self.storage, self.commit, self.summary) = (storage, commit, summary)
    }

    package func commit(_ row: FlowRow, _ writes: [any Sendable], keepsPlace: Bool) async throws {
        try await commit(storage, row, writes, keepsPlace)
    }

    package func open() async throws -> FlowOpening { try await storage.open() }
    package func note(_ note: [UInt8]?) async throws { try await storage.note(note) }
    package func row(of key: String) async throws -> FlowRow? { try await storage.row(of: key) }
    package func forget(before time: WallTime) async throws { try await storage.forget(before: time) }
    package func due(by time: WallTime) async throws -> [String] { try await storage.due(by: time) }
    package func nextDue(after time: WallTime) async throws -> WallTime? { try await storage.nextDue(after: time) }
    package func rows(_ query: FlowQuery) async throws -> [FlowRow] { try await storage.rows(query) }
    package func summary(at time: WallTime) async throws -> FlowSummary { try await summary(storage, time) }
    package func close() -> OneShot<Void> { storage.close() }
}
