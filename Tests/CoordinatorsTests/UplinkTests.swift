import CoordinatorsTesting
import Fixtures
import Glibc
import Links
import Synchronization
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// The way up from a worker.
@Suite("Uplinks: moves of pages, and parents that are none", .serialized, .timeLimit(.minutes(2)))
struct UplinkTests {
    @Test("Moves: those that are made while there is no link leave on the next, in order")
    func kept() async throws {
        let listener = try LinkListener(address: "ipc:///tmp/moves-\(getpid())-\(UInt32.random(in: .min ... .max)).sock")
        let pages = Collected<Int64>()
        let serving = Task {
            await listener.run { link, _ in
                try link.send(Frame(.welcome(Welcome(buildID: "", maximumFrameSize: 1 << 20, heartbeatMilliseconds: 0))), lane: .control)
                return Link.Handler(
                    frameReceived: { _, frame in
                        guard case .send(let send) = frame.content,
                            let move = try? PayloadCoder.decode(Navigate.self, from: send.payload, codec: frame.codec),
                            case .show(.integer(let page), isModal: false) = move.move
                        else { return }
                        pages.append(page)
                    },
                    closed: { _, _ in }
                )
            }
        }
        defer {
            listener.close()
            serving.cancel()
        }
        let uplink = Uplink(Self.ticket(listener.address), counts: LiveCounts(), events: .none)
        for page in 0..<50 { Self.show(page, on: uplink) }
        try await uplink.connect()
        try await eventually("the first have come") { pages.all.count >= 50 }
        for page in 50..<60 { Self.show(page, on: uplink) }
        try await eventually("all have come") { pages.all.count == 60 }
        #expect(pages.all == Array(0..<60))
        // There is a bound; what is beyond it fails, and nothing is kept for ever.
        let down = Uplink(Self.ticket(listener.address), counts: LiveCounts(), events: .none)
        let failures = (0..<2_000).count { Self.show($0, on: down).hasEnded }
        #expect(failures == 2_000 - 1_024)
    }

    @discardableResult
    private static func show(_ page: Int, on uplink: Uplink) -> Envelope {
        let move = Navigate(move: .show(.integer(Int64(page)), isModal: false), path: "/worker", incarnation: 1)
        let envelope = Envelope(.value(move), sender: "/worker", deadline: nil, isOneWay: true, isBuiltin: true)
        envelope.open { _ in }
        uplink.forward(envelope, to: "", isDirect: false)
        return envelope
    }

    private static func ticket(_ address: String) -> Ticket {
        Ticket(
            address: address,
            secret: [1],
            path: "/worker",
            incarnation: 1,
            parentProcessID: getpid(),
            isStrict: false,
            orphanGraceMilliseconds: 0
        )
    }

    @Test("A parent that takes next to nothing is none")
    func tinyFrames() async throws {
        let listener = try LinkListener(address: "ipc:///tmp/moves-\(getpid())-\(UInt32.random(in: .min ... .max)).sock")
        let serving = Task {
            await listener.run { link, _ in
                try link.send(Frame(.welcome(Welcome(buildID: "", maximumFrameSize: 64, heartbeatMilliseconds: 0))), lane: .control)
                return Link.Handler(frameReceived: { _, _ in }, closed: { _, _ in })
            }
        }
        defer {
            listener.close()
            serving.cancel()
        }
        let isOrphaned = Ending<Void>()
        let uplink = Uplink(Self.ticket(listener.address), counts: LiveCounts(), events: .heard { isOrphaned.settle(()) })
        try await uplink.connect()
        try await eventually("the worker gives it up") { isOrphaned.outcome != nil }
    }

    @Test("Moves: a child whose pages were popped is dismissed, and a later life of it isn't", arguments: Where.allCases)
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
                envelope.open { _ in }
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

extension Uplink.Events {
    /// Nobody listens.
    static var none: Uplink.Events { heard {} }

    /// Somebody hears only that the parent is gone.
    static func heard(_ orphaned: @escaping @Sendable () -> Void) -> Uplink.Events {
        Uplink.Events(
            started: { _, _ in },
            stopRequested: { _, _ in },
            dismissed: {},
            orphaned: orphaned,
            paused: { _, _ in {} },
            inherited: { _ in },
            tapped: { _ in },
            messageReceived: { _, _, _ in },
            inspected: { _, _, _ in .null }
        )
    }
}
