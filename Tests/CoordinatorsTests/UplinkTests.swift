import ConcurrencySupport
import Fixtures
import Glibc
import Links
import Supervision
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// The way up from a worker.
@Suite("Uplinks: moves of pages, and parents that are none", .serialized, .timeLimit(minutes: 2))
struct UplinkTests {
    @Test("Moves of pages without a link leave on the next one, in order")
    func kept() async throws {
        let pages = Collected<Int64>()
        let parent = try PlayedParent { link in
            try link.welcome()
            return { _, frame in
                guard case .send(let send) = frame.content,
                    let move = try? PayloadCoder.decode(Navigate.self, from: send.payload, codec: frame.codec),
                    case .show(.integer(let page), isModal: false) = move.move
                else { return }
                pages.append(page)
            }
        }
        defer { parent.close() }
        let uplink = Uplink(PlayedParent.ticket(parent.address), counts: LiveCounts())
        for page in 0..<50 { Self.show(page, on: uplink) }
        uplink.connect(for: LossRecorder())
        try await eventually("the first have come") { pages.all.count >= 50 }
        for page in 50..<60 { Self.show(page, on: uplink) }
        try await eventually("all have come") { pages.all.count == 60 }
        #expect(pages.all == Array(0..<60))
        // There is a bound; what is beyond it fails, and nothing is kept for ever.
        let down = Uplink(PlayedParent.ticket(parent.address), counts: LiveCounts())
        let failures = (0..<2_000).count { Self.show($0, on: down).hasEnded }
        #expect(failures == 2_000 - 1_024)
    }

    @discardableResult
    private static func show(_ page: Int, on uplink: Uplink) -> Envelope {
        let move = Navigate(move: .show(.integer(Int64(page)), isModal: false), path: "/worker", incarnation: 1)
        let envelope = Envelope(.value(move), sender: "/worker", deadline: nil, isOneWay: true, isBuiltin: true)
        uplink.forward(envelope, to: "", isDirect: false)
        return envelope
    }

    @Test("A worker tells the newest epoch that it knows, takes over a newer one, and refuses a parent with an older one")
    func epochs() async throws {
        let seen = Lock<[UInt32]>([])
        // The parents to which the worker has said more than its hello.
        let taken = Lock<Set<Int>>([])
        let parent = try PlayedParent { link in
            let number = seen.withLock { seen in
                seen.append(link.helloEpoch)
                return seen.count
            }
            // The first parent is older, the second newer, the third as old as the first again.
            try link.welcome(epoch: number == 2 ? 7 : 4)
            // A worker that takes the welcome announces its credit: the link has served its purpose.
            return { link, _ in
                taken.withLock { _ = $0.insert(number) }
                link.close()
            }
        }
        defer { parent.close() }
        let recorder = LossRecorder()
        let uplink = Uplink(PlayedParent.ticket(parent.address, orphanGraceMilliseconds: 60_000, epoch: 5), counts: LiveCounts())
        uplink.connect(for: recorder)
        try await eventually("it dials again and again") { seen.withLock { $0.count >= 4 } }
        #expect(seen.withLock { Array($0.prefix(4)) } == [5, 5, 7, 7])
        #expect(taken.withLock { $0 } == [2])
        uplink.beginEnding()
    }

    @Test("A worker dials a parent that hangs up at once with pauses, one dial at a time, until it gives up")
    func hangsUp() async throws {
        let parent = try RudeParent()
        let recorder = LossRecorder()
        let uplink = Uplink(PlayedParent.ticket(parent.address, orphanGraceMilliseconds: 1_000), counts: LiveCounts())
        uplink.connect(for: recorder)
        try await eventually("the worker has dialled") { parent.arrivals == 1 }
        parent.hangUp()
        try await eventually("the worker gives it up") { recorder.isOrphaned }
        // The first, and ten a second at most.
        #expect((2...12).contains(parent.arrivals))
        await parent.end()
    }

