import CoordinatorsCluster
import Testing

extension StoreConformance {
    /// Owners, the leader, and their epochs.
    @Suite struct OwnerTests {
        @Test(arguments: StoreKind.allCases)
        func aPathHasOneOwner(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                let beta = try await store.joined("beta")
                #expect(try await store.resolve("/shop", until: soon) == nil)
                let epoch = try await store.owned("/shop", by: alpha)
                let owner = Owner(epoch: epoch, lease: alpha.lease.id, record: alpha.node.owner)
                #expect(try await store.resolve("/shop", until: soon) == owner)
                #expect(try await store.claim("/shop", as: beta.node.owner, with: beta.lease, until: soon) == .held(owner))
                // The same lease is granted what it has.
                #expect(try await store.owned("/shop", by: alpha) == epoch)
                #expect(try await store.owned("/shop/catalog", by: beta) > epoch)
            }
        }

        @Test(arguments: StoreKind.allCases)
        func aReleaseIsOfItsOwnEpochAlone(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                let beta = try await store.joined("beta")
                let first = try await store.owned("/shop", by: alpha)
                try await store.release("/shop", epoch: first, until: soon)
                let second = try await store.owned("/shop", by: beta)
                #expect(second > first)
                #expect(try await store.release("/shop", epoch: first, until: soon) == false)
                #expect(try await store.resolve("/shop", until: soon)?.epoch == second)
                // An epoch grows when the path changes its owner back, too.
                try await store.release("/shop", epoch: second, until: soon)
                #expect(try await store.owned("/shop", by: alpha) > second)
            }
        }

        @Test(arguments: StoreKind.allCases)
        func ofManyClaimsOneIsGranted(_ kind: StoreKind) async throws {
            try await kind.with { store in
                var nodes: [Joined] = []
                for number in 1...8 { nodes.append(try await store.joined("node-\(number)")) }
                for round in 1...3 {
                    let outcomes = try await withThrowingTaskGroup(of: ClaimOutcome.self) { group in
                        for node in nodes {
                            group.addTask { try await store.claim("/\(round)", as: node.node.owner, with: node.lease, until: soon) }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    let epochs = outcomes.compactMap { if case .granted(let epoch) = $0 { epoch } else { nil } }
                    #expect(epochs.count == 1)
                    let owner = try #require(try await store.resolve("/\(round)", until: soon))
                    #expect(epochs == [owner.epoch])
                    #expect(outcomes.count { $0 == .held(owner) } == nodes.count - 1)
                }
            }
        }

        @Test(arguments: StoreKind.allCases)
        func aClaimIsGoodForItsAssignmentAlone(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                let key = StoreKey.assignment("/shop")
                let first = try await store.put(Array("alpha".utf8), for: key, guardedBy: .unchanged(since: nil), until: soon)
                let second = try await store.put(Array("beta".utf8), for: key, guardedBy: .unchanged(since: first), until: soon)
                func claim(_ revision: StoreRevision) async throws -> ClaimOutcome {
                    try await store.claim("/shop", as: alpha.node.owner, with: alpha.lease, assigned: revision, until: soon)
                }
                #expect(try await claim(first) == .notAssigned)
                #expect(try await store.resolve("/shop", until: soon) == nil)
                guard case .granted = try await claim(second) else {
                    Issue.record("the assignment is the present one")
                    return
                }
            }
        }

        @Test(arguments: StoreKind.allCases)
        func theLoserOfAnElectionLeadsNext(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                let beta = try await store.joined("beta")
                guard case .granted(let first) = try await store.elect(alpha.node.owner, with: alpha.lease, until: soon) else {
                    Issue.record("there is no leader yet")
                    return
                }
                let outcome = try await store.elect(beta.node.owner, with: beta.lease, until: soon)
                #expect(outcome == .held(Owner(epoch: first, lease: alpha.lease.id, record: alpha.node.owner)))

                let listing = try await store.list(.key(.leader), until: soon)
                #expect(listing.entries.count == 1)
                let next = Task {
                    var watch = store.watch(.key(.leader), after: listing.revision).makeAsyncIterator()
                    let changes = await watch.changes(1)
                    #expect(changes.map(\.key) == [.leader] && changes.first?.entry == nil)
                    return try await store.elect(beta.node.owner, with: beta.lease, until: soon)
                }
                try await store.resign(epoch: first, until: soon)
                guard case .granted(let second) = try await next.value else {
                    Issue.record("the leader has resigned")
                    return
                }
                #expect(second > first)
                #expect(try await store.resign(epoch: first, until: soon) == false)
                // A leader that has left leads no more.
                try await store.leave(beta.lease, until: soon)
                #expect(try await store.entry(.leader) == nil)
            }
        }
    }
}
