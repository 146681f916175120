import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Glibc
import Processes
import Supervision
import TestSupport
import Testing

@testable import Coordinators

/// Acknowledged messages while links are lost and processes are killed, with a ledger of everything that was handled.
@Suite("Acknowledged messages: lost links and killed processes", .serialized, .timeLimit(minutes: 5))
struct AcknowledgedStormTests {
    @Test("Over lost links every message down is handled once, in its sender's order")
    func down() async throws {
        try await LedgerTree.with(children: ["a"]) { tree in
            let cuts = rounds(short: 100, all: 1_000, long: 5_000)
            let senders = try await tree.send(4, to: "/a", until: { try await tree.cut("/a", times: cuts) })
            #expect(senders.allSatisfy { $0.failures.isEmpty }, "\(senders.flatMap(\.failures).prefix(5))")
            tree.expectHandledOnce(senders, at: "/a")
            print("\(tree.entries.count) messages over \(cuts) lost links")
            // There is no dead letter, and nothing is open.
            #expect(tree.runtime.deadLetters.count == 0)
        }
    }

    @Test("Over lost links every message up is handled once, in its sender's order")
    func up() async throws {
        try await LedgerTree.with(children: ["a", "b"]) { tree in
            let (runtime, count) = (tree.runtime, rounds(short: 600, all: 3_000, long: 10_000))
            let pushes = ["/a", "/b"].enumerated().map { index, path in
                // The ask isn't acknowledged itself: a message without an answer begins it, and the ledger tells of its end.
                Task { try await runtime.send(Ledger.Push(index, count), at: CoordinatorPath(path) ?? .root) }
            }
            for push in pushes { #expect(try await push.value) }
            var cuts = 0
            while tree.entries.count < 2 * count, cuts < 5_000 {
                try await tree.progress(upTo: 2 * count)
                for path in ["/a", "/b"] as [CoordinatorPath] { try await tree.cut(path, times: 1, isIdle: true) }
                cuts += 2
            }
            try await eventually("all are handled") { tree.entries.count >= 2 * count }
            print("\(2 * count) messages over \(cuts) lost links")
            for sender in 0..<2 {
                #expect(tree.entries.filter { $0.sender == sender }.map(\.number) == Array(0..<count))
            }
        }
    }

    @Test("Over three borders, each of which loses its links, every message is handled once, in both directions")
    func threeBorders() async throws {
        try await LedgerTree.with(children: ["a"]) { tree in
            let runtime = tree.runtime
            try await runtime.ask(Ledger.StartBelow("b"), at: "/a", timeout: .patient(.seconds(20)))
            try await runtime.ask(Ledger.StartBelow("c"), at: "/a/b", timeout: .patient(.seconds(20)))
            let turns = rounds(short: 30, all: 150, long: 600)
            let count = 4 * turns
            #expect(try await runtime.send(Ledger.Push(100, count), at: "/a/b/c"))
            let senders = try await tree.send(3, to: "/a/b/c") {
                for turn in 0..<turns {
                    let path: CoordinatorPath = turn % 3 == 0 ? "/a" : turn % 3 == 1 ? "/a/b" : "/a/b/c"
                    // An acknowledged message would be sent again, and cut the next link too.
                    _ = try? await runtime.send(Ledger.CutUplink(), at: path)
                    try await tree.progress()
                }
            }
            #expect(senders.allSatisfy { $0.failures.isEmpty }, "\(senders.flatMap(\.failures).prefix(5))")
            tree.expectHandledOnce(senders, at: "/a/b/c")
            try await eventually("all are handled above") { tree.entries.count { $0.sender == 100 } >= count }
            #expect(tree.entries.filter { $0.sender == 100 }.map(\.number) == Array(0..<count))
        }
    }

    @Test("Over lost links a row that needs a dependency handles every message once, in its sender's order")
    func needs() async throws {
        try await LedgerTree.with(children: ["a"]) { tree in
            let cuts = rounds(short: 30, all: 100, long: 1_000)
            let senders = try await tree.send(3, to: "/a", { Ledger.EnterInNeed($0) }, until: { try await tree.cut("/a", times: cuts) })
            #expect(senders.allSatisfy { $0.failures.isEmpty }, "\(senders.flatMap(\.failures).prefix(5))")
            tree.expectHandledOnce(senders, at: "/a")
        }
    }

    @Test("Over lost links on both sides of a row that forwards them, every message is handled once, in its sender's order")
    func forwarded() async throws {
        try await LedgerTree.with(children: ["a", "beside"]) { tree in
            let count = rounds(short: 150, all: 500, long: 5_000)
            #expect(try await tree.runtime.send(Ledger.PushBeside(0, count), at: "/a"))
            var cuts = 0
            while tree.entries.count < count, cuts < 2_000 {
                try await tree.progress(upTo: count)
                for path in ["/a", "/beside"] as [CoordinatorPath] { try await tree.cut(path, times: 1, isIdle: true) }
                cuts += 2
            }
            try await eventually("all are handled") { tree.entries.count >= count }
            #expect(tree.entries.map(\.number) == Array(0..<count) && tree.entries.allSatisfy { $0.path == "/beside" })
        }
    }

    @Test("A pool's members are replaced by their recycling rules, and every message is handled once")
    func recycling() async throws {
        try await LedgerTree.with(members: 2, recycling: 20) { tree in
            let senders = try await tree.send(4, to: "/pool") {
                try await eventually("six lives have handled something") { Set(tree.entries.map(\.pid)).count >= 6 }
            }
            #expect(senders.allSatisfy { $0.failures.isEmpty }, "\(senders.flatMap(\.failures).prefix(5))")
            for sender in senders {
                #expect(tree.entries.filter { $0.sender == sender.id }.map(\.number) == Array(0..<sender.count))
            }
        }
    }

    @Test("A sender learns that a killed receiver may have handled its message, and nothing is handled twice")
    func kills() async throws {
        try await LedgerTree.with(children: ["a"]) { tree in
            let kills = rounds(short: 9, all: 30, long: 300)
            let senders = try await tree.send(4, to: "/a") {
                for turn in 0..<kills {
                    try await tree.cut("/a", times: 3)
                    try await tree.kill("/a", life: turn + 1)
                }
            }
            tree.expectHonest(senders)
            // Every life has handled something, and the messages of one sender in order.
            #expect(Set(tree.entries.map(\.pid)).count >= kills * 2 / 3)
        }
    }

    @Test("A message that is handled when the process dies ends at once with an error that says so")
    func killedHandler() async throws {
        try await LedgerTree.with(children: ["a"]) { tree in
            let runtime = tree.runtime
            let sending = Task { try await runtime.send(Ledger.Enter(1, 1, milliseconds: 60_000), at: "/a", acknowledged: true) }
            try await eventually("it's handled") { !tree.entries.isEmpty }
            let began = MachineClock.now
            try await runtime.fault(.crash, at: "/a")
            let error = await #expect(throws: CoordinatorError.self) { try await sending.value }
            #expect(error?.code == .peerLost && error?.maybeExecuted == true)
            #expect(MachineClock.now - began < .patient(.seconds(30)))
            #expect(tree.entries.count == 1)
        }
    }

    @Test("A handler goes on while the link is lost, and the sender gets its end on the next one")
    func lostWhileHandled() async throws {
        try await LedgerTree.with(children: ["a"]) { tree in
            let runtime = tree.runtime
            let sending = Task { try await runtime.send(Ledger.Enter(1, 1, milliseconds: 500), at: "/a", acknowledged: true) }
            try await eventually("it's handled") { !tree.entries.isEmpty }
            try await tree.cut("/a", times: 5, isIdle: true)
            #expect(try await sending.value)
            #expect(tree.entries.count == 1)
            // A deadline holds all the same, and ends the handler.
            await expect(.timedOut) {
                async let cut: Void = tree.cut("/a", times: 3, isIdle: true)
                let isHandled = try await runtime.send(
                    Ledger.Enter(1, 2, milliseconds: 60_000),
                    at: "/a",
                    acknowledged: true,
                    timeout: .seconds(1)
                )
                try await cut
                return isHandled
            }
        }
    }

    @Test("A worker that drains acknowledges what it has taken, and refuses the rest unhandled")
    func draining() async throws {
        try await LedgerTree.with(children: ["a"], drains: true) { tree in
            let runtime = tree.runtime
            let sends = (0..<200).map { number in
                Task { try await runtime.send(Ledger.Enter(number, 0, milliseconds: 200), at: "/a", acknowledged: true) }
            }
            try await eventually("some are handled") { tree.entries.count > 50 }
            try await runtime.stop("/a")
            var handled: Set<Int> = []
            for (number, send) in sends.enumerated() {
                switch await send.result {
                case .success(true): handled.insert(number)
                case .success(false): Issue.record("a responder was there")
                case .failure(let error):
                    let refusal = error as? CoordinatorError
                    #expect(refusal?.code == .draining || refusal?.code == .stopped, "\(error)")
                    #expect(refusal?.maybeExecuted == false)
                }
            }
            #expect(tree.entries.count == Set(tree.entries.map(\.sender)).count)
            #expect(Set(tree.entries.map(\.sender)) == handled)
        }
    }

    @Test("A pool's members are killed: what is acknowledged was handled, and nothing is handled twice")
    func pools() async throws {
        try await LedgerTree.with(members: 2) { tree in
            let senders = try await tree.send(4, to: "/pool") {
                for turn in 0..<rounds(short: 8, all: 20, long: 200) {
                    let member: CoordinatorPath = turn % 2 == 0 ? "/pool/1" : "/pool/2"
                    try await tree.progress()
                    try await eventually("\(member) lives") { (try? await tree.runtime.snapshot(of: member))?.state == .active }
                    // The pool may be about to replace it.
                    _ = try? await tree.runtime.kill(member)
                }
            }
            tree.expectHonest(senders)
        }
    }

    @Test("An interceptor above a worker sees each message once, though links are lost")
    func interceptors() async throws {
        try await withRoot("a", in: .worker) { runtime in
            let sent = Tally()
            let flag = Flag()
            let sending = Task {
                while !flag.isSet {
                    let isHandled = try await runtime.send(Fixture.Add(sent.count), at: "/a", acknowledged: true)
                    #expect(isHandled)
                    sent.add()
                }
            }
            let tree = LedgerTree(runtime: runtime) { sent.count }
            let cuts = rounds(short: 30, all: 100, long: 1_000)
            try await tree.cut("/a", times: cuts)
            flag.set()
            try await sending.value
            let count = sent.count
            #expect(count >= cuts / 2)
            #expect(try await runtime.ask(Fixture.Add(0)) == (0..<count).reduce(0, +) + count)
            let seen = try await runtime.ask(Fixture.Seen(), at: "/a", timeout: .seconds(20))
            #expect(seen.filter { $0.hasPrefix("down") } == (0..<count).map { "down \($0)" })
        }
    }

    @Test("Idempotent asks are answered over lost links and killed processes")
    func idempotent() async throws {
        try await LedgerTree.with(children: ["a"]) { tree in
            let runtime = tree.runtime
            var answering = tree
            let flag = Flag()
            let answers = Tally()
            answering.handled = { answers.count }
            let askers = (0..<4).map { _ in
                Task {
                    var number = 0
                    while !flag.isSet {
                        let read = try await runtime.ask(Ledger.Read(number), at: "/a", timeout: .patient(.seconds(20)))
                        #expect(read == number)
                        number += 1
                        answers.add()
                    }
                    return number
                }
            }
            for turn in 0..<rounds(short: 3, all: 10, long: 100) {
                try await answering.cut("/a", times: 10)
                try await answering.kill("/a", life: turn + 1)
            }
            flag.set()
            for asker in askers { #expect(try await asker.value > 0) }
        }
    }
}

/// A flag that tasks share.
private final class Flag: Sendable {
    private let state = Lock(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }
}

/// A number that tasks share.
private final class Tally: Sendable {
    private let state = Lock(0)

    var count: Int { state.withLock { $0 } }

    func add() { state.withLock { $0 += 1 } }
}

/// A tree whose coordinators write what they handle into one file.
private struct LedgerTree: Sendable {
    /// What became of a sender's messages.
    struct Sender {
        let id: Int
        var acknowledged: [Int] = []
        var failures: [(number: Int, error: any Error)] = []
        var count = 0
    }

    let runtime: CoordinatorRuntime
    var file = ""
    /// Returns a number that grows with what is handled.
    var handled: @Sendable () -> Int

    static func with(
        children: [String] = [],
        members: Int = 0,
        recycling: Int? = nil,
        drains: Bool = false,
        _ body: @Sendable (LedgerTree) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.file("ledger")
            var configuration = LedgerRoot.Configuration()
            (configuration.children, configuration.members, configuration.drains) = (children, members, drains)
            (configuration.file, configuration.recycling) = (file, recycling)
            var options = Support.options
            options.workerRestarts = TokenBucket(rate: 1_000, burst: 1_000)
            try await withRuntime(LedgerRoot.self, configuration: configuration, options: options) { runtime in
                try await body(LedgerTree(runtime: runtime, file: file) { Files.size(of: file) ?? 0 })
            }
        }
    }

    var entries: [Ledger.Entry] { (Files.text(of: file) ?? "").split(separator: "\n").compactMap { Ledger.Entry($0) } }

    /// Has several senders send one message after the other until the body has ended.
    func send(_ count: Int, to path: CoordinatorPath, until body: @Sendable () async throws -> Void) async throws -> [Sender] {
        try await send(count, to: path, { $0 }, until: body)
    }

    /// Has several senders send one message after the other, each with an entry in it, until the body has ended.
    func send(
        _ count: Int,
        to path: CoordinatorPath,
        _ message: @escaping @Sendable (Ledger.Enter) -> some ResponderMessage,
        until body: @Sendable () async throws -> Void
    ) async throws -> [Sender] {
        let flag = Flag()
        let tasks = (0..<count).map { id in
            Task {
                var sender = Sender(id: id)
                while !flag.isSet {
                    do {
                        let isHandled = try await runtime.send(message(Ledger.Enter(id, sender.count)), at: path, acknowledged: true)
                        #expect(isHandled)
                        sender.acknowledged.append(sender.count)
                    } catch {
                        sender.failures.append((sender.count, error))
                    }
                    sender.count += 1
                }
                return sender
            }
        }
        defer { flag.set() }
        try await body()
        flag.set()
        var senders: [Sender] = []
        for task in tasks { senders.append(await task.value) }
        return senders
    }

    /// Waits until something more has been handled.
    ///
    /// - Parameter total: As many as are handled in all.
    func progress(upTo total: Int = .max) async throws {
        let before = handled()
        try await eventually("something more is handled") { handled() != before || total < .max && entries.count >= total }
    }

    /// Loses the link of a worker, each time when there is one.
    ///
    /// - Parameter isIdle: Whether nothing more is handled meanwhile.
    func cut(_ path: CoordinatorPath, times: Int, isIdle: Bool = false) async throws {
        let children = try #require(try runtime.root.existingChildren)
        var done = 0
        while done < times {
            try await eventually("\(path) has its link") {
                (try? children.host(of: path.key) as? WorkerHost)?.state.withLock { $0.linkedPeer } != nil
            }
            // Every other one is lost when messages have crossed it, and others are under way.
            if done % 2 == 0, !isIdle { try await progress() }
            do {
                try await runtime.fault(.lostLink, at: path)
                done += 1
            } catch let error as CoordinatorError where error.code == .stopped {
                // It was that of a life that was killed before.
            }
        }
    }

    /// Kills a life of a worker, once it lives.
    func kill(_ path: CoordinatorPath, life: Int) async throws {
        try await eventually("\(path) lives for the \(life)th time") {
            guard let snapshot = try? await runtime.snapshot(of: path) else { return false }
            return snapshot.incarnation >= life && snapshot.state == .active
        }
        try await runtime.fault(.crash, at: path)
    }

    /// Every message was handled once, in its sender's order.
    func expectHandledOnce(_ senders: [Sender], at path: CoordinatorPath) {
        let entries = entries.filter { $0.path == path.description }
        for sender in senders {
            #expect(sender.count > 0)
            let numbers = entries.filter { $0.sender == sender.id }.map(\.number)
            #expect(numbers == Array(0..<sender.count), "sender \(sender.id)")
        }
    }

    /// What was acknowledged was handled, nothing was handled twice, and errors say whether it may have been.
    func expectHonest(_ senders: [Sender]) {
        let entries = entries
        for sender in senders {
            #expect(!sender.acknowledged.isEmpty)
            let numbers = entries.filter { $0.sender == sender.id }.map(\.number)
            #expect(Set(numbers).count == numbers.count, "handled twice")
            #expect(Set(numbers).isSuperset(of: sender.acknowledged), "acknowledged and lost")
            for (number, error) in sender.failures where numbers.contains(number) {
                #expect((error as? CoordinatorError)?.maybeExecuted == true, "\(number) was handled: \(error)")
            }
            let byLife = Dictionary(grouping: entries.filter { $0.sender == sender.id }, by: \.pid).values.map { $0.map(\.number) }
            #expect(byLife.allSatisfy { $0 == $0.sorted() })
        }
    }
}