    @Test("A parent with too small limits is refused")
    func tinyFrames() async throws {
        let parent = try PlayedParent { link in
            try link.welcome(maximumFrameSize: 64)
            return { _, _ in }
        }
        defer { parent.close() }
        let recorder = LossRecorder()
        let uplink = Uplink(PlayedParent.ticket(parent.address), counts: LiveCounts())
        uplink.connect(for: recorder)
        try await eventually("the worker gives it up") { recorder.isOrphaned }
    }

    @Test("A parent that can't be dialled at all is told as such, once")
    func nobodyListens() async throws {
        let recorder = LossRecorder()
        let uplink = Uplink(PlayedParent.ticket(PlayedParent.freshAddress(), orphanGraceMilliseconds: 60_000), counts: LiveCounts())
        uplink.connect(for: recorder)
        try await eventually("the worker gives it up") { !recorder.losses.all.isEmpty }
        guard case .unreachable = recorder.losses.all[0] else {
            Issue.record("\(recorder.losses.all)")
            return
        }
        #expect(recorder.losses.all.count == 1)
    }

    @Test("A child whose pages were popped is dismissed, and a later incarnation of it isn't", arguments: Where.allCases)
    func laterLife(_ place: Where) async throws {
        try await withRoot("child", in: place) { runtime in
            _ = try await runtime.restart("/child")
            let second = try await runtime.ask(Fixture.WhereAmI(), at: "/child", timeout: .seconds(20))
            #expect(second.incarnation == 2)
            let root = try runtime.root
            func pop(_ incarnation: Incarnation) {
                let popped = FinishPopped(key: "child", incarnation: incarnation)
                let envelope = Envelope(.value(popped), sender: "/", deadline: nil, isOneWay: true, isBuiltin: true)
                root.acceptBuiltin(envelope)
            }
            pop(1)
            #expect(try await runtime.ask(Fixture.WhereAmI(), at: "/child", timeout: .seconds(20)) == second)
            pop(2)
            try await eventually("it's removed") { root.existingChildren?.has("child") == false }
        }
    }
}

extension UplinkTests {
    @Test("What waits for the next link leaves on it in order, acknowledged messages of the former one first; the surrender ends it")
    func keptMessages() async throws {
        let parent = try HoldingParent()
        let recorder = LossRecorder()
        let uplink = Uplink(PlayedParent.ticket(parent.address, orphanGraceMilliseconds: 4_000), counts: LiveCounts())
        uplink.connect(for: recorder)
        let numbers = OpenSequences()
        func send(_ number: Int, isAcknowledged: Bool) -> (Envelope, RawPeer.Outcome) {
            let outcome = RawPeer.Outcome()
            let envelope = Envelope(
                .encoded(name: "Test.Number", .json, Payload(Array("\(number)".utf8)[...])),
                asker: .function { outcome.settle($0) },
                sender: "/worker",
                deadline: nil,
                delivery: isAcknowledged ? AcknowledgedDelivery(numberedBy: numbers) : nil
            )
            uplink.forward(envelope, to: "/elsewhere", isDirect: true)
            return (envelope, outcome)
        }
        let open = (0..<5).map { send($0, isAcknowledged: true) }
        let plain = send(5, isAcknowledged: false)
        try await eventually("they have come") { parent.arrivals.count == 6 }
        #expect(parent.arrivals.map(\.number) == Array(0...5) && parent.arrivals.allSatisfy { $0.since == 0 })
        #expect(parent.arrivals.prefix(5).map(\.sequence) == [1, 2, 3, 4, 5])
        parent.hold(true)
        parent.cut()
        try await eventually("what isn't acknowledged is lost") { plain.1.outcome != nil }
        #expect(plain.1.code == .peerLost)
        // These are sent while there is no link.
        let later = (6..<16).map { send($0, isAcknowledged: $0 % 2 == 0) }
        #expect(later.allSatisfy { !$0.0.hasEnded })
        let withdrawn = send(16, isAcknowledged: true)
        withdrawn.0.cancel()
        parent.hold(false)
        try await eventually("they come on the next link") { parent.arrivals.count == 21 }
        let second = parent.arrivals.dropFirst(6)
        #expect(second.map(\.number) == [0, 1, 2, 3, 4] + Array(6..<16))
        #expect(second.prefix(5).allSatisfy { $0.since != 0 } && second.dropFirst(5).allSatisfy { $0.since == 0 })
        #expect(second.prefix(5).map(\.sequence) == [1, 2, 3, 4, 5])
        parent.answers = true
        let last = send(17, isAcknowledged: true)
        try await eventually("it's answered") { last.1.outcome != nil }
        parent.answers = false
        // The parent goes for good.
        parent.hold(true)
        parent.cut()
        try await eventually("the link is lost") { uplink.state.withLock { $0.peer } == nil }
        let unsent = (send(18, isAcknowledged: true), send(19, isAcknowledged: false))
        try await eventually("the worker gives it up") { recorder.isOrphaned }
        for (envelope, outcome) in open + later + [unsent.0, unsent.1] {
            #expect(envelope.hasEnded && outcome.code == .peerLost)
        }
        func mayBeExecuted(_ outcome: RawPeer.Outcome) -> Bool? {
            guard case .failure(let error)? = outcome.outcome else { return nil }
            return (error as? CoordinatorError)?.maybeExecuted
        }
        #expect(open.allSatisfy { mayBeExecuted($0.1) == true })
        #expect(mayBeExecuted(unsent.0.1) == false && mayBeExecuted(unsent.1.1) == false)
        // Nothing waits any more.
        #expect(send(20, isAcknowledged: true).1.code == .peerLost)
        parent.close()
    }

