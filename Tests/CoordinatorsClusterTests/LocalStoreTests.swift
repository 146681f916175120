import CoordinatorsCluster
import Glibc
import TestSupport
import Testing

/// What a local store has beyond the others.
@Suite struct LocalStoreTests {
    /// Opens a store whose former user may be about to close it.
    private func reopened(_ path: String) async throws -> LocalStore {
        var store: LocalStore?
        try await eventually("the file is free") {
            store = try? LocalStore(epochs: path)
            return store != nil
        }
        return try #require(store)
    }

    @Test func epochsGrowAcrossRestarts() async throws {
        try await withTemporaryDirectory { directory in
            var last = Epoch(rawValue: 0)
            for _ in 1...3 {
                let store = try await reopened(directory.file("epochs"))
                let node = try await store.joined("alpha")
                for number in 1...5 {
                    let epoch = try await store.owned("/\(number)", by: node)
                    #expect(epoch > last)
                    last = epoch
                }
            }
            #expect(directory.entries == ["epochs", "epochs.lock"])
        }
    }

    @Test func epochsGrowThroughThousandsOfChanges() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.file("epochs")
            var last = StoreRevision(rawValue: 0)
            do {
                let store = try LocalStore(epochs: path)
                for number in 1...2500 {
                    let value = Array(String(number).utf8)
                    let known = number == 1 ? nil : last
                    last = try await store.put(value, for: .desired("/a"), guardedBy: .unchanged(since: known), until: soon)
                }
            }
            let text = try #require(Files.text(of: path))
            let reserved = try #require(text.split(separator: "\n").last.flatMap { UInt64($0) })
            #expect(reserved >= last.rawValue)
            let next = try await reopened(path).put([1], for: .desired("/a"), guardedBy: .unchanged(since: nil), until: soon)
            #expect(next > last)
        }
    }

    @Test func aFileOfEpochsBelongsToOneStore() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.file("epochs")
            let store = try LocalStore(epochs: path)
            #expect(await failure { _ = try LocalStore(epochs: path) }?.code == .unusable)
            _ = try await store.joined("alpha")
        }
    }

    @Test(arguments: ["", "epochs 1", "epochs 1\n", "epochs 1\n12", "epochs 1\n-3\n", "epochs 2\n3\n"])
    func aFileThatCannotBeReadIsNotBegunAnew(_ text: String) async throws {
        let content = text.isEmpty ? "" : "coordinators-" + text
        try await withTemporaryDirectory { directory in
            let path = directory.file("epochs")
            try Files.write(content, to: path)
            #expect(await failure { _ = try LocalStore(epochs: path) }?.code == .unusable)
            #expect(Files.text(of: path) == content)
        }
    }

    @Test func withoutTheFileNothingIsGranted() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.file("place")
            try #require(mkdir(place, 0o700) == 0)
            let store = try LocalStore(epochs: place + "/epochs")
            Files.remove(place)
            #expect(await failure { _ = try await store.joined("alpha") }?.code == .unusable)
            #expect(try await store.list(.everything, until: soon).entries.isEmpty)
        }
    }

    /// Each file is one that is written when the test lets it, and there are more of them than threads for tasks.
    @Test func aFileSystemThatHangsHoldsUpItsStoreAlone() async throws {
        try await withTemporaryDirectory { directory in
            let paths = (0..<2 * Int(sysconf(CInt(_SC_NPROCESSORS_ONLN))) + 2).map { directory.file("epochs-\($0)") }
            for path in paths { try #require(mkfifo(path + ".new", 0o600) == 0) }
            let stores = try paths.map { try LocalStore(epochs: $0) }
            let joining = stores.map { store in Task { await failure { _ = try await store.joined("alpha") }?.code } }
            for _ in 0..<1_000 { await Task {}.value }
            let readers = paths.map { open($0 + ".new", O_RDONLY | O_NONBLOCK | O_CLOEXEC) }
            defer { for reader in readers { close(reader) } }
            // A pipe can't be brought to the disk.
            for task in joining { #expect(await task.value == .unusable) }
        }
    }

    @Test func aWatchThatIsMuchTooSlowListsAgain() async throws {
        let store = try LocalStore(epochs: nil)
        var revision = try await store.put([0], for: .desired("/a"), guardedBy: .unchanged(since: nil), until: soon)
        var slow = store.watch(.everything, after: revision).makeAsyncIterator()
        var quick = store.watch(.everything, after: revision).makeAsyncIterator()
        for number in 1...2000 {
            let value = Array(String(number).utf8)
            revision = try await store.put(value, for: .desired("/a"), guardedBy: .unchanged(since: revision), until: soon)
            if number == 1000 { #expect(await quick.changes(1000).count == 1000) }
        }
        #expect(await quick.changes(1000).last?.revision == revision)
        guard case .outdated = await slow.next() else {
            Issue.record("changes are missing")
            return
        }
        #expect(await slow.next() == nil)
    }

    @Test func aRenewalCountsFromItsRequest() async throws {
        let store = ForgetfulStore(try LocalStore(epochs: nil), answerDelay: .milliseconds(300))
        let lease = try await store.joined("alpha").lease
        try await expectPromptly(within: .milliseconds(200)) {
            let began = ContinuousClock.now
            let renewal = try await store.renew(lease, until: soon)
            #expect(ContinuousClock.now - began >= .milliseconds(300))
            #expect(renewal.end == renewal.sentAt + .seconds(120))
            return renewal.sentAt - began
        }
    }

    /// A request that was given up arrives after a later one of the same owner.
    @Test func aWriteThatArrivesLateDoesNotUndoALaterOne() async throws {
        let store = ForgetfulStore(try LocalStore(epochs: nil))
        let node = try await store.joined("alpha")
        let epoch = try await store.owned("/shop", by: node)
        let owner = StoreGuard.owner(of: "/shop", epoch: epoch)
        store.loseNextTransaction()
        try await store.put([1], for: .checkpoint("/shop"), guardedBy: owner, until: soon)
        try await store.put([2], for: .checkpoint("/shop"), guardedBy: owner, until: soon)
        guard case .refused = try await store.deliverLostTransaction() else {
            Issue.record("the late write was carried out")
            return
        }
        #expect(try await store.entry(.checkpoint("/shop"))?.value == [2])
    }
}
