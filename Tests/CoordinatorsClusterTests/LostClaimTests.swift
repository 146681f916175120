import CoordinatorsCluster
import Logging
import Ownership
import TestSupport
import Testing

/// A node whose claim is carried out, and not answered.
@Suite struct LostClaimTests {
    private struct Host: SubtreeHost {
        func start(_ path: String, epoch: Epoch) async throws { Issue.record("\(path) starts, and its claim wasn't answered") }
        func fence(_ path: String, epoch: Epoch) {}
        func stop(_ path: String, drains: Bool) async {}
    }

    @Test func aKeyIsGivenBackWhenItsAssignmentGoesBeforeTheNextTry() async throws {
        let store = ForgetfulStore(try LocalStore(epochs: nil))
        store.loseAnswers(of: .owner("/shop"))
        let record = try NodeRecord.test("alpha")
        let options = ClusterNode.Options(
            record: record,
            // So long that the key doesn't go with the lease.
            terms: LeaseTerms(timeToLive: .seconds(20)),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let node = ClusterNode(store, host: Host(), options: options)
        let running = Task { await node.run() }
        defer { running.cancel() }
        await node.publish(["/shop": PlacementConstraints()])
        var holder: Owner?
        try await eventually("the key is made") {
            holder = try await store.resolve("/shop", until: soon)
            return holder != nil
        }
        let lease = try #require(holder?.lease)
        await node.publish(["/shop": nil])
        try await eventually("the key is given back") { try await store.resolve("/shop", until: soon) == nil }
        #expect(try await store.entry(.node(record.name))?.lease == lease, "the key has gone with the lease")
    }
}
