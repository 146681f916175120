import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Glibc
import Links
import Synchronization
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// What processes do with the directory of the rows above them.
@Suite("Messages whose responders are known below", .serialized, .timeLimit(minutes: 4))
struct HandedDownDirectoryTests {
    // MARK: What nobody answers

    @Test("An unhandled ask of a worker doesn't cross the link to its parent, and the root's hook runs once for it")
    func unhandledBelowRoot() async throws {
        try await withTemporaryDirectory { directory in
            try await withRoot("a", in: .worker, options: Self.options) { runtime in
                let link = try #require(try runtime.link(to: "a"))
                close(creat(directory.file("now"), 0o600))
                let before = link.transmissions
                #expect(try await runtime.perform(.unhandledAfter(directory.file("now")), at: "/a", timeout: .seconds(60)) == "100")
                // The ask itself, and pings; an ask that climbs would be answered here.
                #expect(link.transmissions - before < 50)
                try await runtime.expectUnhandled(100, from: "/a")
            }
        }
    }

    @Test("An unhandled ask three levels deep fails while the process above is stopped")
    func unhandledDeep() async throws {
        try await withTemporaryDirectory { directory in
            try await withRoot(options: Self.options) { runtime in
                let pid = try await runtime.startThree()
                let asking = Task {
                    try await runtime.perform(.unhandledAfter(directory.file("go")), at: "/a/b/c", timeout: .seconds(100))
                }
                // The order is under way down to c before b is stopped.
                #expect(try await runtime.perform(.echo("x"), at: "/a/b/c", timeout: .seconds(60)) == "x")
                try await stopProcess(pid)
                close(creat(directory.file("go"), 0o600))
                try await eventually("the asks have failed") { access(directory.file("go.done"), F_OK) == 0 }
                kill(pid, SIGCONT)
                #expect(try await asking.value == "100")
                try await runtime.expectUnhandled(100, from: "/a/b/c")
                #expect(try await runtime.perform(.sendUnhandled, at: "/a/b/c", timeout: .seconds(60)) == "nobody")
                try await runtime.expectUnhandled(101, from: "/a/b/c")
                // What is answered above still is, through the interceptors of all three.
                #expect(try await runtime.perform(.add(7), at: "/a/b/c", timeout: .seconds(60)) == "310")
            }
        }
    }

    @Test("Messages that may be forwarded are sent in the encoding of all builds, the others in that of this one")
    func forwarded() async throws {
        try await withRuntime(ForwardingRoot.self) { runtime in
            let frames = ResponderDirectory.handedDown(by: try runtime.root, frameSize: 1 << 20)
            let directory = ResponderDirectory(frames)
            #expect(directory.entry(for: "Fixture.Echo")?.isOfThisBuild == true)
            #expect(directory.entry(for: "Fixture.Echo")?.isIntercepted == false)
            for name in ["Fixture.Note", "Cart.Add"] {
                #expect(directory.entry(for: name)?.isOfThisBuild == false)
                #expect(directory.entry(for: name)?.isIntercepted == true)
            }
        }
    }

    // MARK: One-way messages

    @Test("One-way messages arrive complete and in order, and credit bounds what is under way to a receiver that takes none")
    func manySends() async throws {
        try await withRuntime(HoldingRoot.self, options: Self.options) { runtime in
            HoldingRoot.reset()
            let count = rounds(short: 20_000, all: 100_000, long: 1_000_000)
            let sending = Task { try await runtime.perform(.sendNotes(count), at: "/leaf", timeout: .seconds(200)) }
            let root = try runtime.root
            // As many as the mailbox takes, and as many more as the route's window.
            let bound = MailboxPolicy().running + MailboxPolicy().waiting + CreditWindow.link.share.messages
            try await eventually("the window is used up") { root.state.withLock { $0.mailbox.messageCount } == bound }
            for _ in 0..<50 { _ = try await runtime.snapshot(of: "/leaf") }
            #expect(root.state.withLock { $0.mailbox.messageCount } == bound)
            try await eventually("as many as may have begun") { HoldingRoot.begun.all.count == MailboxPolicy().running }
            HoldingRoot.release()
            #expect(try await sending.value == "sent")
            try await eventually("all have come") { HoldingRoot.begun.all.count >= count }
            #expect(HoldingRoot.begun.all == Array(0..<count))
            #expect(runtime.deadLetters.count == 0)
        }
    }

