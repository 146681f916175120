import Coordinators

/// The root, which answers what the coordinators below it ask.
actor Root: Coordinator {
    static let supervision = SupervisionPolicy(.oneForOne, intensity: 10_000, period: .seconds(1), backoff: .none)

    static let responders: Responders = [
        .respond(to: Echo.self) { _, echo in echo.bytes },
        .respond(to: EchoAwaiting.self) { _, echo in
            await Root.nothing()
            return echo.bytes
        },
        .inline(EchoInline.self) { _, echo in echo.bytes },
        .respond(to: Note.self) { me, _ in me.notes += 1 },
        .respond(to: TakeNotes.self) { me, _ in
            defer { me.notes = 0 }
            return me.notes
        },
        .respond(to: StartHops.self) { me, request in
            try await me.context.start(Hop.self, as: "hop", in: request.place == .worker ? .worker : .inProcess) {
                ($0.levels, $0.place) = (request.levels, request.place)
            }
        },
        .respond(to: StartSerial.self) { me, request in
            try await me.context.start(Serial.self, as: "serial") { $0.place = request.place }
        },
        .respond(to: StartSlowConsumer.self) { me, request in
            try await me.context.start(SlowConsumer.self, as: "slow") { $0.senders = request.senders }
        },
        .respond(to: StopSlowConsumer.self) { me, _ in try await me.context.remove("slow") },
        .respond(to: FanOut.Request.self) { me, request in try await request.deliver(me.context) },
        .respond(to: Starts.Request.self) { me, request in try await request.start(me.context) },
        .respond(to: StartNames.self) { me, _ in try await me.context.start(Names.self, as: "names") },
        .respond(to: ParkedMessages.Request.self) { me, request in try await request.measure(me.context) },
        .respond(to: PoolMembers.Request.self) { me, request in try await request.measure(me.context) },
        .forward(PoolMembers.Member.Work.self, to: "members"),
        .respond(to: WorkerStarts.Request.self) { me, request in try await request.start(me.context) },
        .respond(to: Workers.StartAll.self) { me, request in try await request.start(me.context) },
        .respond(to: Kills.Start.self) { me, request in
            try await me.context.start(Idle.self, as: "target", in: .worker(spares: request.spares))
        },
    ]

    nonisolated let context: Context
    private var notes = 0

    init(_ context: Context) { self.context = context }

    /// What a row awaits that has nothing to wait for.
    @concurrent
    private static func nothing() async {}
}

/// A message that the root answers with its own bytes.
protocol EchoedMessage: ResponderMessage where Reply == [UInt8] {
    init(bytes: [UInt8])
}

/// Answered by an ordinary row, whose body doesn't await.
struct Echo: EchoedMessage {
    typealias Reply = [UInt8]
    var bytes: [UInt8]
}

/// Answered by a row whose body awaits.
struct EchoAwaiting: EchoedMessage {
    typealias Reply = [UInt8]
    var bytes: [UInt8]
}

/// Answered by an inline row.
struct EchoInline: EchoedMessage {
    typealias Reply = [UInt8]
    var bytes: [UInt8]
}

/// Answered by a row of a serial coordinator, whose body awaits.
struct EchoSerial: EchoedMessage {
    typealias Reply = [UInt8]
    var bytes: [UInt8]
}

/// The kinds of rows that answer.
enum RowKind: String, Codable, LosslessStringConvertible {
    case ordinary, awaiting, inline, serial

    init?(_ description: String) { self.init(rawValue: description) }

    var description: String { rawValue }
}

/// Sent one way, and counted.
struct Note: ResponderMessage {
    var bytes: [UInt8]
}

/// Answered with the number of notes since the last time.
struct TakeNotes: ResponderMessage {
    typealias Reply = Int
}

/// Answered by no coordinator.
struct Unheard: ResponderMessage {}

/// Starts a serial coordinator below the root, and a coordinator below that.
struct StartSerial: ResponderMessage {
    var place: Place
}

/// Starts coordinators below the root, each the child of the one before.
struct StartHops: ResponderMessage {
    var levels: Int
    var place: Place
}

extension CoordinatorRuntime {
    /// Starts the coordinators for asks of a row; returns the path of the one that asks.
    func startHops(_ levels: Int, in place: Place, asking row: RowKind) async throws -> CoordinatorPath {
        guard row == .serial else { return try await startHops(levels, in: place) }
        guard levels == 1 else { throw UsageError("a serial row is asked from one level below") }
        try await ask(StartSerial(place: place), timeout: .seconds(60))
        return CoordinatorPath.root.appending("serial").appending("hop")
    }

    /// Starts coordinators below the root, each the child of the one before; returns the path of the last.
    func startHops(_ levels: Int, in place: Place) async throws -> CoordinatorPath {
        try await ask(StartHops(levels: levels, place: place), timeout: .seconds(60))
        return .hop(at: levels)
    }
}

extension CoordinatorPath {
    /// The path of the coordinator that is so many levels below the root.
    static func hop(at level: Int) -> CoordinatorPath {
        (0..<level).reduce(.root) { path, _ in path.appending("hop") }
    }
}
