public import Coordinators
import Glibc

/// A coordinator that intercepts, has children of its own, and does what it's told.
public actor MiddleCoordinator: Coordinator {
    public typealias Output = String

    public struct Configuration: CoordinatorConfiguration {
        public var greeting = "hello"
        public var finishesAtOnce = false
        public init() {}
    }

    public nonisolated let context: Context
    private let configuration: Configuration
    private var seen: [String] = []
    private var running = false

    public init(_ context: Context) {
        self.context = context
        configuration = context.configuration
        LiveInstances.add(1, of: context.configuration.greeting)
    }

    deinit { LiveInstances.add(-1, of: configuration.greeting) }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .intercept(Fixture.Add.self) { me, add, chain in
            me.seen.append("down \(add.amount)")
            var changed = add
            changed.amount += 1
            let reply = try await chain.next(changed)
            me.seen.append("up \(reply)")
            return reply + 100
        },
        .respond(to: Fixture.UseProbe.self, needs: \.probe) { _, use, probe in
            probe.note("begun")
            defer { probe.note("handled") }
            try await Fixture.realTime(.milliseconds(use.milliseconds), because: "a service is used for a time that another process knows")
            return getpid()
        },
        .respond(to: Fixture.Seen.self) { me, _ in me.seen },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
        .respond(to: Fixture.Do.self) { me, request in try await me.perform(request.action) },
    ]

    public func start() async throws {
        if configuration.finishesAtOnce { context.finish(configuration.greeting) }
    }

    /// A coordinator whose greeting begins with "stubborn" never ends by itself.
    public func stopped() async {
        guard configuration.greeting.hasPrefix("stubborn") else { return }
        await Fixture.forever()
    }

    private func perform(_ action: Fixture.Action) async throws -> String {
        switch action {
        case .echo(let text):
            return try await context.ask(Fixture.Echo(text), timeout: .seconds(60))
        case .unhandled:
            try await context.ask(Fixture.NobodyAnswersThis(), timeout: .seconds(600))
            return "handled"
        case .sendUnhandled:
            return try await context.send(Fixture.NobodyAnswersThis()) ? "taken" : "nobody"
        case .unhandledAfter(let file):
            try await SharedFile.wait(for: file)
            let count = try await countUnhandled(100)
            SharedFile.create("\(file).done")
            return String(count)
        case .waitFor(let file):
            SharedFile.create("\(file).begun")
            try await SharedFile.wait(for: file)
            return "opened"
        case .waitForThenAskBelow(let file, let key):
            SharedFile.create("\(file).begun")
            try await SharedFile.wait(for: file)
            guard let child = context.child(key, as: MiddleCoordinator.self) else { return "no child" }
            return try await child.ask(Fixture.Do(.echo("echo")), timeout: .seconds(60))
        case .waitAbove(let milliseconds):
            try await context.ask(Fixture.Wait(), timeout: .milliseconds(milliseconds))
            return "waited"
        case .remaining:
            return String(try await context.ask(Fixture.Remaining(), timeout: .seconds(600)))
        case .remainingOfTask:
            return try await remainingOfTask()
        case .sendNotes(let count):
            for number in 0..<count where try await !context.send(Fixture.Note(number)) { return "nobody takes \(number)" }
            return "sent"
        case .count(let limit):
            var numbers: [String] = []
            for try await number in context.stream(Fixture.Count(limit), timeout: .seconds(60)) { numbers.append(String(number)) }
            return numbers.joined(separator: " ")
        case .askNotes(let count):
            try await askNotes(count)
            return "asked"
        case .noteForEver:
            Talk.noteForEver(context)
            return "begun"
        case .subscribeForEver(let path, let tasks):
            for _ in 0..<tasks { Talk.subscribeForEver(context, to: path) }
            return "begun"
        case .subscriptions:
            return Talk.subscriptions
        case .echoUntilHeld:
            return try await Talk.echoUntilHeld(context)
        case .refuse(let asCodable):
            do {
                try await context.ask(Fixture.Refuse(asCodable: asCodable))
            } catch let error as Fixture.Refusal {
                return "Refusal: \(error.reason)"
            } catch let error as RemoteError {
                return "RemoteError: \(error.type)"
            }
            return "not refused"
        case .add(let amount):
            return String(try await context.ask(Fixture.Add(amount), timeout: .seconds(60)))
        case .configuration:
            return configuration.greeting
        case .startGrandchild(let key, let inWorker):
            let child = try await context.start(
                MiddleCoordinator.self,
                as: key,
                in: inWorker ? .worker : .inProcess,
                shutdown: key.hasPrefix("stubborn") ? .infinity : .timeout(.seconds(5))
            ) { $0.greeting = key }
            return child.path.description
        case .startProgram(let key, let command):
            try await context.start(program: ProgramSpecification(command: command), as: key, shutdown: .infinity)
            return "started"
        case .stopGrandchild(let key):
            try await context.remove(key)
            return "stopped"
        case .finish(let output):
            context.finish(output)
            return "finishing"
        case .fail:
            context.fail(Fixture.Refusal("told to fail"))
            return "failing"
        case .exit(let code):
            exit(code)
        case .hang:
            try await Fixture.untilCancelled()
            return "woken"
        case .ignoreCancellation:
            await Fixture.forever()
            return "done"
        case .workHard(let milliseconds):
            let end = ContinuousClock.now + .milliseconds(milliseconds)
            while ContinuousClock.now < end { await Task.yield() }
            return "done"
        case .occupyExecutor(let milliseconds, let blocks):
            Fixture.occupyExecutor(milliseconds, blocks: blocks)
            return "occupied"
        case .block(let milliseconds):
            Fixture.block(.milliseconds(milliseconds))
            return "done"
        }
    }

    private func remainingOfTask() async throws -> String {
        let (answers, answer) = AsyncStream.makeStream(of: Int.self)
        context.task { [context] in
            answer.yield(try await context.ask(Fixture.Remaining(), timeout: .seconds(600)))
            answer.finish()
        }
        for await seconds in answers { return String(seconds) }
        return "none"
    }

    /// Returns how many asks have failed because nobody answers.
    private func countUnhandled(_ count: Int) async throws -> Int {
        var unhandled = 0
        for _ in 0..<count {
            do {
                try await context.ask(Fixture.NobodyAnswersThis(), timeout: .seconds(600))
            } catch let error as CoordinatorError where error.code == .unhandled {
                unhandled += 1
            }
        }
        return unhandled
    }

    /// Asks at once for all, in order: each ask is on its way before the next begins, because its task begins here and now.
    private func askNotes(_ count: Int) async throws {
        var asks: [Task<Void, any Error>] = []
        for number in 0..<count {
            asks.append(Task.immediate { try await self.context.ask(Fixture.Note(number), timeout: .seconds(30)) })
        }
        for ask in asks { try await ask.value }
    }
}
