import ConcurrencySupport
import CoordinatorsTesting
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
        let listener = try LinkListener(address: "ipc:///tmp/moves-\(getpid())-\(UInt32.random(in: .min ... .max)).sock")
        let pages = Collected<Int64>()
        let serving = Task {
            await listener.run { link, _ in
                try link.send(Frame(.welcome(Welcome(buildID: "", maximumFrameSize: 1 << 20, heartbeatMilliseconds: 0))), lane: .control)
                link.hand(
                    over: Link.Handler(
                        frameReceived: { _, frame in
                            guard case .send(let send) = frame.content,
                                let move = try? PayloadCoder.decode(Navigate.self, from: send.payload, codec: frame.codec),
                                case .show(.integer(let page), isModal: false) = move.move
                            else { return }
                            pages.append(page)
                        },
                        closed: { _, _ in }
                    )
                )
            }
        }
        defer {
            listener.close()
            serving.cancel()
        }
        let uplink = Uplink(Self.ticket(listener.address), counts: LiveCounts())
        for page in 0..<50 { Self.show(page, on: uplink) }
        uplink.connect(for: LossRecorder())
        try await eventually("the first have come") { pages.all.count >= 50 }
        for page in 50..<60 { Self.show(page, on: uplink) }
        try await eventually("all have come") { pages.all.count == 60 }
        #expect(pages.all == Array(0..<60))
        // There is a bound; what is beyond it fails, and nothing is kept for ever.
        let down = Uplink(Self.ticket(listener.address), counts: LiveCounts())
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
        let listener = try LinkListener(address: "ipc:///tmp/epochs-\(getpid())-\(UInt32.random(in: .min ... .max)).sock")
        let seen = Lock<[UInt32]>([])
        // The parents to which the worker has said more than its hello.
        let taken = Lock<Set<Int>>([])
        let serving = Task {
            await listener.run { link, _ in
                let number = seen.withLock { seen in
                    seen.append(link.helloEpoch)
                    return seen.count
                }
                let welcome = Welcome(buildID: "", maximumFrameSize: 1 << 20, heartbeatMilliseconds: 0)
                // The first parent is older, the second newer, the third as old as the first again.
                try link.send(Frame(.welcome(welcome), epoch: number == 2 ? 7 : 4), lane: .control)
                // A worker that takes the welcome announces its credit: the link has served its purpose.
                link.hand(
                    over: Link.Handler(
                        frameReceived: { link, _ in
                            taken.withLock { _ = $0.insert(number) }
                            link.close()
                        },
                        closed: { _, _ in }
                    )
                )
            }
        }
        defer {
            listener.close()
            serving.cancel()
        }
        let recorder = LossRecorder()
        let uplink = Uplink(Self.ticket(listener.address, orphanGraceMilliseconds: 60_000, epoch: 5), counts: LiveCounts())
        uplink.connect(for: recorder)
        try await eventually("it dials again and again") { seen.withLock { $0.count >= 4 } }
        #expect(seen.withLock { Array($0.prefix(4)) } == [5, 5, 7, 7])
        #expect(taken.withLock { $0 } == [2])
        uplink.beginEnding()
    }

    private static func ticket(_ address: String, orphanGraceMilliseconds: UInt32 = 0, epoch: UInt32 = 0) -> Ticket {
        Ticket(
            address: address,
            secret: [1],
            path: "/worker",
            incarnation: 1,
            parentProcessID: getpid(),
            isStrict: false,
            orphanGraceMilliseconds: orphanGraceMilliseconds,
            epoch: epoch
        )
    }

    @Test("A worker dials a parent that hangs up at once with pauses, one dial at a time, until it gives up")
    func hangsUp() async throws {
        let parent = try RudeParent()
        let recorder = LossRecorder()
        let uplink = Uplink(Self.ticket(parent.address, orphanGraceMilliseconds: 1_000), counts: LiveCounts())
        uplink.connect(for: recorder)
        try await eventually("the worker has dialled") { parent.arrivals == 1 }
        parent.hangUp()
        try await eventually("the worker gives it up") { recorder.isOrphaned }
        // The first, and ten a second at most.
        #expect((2...12).contains(parent.arrivals))
    }

    @Test("A parent with too small limits is refused")
    func tinyFrames() async throws {
        let listener = try LinkListener(address: "ipc:///tmp/moves-\(getpid())-\(UInt32.random(in: .min ... .max)).sock")
        let serving = Task {
            await listener.run { link, _ in
                try link.send(Frame(.welcome(Welcome(buildID: "", maximumFrameSize: 64, heartbeatMilliseconds: 0))), lane: .control)
                link.hand(over: Link.Handler(frameReceived: { _, _ in }, closed: { _, _ in }))
            }
        }
        defer {
            listener.close()
            serving.cancel()
        }
        let recorder = LossRecorder()
        let uplink = Uplink(Self.ticket(listener.address), counts: LiveCounts())
        uplink.connect(for: recorder)
        try await eventually("the worker gives it up") { recorder.isOrphaned }
    }

    @Test("A parent that can't be dialled at all is told as such, once")
    func nobodyListens() async throws {
        let address = "ipc:///tmp/moves-\(getpid())-\(UInt32.random(in: .min ... .max)).sock"
        let recorder = LossRecorder()
        let uplink = Uplink(Self.ticket(address, orphanGraceMilliseconds: 60_000), counts: LiveCounts())
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
        try await withRuntime(RootCoordinator.self, options: Support.options) { runtime in
            try await runtime.startChild("child", place)
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
            let still = try await runtime.ask(Fixture.WhereAmI(), at: "/child", timeout: .seconds(20))
            #expect(still == second)
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
        let uplink = Uplink(Self.ticket(parent.address, orphanGraceMilliseconds: 4_000), counts: LiveCounts())
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
        let after = send(20, isAcknowledged: true)
        #expect(after.1.code == .peerLost)
        parent.close()
    }

    @Test("As many messages wait for the next link as may, and the others fail")
    func bound() async throws {
        let down = Uplink(Self.ticket("ipc:///tmp/nobody-\(getpid()).sock"), counts: LiveCounts())
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

    init() throws {
        listener = try LinkListener(address: "ipc:///tmp/holding-\(getpid())-\(UInt32.random(in: .min ... .max)).sock")
        Task { await listener.run { link, _ in try self.attach(link) } }
    }

    private func attach(_ link: Link) throws {
        if state.withLock({ $0.isHolding }) { throw LinkError(.handshake, "not now") }
        try link.send(Frame(.welcome(Welcome(buildID: "", maximumFrameSize: 1 << 20, heartbeatMilliseconds: 0))), lane: .control)
        try link.send(Frame(.credit(Credit(target: 0, messages: 16_384, bytes: 16 << 20))), lane: .control)
        state.withLock { $0.links.append(link) }
        link.hand(over: Link.Handler(frameReceived: { self.receive($1, on: $0) }, closed: { _, _ in }))
    }

    private func receive(_ frame: Frame, on link: Link) {
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
    private struct State {
        var first: Int32?
        var arrivals = 0
    }

    private let path = "/tmp/moves-\(getpid())-\(UInt32.random(in: .min ... .max)).sock"
    private let listener: Int32
    private let state: Lock<State>

    var address: String { "ipc://\(path)" }
    var arrivals: Int { state.withLock { $0.arrivals } }

    init() throws {
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        state = Lock(State())
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        // Unsafe: the path is a fixed array of the C structure, ended by NUL.
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        try #require(bound == 0 && listen(listener, 100) == 0)
        let hasBegun = DetachedThread.run { [listener, weak self] in
            while case let peer = accept(listener, nil, nil), peer >= 0 {
                if self?.receive(peer) != true { close(peer) }
            }
        }
        try #require(hasBegun)
    }

    deinit {
        hangUp()
        // Wakes the thread.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        unlink(path)
    }

    /// - Returns: whether the connection is kept.
    private func receive(_ peer: Int32) -> Bool {
        // Both ends of a pair say the same of themselves.
        var header = [UInt8](repeating: 0, count: 8)
        guard recv(peer, &header, 8, Int32(MSG_WAITALL)) == 8, send(peer, header, 8, Int32(MSG_NOSIGNAL)) == 8 else {
            return false
        }
        return state.withLock { state in
            state.arrivals += 1
            guard state.arrivals == 1 else { return false }
            state.first = peer
            return true
        }
    }

    func hangUp() {
        let first = state.withLock { state in
            defer { state.first = nil }
            return state.first
        }
        if let first { close(first) }
    }
}

/// Takes note of nothing but the loss of the parent.
private final class LossRecorder: UplinkOwner {
    let losses = Collected<Uplink.Loss>()

    var isOrphaned: Bool {
        losses.all.contains { if case .orphaned = $0 { true } else { false } }
    }

    func messagesReceived(_ envelopes: [Envelope], _ target: String, _ isDirect: Bool) {}
    func inspected(_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue { .null }
    func messageLost(_ envelope: Envelope, _ error: any Error) {}
    func frameReceived(_ frame: Frame, on link: Link) {}
    func parentLost(_ loss: Uplink.Loss) { losses.append(loss) }
}
