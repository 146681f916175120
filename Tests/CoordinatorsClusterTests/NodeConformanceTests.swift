import ConcurrencySupport
import CoordinatorsCluster
import TestSupport
import Testing

extension StoreConformance {
    /// Nodes, their leases, and what hangs on these.
    @Suite struct NodeTests {
        @Test(arguments: StoreKind.allCases)
        func aNodeIsListedAsLongAsItStays(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let node = try NodeRecord.test("alpha")
                let renewal = try await store.join(node, timeToLive: .seconds(60), until: soon)
                #expect(renewal.timeToLive >= .seconds(60))
                let entries = try await store.list(.folder(.nodes), until: soon).entries
                #expect(entries.map(\.key) == [.node(node.name)])
                #expect(entries.first?.lease == renewal.lease.id)
                #expect(entries.first.flatMap { NodeRecord(json: $0.value) } == node)

                try await store.leave(renewal.lease, until: soon)
                #expect(try await store.list(.everything, until: soon).entries.isEmpty)
                // A lease that has ended can be ended again.
                try await store.leave(renewal.lease, until: soon)
                _ = try await store.join(node, timeToLive: .seconds(60), until: soon)
            }
        }

        @Test(arguments: StoreKind.allCases)
        func aNameBelongsToOneNode(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let first = try await store.joined("alpha")
                let error = await failure { _ = try await store.join(.test("alpha"), timeToLive: .seconds(60), until: soon) }
                #expect(error?.code == .nameTaken)
                #expect(try await store.entry(.node(first.node.name))?.lease == first.lease.id)
                _ = try await store.joined("beta")
            }
        }

        @Test(arguments: StoreKind.allCases)
        func aLeaseThatHasEndedCannotBeRenewed(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                let lease = alpha.lease
                let before = ContinuousClock.now
                let renewal = try await store.renew(lease, until: soon)
                #expect(renewal.sentAt >= before && renewal.sentAt <= .now)
                #expect(renewal.lease == lease)
                try await store.leave(lease, until: soon)
                #expect(await failure { _ = try await store.renew(lease, until: soon) }?.code == .leaseLost)
                let claim = await failure { _ = try await store.claim("/shop", as: alpha.node.owner, with: lease, until: soon) }
                #expect(claim?.code == .leaseLost)
                #expect(try await store.resolve("/shop", until: soon) == nil)
            }
        }

        @Test(arguments: StoreKind.allCases)
        func allThatHangsOnALeaseGoesWithItAndNotBefore(_ kind: StoreKind) async throws {
            for _ in 0..<5 where try await isShown(kind) { return }
            Issue.record("the machine stood still for a lease's time, five times")
        }

        /// Shows it on a store of its own.
        ///
        /// - Returns: False when the machine stood still for so long that the lease wasn't renewed in time.
        private func isShown(_ kind: StoreKind) async throws -> Bool {
            var isInTime = true
            try await kind.with { store in
                let node = try NodeRecord.test("alpha")
                var renewal = try await store.join(node, timeToLive: kind.leaseTime, until: soon)
                let start = renewal.sentAt
                let other = try await store.joined("beta")
                _ = try await store.owned("/shop", by: Joined(node: node, lease: renewal.lease))
                let listing = try await store.list(.everything, until: soon)
                // As long as it's renewed it lives, far beyond its first time.
                while ContinuousClock.now < start + renewal.timeToLive * 2 {
                    try await realTime(renewal.timeToLive / 6, because: "the store counts the lease's time")
                    isInTime = ContinuousClock.now < renewal.end
                    if !isInTime { return }
                    renewal = try await store.renew(renewal.lease, until: renewal.end)
                }
                #expect(try await store.resolve("/shop", until: soon) != nil)

                var watch = store.watch(.everything, after: listing.revision).makeAsyncIterator()
                let changes = await watch.changes(2)
                #expect(ContinuousClock.now >= renewal.end, "the lease ended before its time")
                #expect(ContinuousClock.now < renewal.end + .seconds(10))
                #expect(Set(changes.map(\.key)) == [.node(node.name), .owner("/shop")])
                #expect(changes.allSatisfy { $0.entry == nil })
                #expect(try await store.list(.everything, until: soon).entries.map(\.key) == [.node(other.node.name)])
            }
            return isInTime
        }

        @Test(arguments: StoreKind.allCases)
        func aNodeChangesWhatItTellsOfItself(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let lease = try await store.joined("alpha").lease
                var node = try NodeRecord.test("alpha")
                node.isDraining = true
                let key = StoreKey.node(node.name)
                try await store.put(node.json, for: key, guardedBy: .node(lease), until: soon)
                let entry = try #require(try await store.entry(key))
                #expect(NodeRecord(json: entry.value) == node)
                #expect(entry.lease == lease.id, "the entry has lost its lease")
                try await store.leave(lease, until: soon)
                #expect(try await store.entry(key) == nil)

                _ = try await store.joined("alpha")
                let error = await failure { try await store.put(node.json, for: key, guardedBy: .node(lease), until: soon) }
                #expect(error?.code == .fenced)
            }
        }

        @Test(arguments: StoreKind.allCases)
        func aCallEndsWithItsDeadlineAndWithItsTask(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let lease = try await store.joined("alpha").lease
                let late = await failure { _ = try await store.renew(lease, until: .now) }
                #expect(late?.code == .timedOut)
                #expect(late?.mayHaveHappened == false)

                let call = Task {
                    await failure {
                        withUnsafeCurrentTask { $0?.cancel() }
                        _ = try await store.list(.everything, until: soon)
                    }
                }
                #expect(await call.value?.code == .cancelled)

                let revision = try await store.list(.everything, until: soon).revision
                let hasBegun = OneShot<Void>()
                let watch = Task {
                    var watch = store.watch(.everything, after: revision).makeAsyncIterator()
                    #expect(await watch.changes(1).count == 1)
                    hasBegun.settle()
                    return await watch.next() == nil
                }
                try await store.put([1], for: .desired("/a"), guardedBy: .unchanged(since: nil), until: soon)
                await hasBegun.value
                watch.cancel()
                #expect(await watch.value)
            }
        }
    }
}