    @Test(
        "A large output is told on the present link and on each later one, and a parent that can't take it isn't waited for",
        arguments: [0, 8 << 20]
    )
    func outputs(maximumMessageSize: Int) async throws {
        let parent = try HoldingParent(maximumMessageSize: maximumMessageSize)
        let recorder = LossRecorder()
        let uplink = Uplink(PlayedParent.ticket(parent.address, orphanGraceMilliseconds: 20_000), counts: LiveCounts())
        let output = Frame(.finish(Bytes(repeating: 0x20, count: 3 << 20)), codec: .json)
        // Before there is a link.
        uplink.announce(output, lane: .bulk)
        uplink.connect(for: recorder)
        for told in 1...3 {
            try await eventually("it's told, or refused") { parent.outputs.all.count + recorder.refusals.all.count == told }
            parent.cut()
        }
        #expect(parent.outputs.all.allSatisfy { $0 == 3 << 20 } && recorder.refusals.all.allSatisfy { $0 == .frameTooLarge })
        #expect(parent.outputs.all.isEmpty == (maximumMessageSize == 0))
        uplink.beginEnding()
        parent.cut()
        parent.close()
    }

    @Test("As many messages wait for the next link as may, and the others fail")
    func bound() async throws {
        let down = Uplink(PlayedParent.ticket("ipc:///tmp/nobody-\(getpid()).sock"), counts: LiveCounts())
        let envelopes = (0..<2_000).map { _ in
            let envelope = Envelope(
                .encoded(name: "Test.Number", .json, Payload([0x31])),
                asker: .function { _ in },
                sender: "/worker",
                deadline: nil
            )
            down.forward(envelope, to: "/elsewhere", isDirect: true)
            return envelope
        }
        #expect(envelopes.count(where: \.hasEnded) == 2_000 - 1_024)
        down.beginEnding()
        #expect(envelopes.allSatisfy { $0.hasEnded })
    }
}

/// A parent that answers only when it's told, and hangs up when it's told.
private final class HoldingParent: Sendable {
    struct Arrival {
        let number: Int
        let sequence: UInt64
        let since: UInt64
    }

    private struct State {
        var arrivals: [Arrival] = []
        var links: [Link] = []
        var answers = false
        var isHolding = false
    }

    private let state = Lock(State())
    private let listener: LinkListener
    private let maximumMessageSize: Int
    /// The sizes of the outputs that have come.
    let outputs = Collected<Int>()

