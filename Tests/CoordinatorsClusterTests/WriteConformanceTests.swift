import CoordinatorsCluster
import Testing

/// What holds of every store.
@Suite(.sharedEtcd) struct StoreConformance {
    /// Guarded writes, and watches.
    @Suite struct WriteTests {
        @Test(arguments: StoreKind.allCases)
        func anOwnerWritesUntilItsEpochIsOver(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                let beta = try await store.joined("beta")
                let key = StoreKey.checkpoint("/shop")
                let first = try await store.owned("/shop", by: alpha)
                func write(_ value: [UInt8]?, _ epoch: Epoch) async throws -> StoreRevision {
                    try await store.put(value, for: key, guardedBy: .owner(of: "/shop", epoch: epoch), until: soon)
                }
                let one = try await write([1, 0, 255], first)
                #expect(try await store.entry(key)?.value == [1, 0, 255])
                #expect(try await write([], first) > one)
                #expect(try await store.entry(key)?.value == [])

                try await store.release("/shop", epoch: first, until: soon)
                #expect(await failure { _ = try await write([2], first) }?.code == .fenced)
                let second = try await store.owned("/shop", by: beta)
                #expect(await failure { _ = try await write([2], first) }?.code == .fenced)
                #expect(try await store.entry(key)?.value == [])
                _ = try await write([3], second)
                #expect(await failure { _ = try await write(nil, first) }?.code == .fenced)
                #expect(try await store.entry(key)?.value == [3])
                // What an owner leaves stays when its node has left.
                try await store.leave(beta.lease, until: soon)
                #expect(try await store.entry(key)?.value == [3])
            }
        }

        @Test(arguments: StoreKind.allCases)
        func anOwnerChangesItsRecordUnderTheSameEpoch(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                let epoch = try await store.owned("/shop", by: alpha)
                var record = alpha.node.owner
                record.incarnation = 7
                try await store.put(record.json, for: .owner("/shop"), guardedBy: .owner(of: "/shop", epoch: epoch), until: soon)
                let owner = try await store.resolve("/shop", until: soon)
                #expect(owner == Owner(epoch: epoch, lease: alpha.lease.id, record: record))
            }
        }

        @Test(arguments: StoreKind.allCases)
        func theLeaderAloneAssigns(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                guard case .granted(let epoch) = try await store.elect(alpha.node.owner, with: alpha.lease, until: soon) else { return }
                let key = StoreKey.assignment("/shop")
                try await store.put([1], for: key, guardedBy: .leader(epoch: epoch), until: soon)
                try await store.put([2], for: key, guardedBy: .leader(epoch: epoch), until: soon)
                try await store.resign(epoch: epoch, until: soon)
                let error = await failure { try await store.put([3], for: key, guardedBy: .leader(epoch: epoch), until: soon) }
                #expect(error?.code == .fenced)
                #expect(try await store.entry(key)?.value == [2])
            }
        }

        @Test(arguments: StoreKind.allCases)
        func aKeyThatWasChangedMeanwhileIsLeftAlone(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let key = StoreKey.desired("/shop")
                let first = try await store.put([1], for: key, guardedBy: .unchanged(since: nil), until: soon)
                let second = try await store.put([2], for: key, guardedBy: .unchanged(since: first), until: soon)
                for stale in [nil, first] {
                    let error = await failure { try await store.put([3], for: key, guardedBy: .unchanged(since: stale), until: soon) }
                    #expect(error?.code == .conflict)
                }
                #expect(try await store.entry(key)?.modified == second)
                try await store.put(nil, for: key, guardedBy: .unchanged(since: second), until: soon)
                #expect(try await store.entry(key) == nil)
            }
        }

        @Test(arguments: StoreKind.allCases)
        func aWatchMissesNothingAfterItsRevision(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let key = StoreKey.desired("/shop")
                let before = try await store.list(.everything, until: soon).revision
                var revision = try await store.put([0], for: key, guardedBy: .unchanged(since: nil), until: soon)
                var early = store.watch(.folder(.desired), after: before).makeAsyncIterator()
                var late = store.watch(.key(key), after: revision).makeAsyncIterator()
                var other = store.watch(.folder(.assignments), after: before).makeAsyncIterator()
                for number in UInt8(1)...20 {
                    revision = try await store.put([number], for: key, guardedBy: .unchanged(since: revision), until: soon)
                }
                try await store.put(nil, for: key, guardedBy: .unchanged(since: revision), until: soon)
                try await store.put([1], for: .assignment("/shop"), guardedBy: .unchanged(since: nil), until: soon)

                let all = await early.changes(22)
                #expect(all.map(\.entry?.value) == (0...20).map { [UInt8($0)] } + [nil])
                #expect(all.map(\.revision) == all.map(\.revision).sorted())
                #expect(Set(all.map(\.revision)).count == all.count)
                #expect(await late.changes(21) == Array(all.dropFirst()))
                #expect(await other.changes(1).map(\.key) == [.assignment("/shop")])
            }
        }

        @Test(arguments: StoreKind.allCases)
        func aFolderIsListedWithoutTheOthers(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let keys: [StoreKey] = [
                    .assignment("/a"), .checkpoint("/a"), .desired("/a"), .desired("/a/b"), .desired("/ä b"), .desired("/a0"),
                ]
                for key in keys { try await store.put(Array("x".utf8), for: key, guardedBy: .unchanged(since: nil), until: soon) }
                #expect(Set(try await store.list(.everything, until: soon).entries.map(\.key)) == Set(keys))
                let desired = try await store.list(.folder(.desired), until: soon).entries.map(\.key)
                #expect(Set(desired) == Set(keys.filter { $0.folder == .desired }))
                #expect(try await store.list(.key(.desired("/a")), until: soon).entries.map(\.key) == [.desired("/a")])
            }
        }
    }
}