    @Test("What a worker three levels deep has sent before its end arrives, although it waits for credit on the way")
    func stopAfterSends() async throws {
        try await withRuntime(HoldingRoot.self, options: Self.options) { runtime in
            HoldingRoot.reset()
            _ = try await runtime.perform(.startGrandchild("b", inWorker: true), at: "/leaf", timeout: .seconds(60))
            _ = try await runtime.perform(.startGrandchild("c", inWorker: true), at: "/leaf/b", timeout: .seconds(60))
            #expect(try await runtime.perform(.sendNotes(3_000), at: "/leaf/b/c", timeout: .seconds(60)) == "sent")
            HoldingRoot.release()
            _ = try await runtime.stop("/leaf")
            try await eventually("all have come") { HoldingRoot.begun.all.count >= 3_000 }
            #expect(HoldingRoot.begun.all == Array(0..<3_000))
            #expect(runtime.deadLetters.count == 0)
        }
    }

    @Test("What a full mailbox above refuses becomes a dead letter, and the sender isn't told")
    func refused() async throws {
        try await withRuntime(RefusingRoot.self, options: Self.options) { runtime in
            #expect(try await runtime.perform(.sendNotes(20), at: "/leaf", timeout: .seconds(60)) == "sent")
            try await eventually("the others are dead letters") { runtime.deadLetters.count >= 16 }
            let report = runtime.deadLetters
            #expect(report.count == 16)
            #expect(report.letters.allSatisfy { $0.reason == .mailboxFull(.fail) && $0.target == "/" && $0.sender == "/leaf" })
        }
    }

    @Test("A one-way message whose row answers leaves without a number, in order, as credit comes; a cancelled one never leaves")
    func withoutNumber() async throws {
        let directory = ResponderDirectory([Directory(distance: 1, buildID: "", isLast: true, rows: [Directory.Row("Note")])])
        let entry = try #require(directory.entry(for: "Note"))
        try await RawPeer.with(announcesCredit: true) { raw in
            let sends = (0..<10).map { raw.forward("Note", isOneWay: true, above: entry, payload: [UInt8($0)]) }
            try await raw.settle()
            #expect(sends.allSatisfy { $0.1.outcome == nil })
            #expect(raw.peer.hasOpenMessages)
            sends[3].0.cancel()
            // Two messages for each route.
            try raw.link.send(Frame(.credit(Credit(target: 0, messages: 32, bytes: 1 << 20))))
            try await eventually("two have left") { raw.sent.count == 2 }
            #expect(sends.map { $0.1.outcome != nil } == [true, true, false, true] + Array(repeating: false, count: 6))
            for _ in 0..<4 {
                try raw.link.send { Frame(.credit(Credit(target: $0("Note"), messages: 2, bytes: 1_000))) }
            }
            try await eventually("all others have left") { raw.sent.count == 9 }
            #expect(raw.sent.map { $0.payload } == [0, 1, 2, 4, 5, 6, 7, 8, 9].map { [$0] })
            #expect(raw.sent.allSatisfy { $0.correlation == 0 })
            await raw.peer.waitUntilAnswered()
            #expect(raw.counts.openAsks.load(ordering: .relaxed) == 0)
            // There is credit again: the next leaves at once.
            let (_, next) = raw.forward("Note", isOneWay: true, above: entry)
            guard case .success(.none)? = next.outcome else {
                Issue.record("\(String(describing: next.outcome))")
                return
            }
        }
    }

    @Test("A message without a number outlives its sender's link, and its owner is told when it's lost")
    func lost() async throws {
        try await RawPeer.with { raw in
            for name in ["Kept", "Lost"] {
                try raw.link.send { Frame(.send(Send(target: 0, sender: $0("/raw"), message: $0(name))), codec: .json) }
            }
            try await eventually("they have come") { raw.envelopes.count == 2 }
            raw.link.close()
            try await eventually("the link has closed") { raw.closed != nil }
            #expect(raw.envelopes.allSatisfy { !$0.isWithdrawn })
            raw.envelopes[0].complete(.success(.none))
            raw.envelopes[1].end(.failure(CoordinatorError(.noSuchPath, "there is none")))
            #expect(raw.lost == ["Lost"])
        }
    }

    // MARK: The link

    @Test("The directory comes anew on every link, and messages go on as before")
    func redial() async throws {
        let links = Collected<Link>()
        let parent = try PlayedParent { link in
            links.append(link)
            try link.welcome()
            let row = Directory.Row("On link \(links.all.count)")
            try link.send(Frame(.directory(Directory(distance: 1, buildID: "", isLast: true, rows: [row]))), lane: .control)
            return { _, _ in }
        }
        defer { parent.close() }
        let uplink = Uplink(PlayedParent.ticket(parent.address, orphanGraceMilliseconds: 60_000), counts: LiveCounts())
        #expect(uplink.directory == nil)
        let owner = IdleOwner()
        uplink.connect(for: owner)
        for number in 1...3 {
            try await eventually("the directory has come") { uplink.directory?.entry(for: "On link \(number)") != nil }
            #expect(uplink.directory?.entry(for: "On link \(number - 1)") == nil)
            links.all.last?.close()
        }
    }

