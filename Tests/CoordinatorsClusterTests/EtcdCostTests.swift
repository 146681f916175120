import ConcurrencySupport
import CoordinatorsCluster
import TestSupport
import Testing

/// What a node costs etcd, and what a claim costs a node.
@Suite(.sharedEtcd) struct EtcdCostTests {
    @Test func anIdleNodeSendsAtMostOneRequestASecond() async throws {
        try await EtcdMembers.shared.withStore { store in
            let node = try NodeRecord.test("alpha")
            var renewal = try await store.join(node, timeToLive: .seconds(5), until: soon)
            let revision = try await store.list(.everything, until: soon).revision
            let watching = Task { for await _ in store.watch(.everything, after: revision) {} }
            defer { watching.cancel() }
            let (before, began) = (store.requestCount, ContinuousClock.now)
            while ContinuousClock.now < began + .seconds(rounds(short: 5, all: 15, long: 15)) {
                try await realTime(renewal.timeToLive / 3, because: "etcd counts the lease's time")
                renewal = try await store.renew(renewal.lease, until: renewal.end)
            }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            let rate = Double(store.requestCount - before) / seconds
            print("an idle node sends \(rate) requests a second")
            #expect(rate <= 1)
            // Renewals alone are three in five seconds.
            #expect(rate >= 0.4)
        }
    }

    @Test func claimsTakeMilliseconds() async throws {
        try await EtcdMembers.shared.withStore { store in
            let alpha = try await store.joined("alpha")
            var times: [Duration] = []
            for number in 1...200 {
                let began = MachineClock.now
                _ = try await store.owned("/\(number)", by: alpha)
                times.append(MachineClock.now - began)
            }
            times.sort()
            print("claims: p50 \(times[100]), p99 \(times[198]), worst \(times[199])")
            #expect(times[100] < .milliseconds(500))
        }
    }
}