    init(maximumMessageSize: Int = 0) throws {
        self.maximumMessageSize = maximumMessageSize
        listener = try LinkListener(address: PlayedParent.freshAddress())
        Task { await listener.run { link, _ in try self.attach(link) } }
    }

    private func attach(_ link: Link) throws {
        if state.withLock({ $0.isHolding }) { throw LinkError(.handshake, "not now") }
        // Before the welcome, which the other side may answer at once.
        state.withLock { $0.links.append(link) }
        link.useParts(upTo: maximumMessageSize, and: link.helloMessageSize)
        try link.welcome(maximumMessageSize: UInt64(maximumMessageSize))
        try link.send(Frame(.credit(Credit(target: 0, messages: 16_384, bytes: 16 << 20))), lane: .control)
        link.hand(over: Link.Handler(frameReceived: { self.receive($1, on: $0) }, closed: { _, _ in }))
    }

    private func receive(_ frame: Frame, on link: Link) {
        if case .finish(let output) = frame.content { outputs.append(output.count) }
        guard case .ask(let ask) = frame.content, let number = Int(String(decoding: ask.payload, as: UTF8.self)) else { return }
        let answers = state.withLock { state in
            state.arrivals.append(Arrival(number: number, sequence: frame.sequence, since: ask.since))
            return state.answers
        }
        guard answers else { return }
        try? link.send(Frame(.reply(.success([0x7B, 0x7D])), correlation: frame.correlation, codec: .json))
    }

    var address: String { listener.address }
    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    var answers: Bool {
        get { state.withLock { $0.answers } }
        set { state.withLock { $0.answers = newValue } }
    }

    /// Has no one come any more, or again.
    func hold(_ isHolding: Bool) { state.withLock { $0.isHolding = isHolding } }

    /// Closes all links.
    func cut() {
        let links = state.withLock { state in
            defer { state.links = [] }
            return state.links
        }
        for link in links { link.close() }
    }

    func close() { listener.close() }
}

/// Keeps the first that dials until it's told otherwise, and hangs up on all others as soon as they may say hello.
private final class RudeParent: Sendable {
    private let path = "/tmp/rude-\(getpid())-\(UInt32.random(in: .min ... .max)).sock"
    private let listener: RawSocket
    private let first = Lock<RawSocket?>(nil)
    private let count = Lock(0)
    private let tasks = OwnedTasks()

    var address: String { "ipc://\(path)" }
    var arrivals: Int { count.withLock { $0 } }

    init() throws {
        listener = try RawSocket(listeningAt: path)
        tasks.add { await self.serve() }
    }

    private func serve() async {
        while !Task.isCancelled {
            // Both ends of a pair say the same of themselves.
            guard let peer = try? await listener.accept(), let header = try? await peer.read(8) else { continue }
            guard (try? await peer.write(header)) != nil else { continue }
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { first.withLock { $0 = peer } }
        }
    }

    func hangUp() { first.withLock { $0 = nil } }

    /// Ends, woken by another that dials.
    func end() async {
        let ending = Task.immediate { await tasks.end() }
        _ = try? RawSocket(path)
        await ending.value
        unlink(path)
    }
}

/// Takes note of nothing but the loss of the parent.
private final class LossRecorder: UplinkOwner {
    let losses = Collected<Uplink.Loss>()
    let refusals = Collected<LinkError.Code>()

    var isOrphaned: Bool {
        losses.all.contains { if case .orphaned = $0 { true } else { false } }
    }

    func messagesReceived(_ envelope: Envelope, _ target: String, _ isDirect: Bool) {}
    func inspected(_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue { .null }
    func messageLost(_ envelope: Envelope, _ error: any Error) {}
    func frameReceived(_ frame: Frame, on link: Link) {}
    func parentLost(_ loss: Uplink.Loss) { losses.append(loss) }
    func announcementRefused(_ error: LinkError) { refusals.append(error.code) }
}