    @Test("After a link was lost, a worker still knows what is answered above it")
    func lostLink() async throws {
        try await withTemporaryDirectory { directory in
            try await withRoot("a", in: .worker, options: Self.options) { runtime in
                for round in 1...3 {
                    let former = try #require(try runtime.link(to: "a"))
                    former.close()
                    try await eventually("it has dialled again") { try runtime.link(to: "a").map { $0 !== former } ?? false }
                    let file = directory.file("\(round)")
                    close(creat(file, 0o600))
                    #expect(try await runtime.perform(.unhandledAfter(file), at: "/a", timeout: .seconds(60)) == "100")
                    #expect(try await runtime.perform(.sendNotes(1_000), at: "/a", timeout: .seconds(60)) == "sent")
                    try await eventually("all have come") { try await runtime.ask(Fixture.Notes()).count == round * 1_000 }
                }
                #expect(try await runtime.ask(Fixture.Notes()) == (0..<3).flatMap { _ in 0..<1_000 })
                #expect(try await runtime.snapshot(of: "/a").incarnation == 1)
            }
        }
    }

    /// Options with which a process may be stopped for a while.
    private static let options = Support.options.with { $0.heartbeatTimeout = .seconds(100) }
}

extension CoordinatorRuntime {
    /// The link to a worker that is a child of the root.
    fileprivate func link(to key: String) throws -> Link? {
        let host = try root.existingChildren?.host(of: key) as? WorkerHost
        return host?.state.withLock { $0.linkedPeer }?.link
    }

    /// Starts /a, /a/b and /a/b/c in workers.
    ///
    /// - Returns: The process of /a/b.
    fileprivate func startThree() async throws -> Int32 {
        try await startChild("a", .worker)
        _ = try await perform(.startGrandchild("b", inWorker: true), at: "/a", timeout: .seconds(60))
        _ = try await perform(.startGrandchild("c", inWorker: true), at: "/a/b", timeout: .seconds(60))
        return try await ask(Fixture.WhereAmI(), at: "/a/b", timeout: .seconds(60)).pid
    }

    /// Waits until the root's hook has run so many times.
    fileprivate func expectUnhandled(_ count: Int, from sender: String) async throws {
        try await eventually("the root hears of all") { try await ask(Fixture.Unhandled()).count >= count }
        #expect(try await ask(Fixture.Unhandled()) == Array(repeating: "Fixture.NobodyAnswersThis from \(sender)", count: count))
    }
}

extension RawPeer {
    /// The one-way messages that the other end has received.
    fileprivate var sent: [(correlation: UInt64, payload: Bytes)] {
        frames.compactMap { frame in if case .send(let send) = frame.content { (frame.correlation, send.payload) } else { nil } }
    }
}

private actor ForwardingRoot: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Fixture.Echo.self) { _, echo in echo.text },
        .forward(Fixture.Note.self, to: "child"),
        .forward(prefix: "Cart.", to: "child"),
    ]
}

/// Notes down what begins, and holds it until it's released.
private actor HoldingRoot: Coordinator {
    static let begun = Collected<Int>()
    private static let gate = Lock(OneShot<Void>())

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Fixture.Note.self) { _, note in
            begun.append(note.number)
            await gate.withLock { $0 }.value
        }
    ]

    func start() async throws {
        try await context.start(MiddleCoordinator.self, as: "leaf", in: .worker) { $0.greeting = "leaf" }
    }

    static func reset() {
        begun.removeAll()
        gate.withLock { $0 = OneShot() }
    }

    static func release() { gate.withLock { $0 }.settle(()) }
}

/// Takes four messages and handles none.
private actor RefusingRoot: Coordinator {
    static let mailbox = MailboxPolicy(running: 2, waiting: 2, whenFull: .fail)

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Fixture.Note.self) { _, _ in try await untilCancelled() }
    ]

    func start() async throws {
        try await context.start(MiddleCoordinator.self, as: "leaf", in: .worker) { $0.greeting = "leaf" }
    }
}

private final class IdleOwner: UplinkOwner {
    func messagesReceived(_ envelope: Envelope, _ target: String, _ isDirect: Bool) {}
    func messageLost(_ envelope: Envelope, _ error: any Error) {}
    func inspected(_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue { .null }
    func frameReceived(_ frame: Frame, on link: Link) {}
    func parentLost(_ loss: Uplink.Loss) {}
}
