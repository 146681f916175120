import CoordinatorsCluster
import Testing

extension StoreConformance {
    /// What a failed owner leaves for the leader, in one change with the end of its ownership.
    @Suite struct ReleaseTests {
        private let note: [UInt8] = Array("failed".utf8)

        @Test(arguments: StoreKind.allCases)
        func aNoteGoesWithTheRelease(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                let since = try await store.put([1], for: .assignment("/shop"), guardedBy: .unchanged(since: nil), until: soon)
                let epoch = try await store.owned("/shop", by: alpha)
                try await store.release("/shop", epoch: epoch, leaving: (note, since), until: soon)
                let entries = try await store.list(.everything, until: soon).entries
                #expect(!entries.contains { $0.key == .owner("/shop") })
                #expect(entries.first { $0.key == .assignment("/shop") }?.value == note)
            }
        }

        /// The leader has decided otherwise meanwhile: that stays, and the path is given up all the same.
        @Test(arguments: StoreKind.allCases)
        func aLaterAssignmentStays(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                let since = try await store.put([1], for: .assignment("/shop"), guardedBy: .unchanged(since: nil), until: soon)
                let epoch = try await store.owned("/shop", by: alpha)
                try await store.put([2], for: .assignment("/shop"), guardedBy: .unchanged(since: since), until: soon)
                try await store.release("/shop", epoch: epoch, leaving: (note, since), until: soon)
                let entries = try await store.list(.everything, until: soon).entries
                #expect(!entries.contains { $0.key == .owner("/shop") })
                #expect(entries.first { $0.key == .assignment("/shop") }?.value == [2])
            }
        }

        /// Only the leader of the epoch assigns, and only what it has seen.
        @Test(arguments: StoreKind.allCases)
        func anAssignmentIsTheLeadersAndAsItWasSeen(_ kind: StoreKind) async throws {
            try await kind.with { store in
                let alpha = try await store.joined("alpha")
                guard case .granted(let epoch) = try await store.elect(alpha.node.owner, with: alpha.lease, until: soon) else {
                    Issue.record("the only node isn't elected")
                    return
                }
                let key = StoreKey.assignment("/shop")
                let first = try await store.put([1], for: key, guardedBy: .placement(by: epoch, since: nil), until: soon)
                let blind = await failure {
                    try await store.put([2], for: key, guardedBy: .placement(by: epoch, since: nil), until: soon)
                }
                #expect(blind?.code == .conflict)
                try await store.resign(epoch: epoch, until: soon)
                let late = await failure {
                    try await store.put([2], for: key, guardedBy: .placement(by: epoch, since: first), until: soon)
                }
                #expect(late?.code == .fenced)
            }
        }
    }
}
