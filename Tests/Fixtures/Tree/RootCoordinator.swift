public import Coordinators

/// The root of most test trees: it answers what climbs to it and notes down what its children go through.
public actor RootCoordinator: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        /// Children that `start` starts, and where.
        public var children: [String] = []
        public var placement = "in-process"
        /// The spares of each of them in a worker.
        public var spares = 0
        /// The milliseconds for which `start` leaves the executor occupied.
        public var occupation = 0
        /// Whether a child has a handler that runs on past its cancellation.
        public var isStuck = false
        public init() {}
    }

    public nonisolated let context: Context
    private var notes: [Int] = []
    private var total = 0
    private var echoes = 0
    private var cancelledWaits = 0
    private var stalls = 0
    private var lifecycle: [String] = []
    private var unhandledMessages: [String] = []

    public init(_ context: Context) { self.context = context }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .respond(to: Fixture.Echo.self) { me, echo in
            me.echoes += 1
            return echo.text
        },
        .respond(to: Fixture.Remaining.self) { _, _, context in Int(context.remainingTime?.components.seconds ?? -1) },
        .respond(to: Fixture.Echoes.self) { me, _ in me.echoes },
        .respond(to: Fixture.AskChild.self) { me, ask in
            // By starting what lives already one gets its handle.
            let child: Child<MiddleCoordinator> = try await me.context.start(as: ask.key)
            return try await child.ask(Fixture.Do(.echo(ask.text)), timeout: .seconds(60))
        },
        .respond(to: Fixture.Note.self) { me, note in me.notes.append(note.number) },
        .respond(to: Fixture.Notes.self) { me, _ in me.notes },
        .stream(Fixture.Count.self) { _, count, replies in
            for number in 0..<count.limit { try await replies.send(number) }
        },
        .respond(to: Fixture.Add.self) { me, add in
            me.total += add.amount
            return me.total
        },
        .respond(to: Fixture.Wait.self) { me, _ in
            do {
                try await Fixture.untilCancelled()
            } catch {
                me.cancelledWaits += 1
                throw error
            }
        },
        .respond(to: Fixture.Stall.self) { me, stall in
            me.stalls += 1
            guard me.stalls.isMultiple(of: stall.every) else { return }
            try await Fixture.realTime(.milliseconds(stall.milliseconds), because: "it stalls a benchmark's senders for a time")
        },
        .respond(to: Fixture.CancelledWaits.self) { me, _ in me.cancelledWaits },
        .respond(to: Fixture.Refuse.self) { _, refuse in
            if refuse.asCodable { throw Fixture.Refusal("not today") }
            throw Fixture.LocalRefusal()
        },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
        .respond(to: Fixture.StartChild.self) { me, start in
            let child: Child<MiddleCoordinator> = try await me.context.start(
                as: start.key,
                in: start.inWorker ? .worker(hang: start.hang) : .inProcess,
                restart: start.restart,
                shutdown: start.drainSeconds.map { .draining(.seconds($0)) } ?? .timeout(.seconds(5))
            ) { $0.greeting = start.greeting }
            return child.path.description
        },
        .respond(to: Fixture.StartProgram.self) { me, start in
            try await me.context.start(program: ProgramSpecification(command: start.command), as: start.key)
        },
        .respond(to: Fixture.StopChild.self) { me, stop in try await me.context.remove(stop.key) },
        .respond(to: Fixture.RunChild.self) { me, run in
            try await me.context.run(MiddleCoordinator.self, as: run.key, in: run.inWorker ? .worker : .inProcess) {
                $0.greeting = run.greeting
                $0.finishesAtOnce = run.finishesAtOnce
            }
        },
        .respond(to: Fixture.StartBroken.self) { me, start in
            try await me.context.start(BrokenCoordinator.self, as: start.key, in: start.inWorker ? .worker : .inProcess) {
                $0.how = start.how
            }
        },
        .respond(to: Fixture.Lifecycle.self) { me, _ in me.lifecycle },
        .respond(to: Fixture.Unhandled.self) { me, _ in me.unhandledMessages },
        .lifecycle { me, child, change in me.lifecycle.append("\(child.path.key) \(Fixture.word(for: change))") },
    ]

    public func start() async throws {
        let place: Placement = configuration.placement == "worker" ? .worker(spares: configuration.spares) : .inProcess
        for key in configuration.children { try await context.start(MiddleCoordinator.self, as: key, in: place) }
        if configuration.isStuck {
            let child = try await context.start(StubbornCoordinator.self, as: "stuck")
            context.task { _ = try? await child.ask(Stubborn.Hold(blocks: false), timeout: .milliseconds(100)) }
        }
        if configuration.occupation > 0 { Fixture.occupyExecutor(configuration.occupation, blocks: true) }
    }

    public func unhandled(_ message: UnhandledMessage) async {
        unhandledMessages.append("\(message.name) from \(message.sender)")
    }
}
