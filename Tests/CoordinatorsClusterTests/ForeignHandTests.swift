import CoordinatorsCluster
import Testing

/// Other programs that write into the cluster's keys.
@Suite(.sharedEtcd) struct ForeignHandTests {
    @Test func aDeletedOwnerIsFenced() async throws {
        try await EtcdMembers.shared.withStore { store in
            let alpha = try await store.joined("alpha")
            let beta = try await store.joined("beta")
            let epoch = try await store.owned("/shop", by: alpha)
            let revision = try await store.list(.everything, until: soon).revision
            try await EtcdMembers.shared.etcdctl("del", store.keys.prefix + "owners/shop")

            var watch = store.watch(.folder(.owners), after: revision).makeAsyncIterator()
            let change = await watch.changes(1).first
            #expect(change?.key == .owner("/shop") && change?.entry == nil)
            let write = await failure {
                try await store.put([1], for: .checkpoint("/shop"), guardedBy: .owner(of: "/shop", epoch: epoch), until: soon)
            }
            #expect(write?.code == .fenced)
            let second = try await store.owned("/shop", by: beta)
            #expect(second > epoch)
            #expect(try await store.release("/shop", epoch: epoch, until: soon) == false)
            #expect(try await store.resolve("/shop", until: soon)?.epoch == second)
        }
    }

    @Test func aNodeWhoseLeaseWasRevokedHasNothing() async throws {
        try await EtcdMembers.shared.withStore { store in
            let alpha = try await store.joined("alpha")
            let epoch = try await store.owned("/shop", by: alpha)
            try await EtcdMembers.shared.etcdctl("lease", "revoke", alpha.lease.id.description)
            let renewal = await failure { _ = try await store.renew(alpha.lease, until: soon) }
            #expect(renewal?.code == .leaseLost)
            #expect(try await store.list(.everything, until: soon).entries.isEmpty)
            let write = await failure {
                try await store.put([1], for: .checkpoint("/shop"), guardedBy: .owner(of: "/shop", epoch: epoch), until: soon)
            }
            #expect(write?.code == .fenced)
            let again = try await store.joined("alpha")
            #expect(try await store.owned("/shop", by: again) > epoch)
        }
    }

    @Test func anOwnerThatWasWrittenByHandIsAnOwner() async throws {
        try await EtcdMembers.shared.withStore { store in
            let alpha = try await store.joined("alpha")
            try await EtcdMembers.shared.etcdctl("put", store.keys.prefix + "owners/shop", "mine")
            guard case .held(let owner) = try await store.claim("/shop", as: alpha.node.owner, with: alpha.lease, until: soon) else {
                Issue.record("the path is owned")
                return
            }
            #expect(owner.record == nil && owner.lease == nil)
            // An operator who looks at the epoch can give the path free.
            #expect(try await store.release("/shop", epoch: owner.epoch, until: soon))
            #expect(try await store.owned("/shop", by: alpha) > owner.epoch)
        }
    }

    /// A key that is overwritten keeps its epoch, and loses its lease: the owner sees that it isn't its own any more.
    @Test func anOwnerThatWasOverwrittenIsSeen() async throws {
        try await EtcdMembers.shared.withStore { store in
            let alpha = try await store.joined("alpha")
            let epoch = try await store.owned("/shop", by: alpha)
            let revision = try await store.list(.everything, until: soon).revision
            try await EtcdMembers.shared.etcdctl("put", store.keys.prefix + "owners/shop", "mine")
            var watch = store.watch(.folder(.owners), after: revision).makeAsyncIterator()
            let entry = try #require(await watch.changes(1).first?.entry)
            #expect(Owner(entry) == Owner(epoch: epoch, lease: nil, record: nil))
            let outcome = try await store.claim("/shop", as: alpha.node.owner, with: alpha.lease, until: soon)
            #expect(outcome == .held(Owner(epoch: epoch, lease: nil, record: nil)))
        }
    }

    @Test func keysOfOthersAreLeftOut() async throws {
        try await EtcdMembers.shared.withStore { store in
            for key in ["other", "nodes/a/b", "nodesX", "owner/a"] {
                try await EtcdMembers.shared.etcdctl("put", store.keys.prefix + key, "x")
            }
            let listing = try await store.list(.everything, until: soon)
            #expect(listing.entries.isEmpty)
            try await EtcdMembers.shared.etcdctl("put", store.keys.prefix + "other", "y")
            try await store.put([1], for: .desired("/a"), guardedBy: .unchanged(since: nil), until: soon)
            var watch = store.watch(.everything, after: listing.revision).makeAsyncIterator()
            #expect(await watch.changes(1).map(\.key) == [.desired("/a")])
        }
    }

    @Test func aCompactionMakesAWatchListAgain() async throws {
        // An etcd of its own: a compaction is of all clusters.
        try await EtcdMembers.with(1) { etcd in
            try await etcd.withStore { store in try await compact(etcd, store) }
        }
    }

    /// An idle watch doesn't have etcd look through all that other programs have written, again and again.
    @Test func aWatchThatIsFarBehindListsAgain() async throws {
        try await EtcdMembers.shared.withStore {
            $0.watchLimit = .milliseconds(300)
            $0.mostLookedThrough = 3
        } _: { store in
            let alpha = try await store.joined("alpha")
            var watch = store.watch(.everything, after: try await store.list(.everything, until: soon).revision).makeAsyncIterator()
            for number in 0..<4 { try await EtcdMembers.shared.etcdctl("put", "\(store.keys.prefix.dropLast())-other", "\(number)") }
            // It has looked once, and doesn't look again.
            guard case .outdated = await watch.next() else {
                Issue.record("the watch goes on at its last own revision")
                return
            }
            // Where it lists, it goes on, and misses nothing.
            watch = store.watch(.everything, after: try await store.list(.everything, until: soon).revision).makeAsyncIterator()
            _ = try await store.owned("/shop", by: alpha)
            #expect(await watch.changes(1).map(\.key) == [.owner("/shop")])
        }
    }

    private func compact(_ etcd: EtcdMembers, _ store: EtcdStore) async throws {
        let first = try await store.list(.everything, until: soon).revision
        var last: StoreRevision?
        for number in UInt8(1)...5 {
            last = try await store.put([number], for: .desired("/a"), guardedBy: .unchanged(since: last), until: soon)
        }
        let revision = try #require(last)
        try await etcd.etcdctl("compact", revision.description)
        var watch = store.watch(.everything, after: first).makeAsyncIterator()
        guard case .outdated = await watch.next() else {
            Issue.record("changes are missing")
            return
        }
        #expect(await watch.next() == nil)
        #expect(try await store.list(.everything, until: soon).entries.map(\.value) == [[5]])
    }
}
