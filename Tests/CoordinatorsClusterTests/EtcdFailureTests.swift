import ConcurrencySupport
import CoordinatorsCluster
import Processes
import TestSupport
import Testing

/// Members of etcd that don't answer, end, or have no majority.
@Suite struct EtcdFailureTests {
    @Test func aWatchAndClaimsGoOnWithTheOtherMembers() async throws {
        try await EtcdMembers.with(3) { etcd in
            var leader = try await etcd.leader()
            // The member that is used first is the one that fails first.
            let first = etcd.members[leader].endpoint
            let endpoints = [first] + etcd.endpoints.filter { $0 != first }
            try await etcd.withStore(changed: { $0.endpoints = endpoints }) { store in
                let alpha = try await store.joined("alpha")
                let revision = try await store.list(.everything, until: soon).revision
                let seen = Lock<[StoreChange]>([])
                let watching = Task {
                    for await event in store.watch(.folder(.owners), after: revision) {
                        if case .changed(let changes) = event { seen.withLock { $0 += changes } }
                    }
                }
                defer { watching.cancel() }
                var epochs = [try await store.owned("/0", by: alpha)]
                try await eventually("the claim is seen") { seen.withLock { $0.count } == 1 }

                // It's stopped: connections stay, and nothing comes.
                try await stopProcess(etcd.members[leader].process)
                let stopped = ContinuousClock.now
                epochs.append(try await store.owned("/1", by: alpha))
                print("claim with the leader stopped: \(ContinuousClock.now - stopped)")
                try await eventually("the claim is seen") { seen.withLock { $0.count } == 2 }
                try etcd.members[leader].process.send(.continue)

                // It's killed.
                leader = try await etcd.leader()
                let killed = ContinuousClock.now
                _ = await etcd.members[leader].process.terminate(grace: .zero)
                epochs.append(try await store.owned("/2", by: alpha))
                print("claim with the leader killed: \(ContinuousClock.now - killed)")
                _ = try await store.renew(alpha.lease, until: soon)
                try await eventually("the claim is seen") { seen.withLock { $0.count } == 3 }

                #expect(epochs == epochs.sorted())
                #expect(seen.withLock { $0.compactMap(\.entry).map { Owner($0).epoch } } == epochs)
                #expect(seen.withLock { $0.map(\.key) } == [.owner("/0"), .owner("/1"), .owner("/2")])
            }
        }
    }

    @Test("A watch is outdated when the store's revision has gone back, as after a restore", .timeLimit(minutes: 1))
    func restored() async throws {
        let place = try EtcdMembers.Place(1)
        let options = EtcdOptions(endpoints: ["http://127.0.0.1:\(place.ports[0])"], cluster: "restored")
        let store = try EtcdStore(options)
        var revision = StoreRevision(rawValue: 0)
        try await EtcdMembers.with(1, at: place) { etcd in
            for number in 0..<5 { try await etcd.etcdctl("put", "other", "\(number)") }
            revision = try await store.list(.everything, until: soon).revision
            #expect(revision.rawValue > 5)
        }
        let events = Lock<[StoreEvent]>([])
        let watching = Task { [revision] in
            for await event in store.watch(.everything, after: revision) { events.withLock { $0.append(event) } }
        }
        Files.remove(place.directory.file("m0"))
        try await EtcdMembers.with(1, at: place) { _ in await watching.value }
        #expect(events.withLock { $0.count { if case .outdated = $0 { true } else { false } } } == 1)
        await store.close()
    }

    @Test func aMemberWithoutMajoritySaysSoAtOnce() async throws {
        try await EtcdMembers.with(3) { etcd in
            try await etcd.withStore(changed: { $0.endpoints = [etcd.endpoints[0]] }) { store in
                let alpha = try await store.joined("alpha")
                for member in etcd.members[1...] { try await stopProcess(member.process) }
                // It takes the member up to two of its election timeouts to know that it's alone.
                try await eventually("the member has no leader") {
                    let began = ContinuousClock.now
                    do throws(StoreError) {
                        _ = try await store.renew(alpha.lease, until: began + .milliseconds(700))
                        return false
                    } catch {
                        return error.message.contains("no leader") && !error.mayHaveHappened
                    }
                }
                for member in etcd.members[1...] { try member.process.send(.continue) }
                _ = try await store.renew(alpha.lease, until: soon)
            }
        }
    }

    @Test func withoutAnyMemberACallEndsAtItsDeadline() async throws {
        let ports = try HeldPorts(2)
        let store = try EtcdStore(EtcdOptions(endpoints: ports.numbers.map { "http://127.0.0.1:\($0)" }, cluster: "none"))
        let began = ContinuousClock.now
        let error = await failure { _ = try await store.joined("alpha", until: began + .seconds(2)) }
        #expect(error?.code == .unavailable)
        #expect(error?.mayHaveHappened == false, "\(error.map { "\($0)" } ?? "")")
        #expect(ContinuousClock.now - began >= .seconds(2))
        await store.close()
        withExtendedLifetime(ports) {}
    }

    /// As of a proxy whose member is gone, or of another server.
    @Test(arguments: ["503 Service Unavailable", "200 OK"])
    func anEndpointThatIsNotEtcdIsLeftForTheNextOne(_ status: String) async throws {
        let strange = try ScriptedPeer { connection in
            while connection.request() != nil { connection.answer("<html>It isn't here.</html>", status: status) }
        }
        let member = try ScriptedPeer { connection in
            while connection.request() != nil { connection.answer(#"{"header":{"revision":"1"}}"#) }
        }
        let endpoints = [strange, member].map { "http://127.0.0.1:\($0.port)" }
        let store = try EtcdStore(EtcdOptions(endpoints: endpoints, cluster: "a"))
        #expect(await failure { _ = try await store.list(.everything, until: soon) }?.code == .unintelligible)
        #expect(try await store.list(.everything, until: soon).entries.isEmpty)
        await store.close()
        withExtendedLifetime([strange, member]) {}
    }

    @Test func aWatchEndsWithItsStore() async throws {
        try await EtcdMembers.with(1) { etcd in
            try await etcd.withStore { store in
                let revision = try await store.list(.everything, until: soon).revision
                let watching = Task { for await _ in store.watch(.everything, after: revision) {} }
                try await eventually("the watch has begun") { store.requestCount > 1 }
                await store.close()
                await watching.value
            }
            // A store that is forgotten closes its connections too.
            _ = try await EtcdStore(EtcdOptions(endpoints: etcd.endpoints, cluster: "a")).list(.everything, until: soon)
        }
    }

    @Test(arguments: ["", "localhost:2379", "ftp://a", "http://", "http://a/v3"])
    func anEndpointThatIsNoneIsRefused(_ endpoint: String) async {
        #expect(await failure { _ = try EtcdStore(EtcdOptions(endpoints: [endpoint], cluster: "a")) }?.code == .unusable)
    }
}

extension ClusterStore {
    fileprivate func joined(_ name: String, until deadline: ContinuousClock.Instant) async throws -> LeaseRenewal {
        try await join(.test(name), timeToLive: .seconds(60), until: deadline)
    }
}

extension EtcdMembers {
    /// The index of the member that leads.
    func leader() async throws -> Int {
        var found: Int?
        try await eventually("the members have a leader") {
            for (index, member) in members.enumerated() {
                // Address, number, version, size, whether it leads, …
                let fields = try? await etcdctl(at: member.endpoint, "endpoint", "status").split(separator: ",")
                if let fields, fields.count > 4, fields[4].contains("true") { found = index }
            }
            return found != nil
        }
        return try #require(found)
    }
}
