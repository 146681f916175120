import ConcurrencySupport
import Fixtures
import Glibc
import Links
import NNG
import Synchronization
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// Trees that stand for nodes of a cluster, and whose messages cross real sockets: what the daemon decides, the test does.
@Suite("Messages to children on other nodes", .timeLimit(minutes: 2))
struct ClusterRouterTests {
    private struct Note: ResponderMessage {
        static let name = "Sink.Note"
        var number: Int
    }

    /// Is answered with a text of that many bytes.
    private struct Large: ResponderMessage {
        static let name = "Sink.Large"
        typealias Reply = String
        var text: String
        var reply: Int
    }

    private struct Count: ResponderMessage {
        static let name = "Sink.Count"
        typealias Reply = Int
        var numbers: Int
    }

    private actor Sink: Coordinator {
        typealias Event = Int

        struct Configuration: CoordinatorConfiguration {
            /// Where the notes go.
            var log = 0
        }

        nonisolated let context: Context
        init(_ context: Context) { self.context = context }

        static let notes = Lock<[Int: [Int]]>([:])
        /// What a start waits for, by the same numbers.
        static let gates = Lock<[Int: OneShot<Void>]>([:])

        func start() async { await Self.gates.withLock { $0[context.configuration.log] }?.value }

        static let responders: Responders = [
            .respond(to: Note.self) { me, note in
                notes.withLock { $0[me.context.configuration.log, default: []].append(note.number) }
                me.context.delegates => note.number
            },
            .respond(to: Large.self) { _, large in String(repeating: "x", count: large.reply) },
            .stream(Count.self) { _, count, replies in
                for number in 0..<count.numbers { try await replies.send(number) }
            },
        ]
    }

    private struct Read: ResponderMessage {
        typealias Reply = [Int]
        var numbers: Int
    }

    /// Has a coordinator ask for a number of notes, and return the events of the sink meanwhile.
    private struct Overhear: ResponderMessage {
        typealias Reply = [Int]
        var notes: Int
    }

    /// Reads streams that come from above.
    private actor Reader: Coordinator {
        nonisolated let context: Context
        init(_ context: Context) { self.context = context }
        static let responders: Responders = [
            .respond(to: Read.self) { me, read in
                var numbers: [Int] = []
                for try await number in me.context.stream(Count(numbers: read.numbers)) { numbers.append(number) }
                return numbers
            },
            .respond(to: Overhear.self) { me, overhear in
                let events = try await me.context.events(of: Sink.self, at: "/sink")
                for number in 0..<overhear.notes { try await me.context.ask(Note(number: number)) }
                var numbers: [Int] = []
                for await number in events {
                    numbers.append(number)
                    if numbers.count == overhear.notes { break }
                }
                return numbers
            },
        ]
    }

    private actor Root: Coordinator {
        struct Configuration: CoordinatorConfiguration {
            var log: Int?
            /// Whether the sink is a worker of the fixture's instead.
            var isWorker = false
        }

        nonisolated let context: Context
        init(_ context: Context) { self.context = context }
        static let responders: Responders = [.forward(prefix: "Sink.", to: "sink"), .forward(prefix: "Fixture.", to: "sink")]

        func start() async throws {
            try await context.start(Reader.self, as: "reader")
            if context.configuration.isWorker {
                let _: Child<MiddleCoordinator> = try await context.start(as: "sink", in: .worker())
                return
            }
            guard let log = context.configuration.log else { return }
            try await context.start(Sink.self, as: "sink") { $0.log = log }
        }
    }

    /// What one node believes of the child.
    private final class Places: PlacedChildren {
        let changes = ChangeSignal()
        private let belief: Lock<(place: ChildPlace?, epoch: UInt64?)>
        var place: ChildPlace? {
            get { belief.withLock { $0.place } }
            set { believe { $0.place = newValue } }
        }
        /// The epoch in which this node takes messages.
        var epoch: UInt64? {
            get { belief.withLock { $0.epoch } }
            set { believe { $0.epoch = newValue } }
        }
        /// The number of times that this node still says that it takes nothing.
        let refusals = Lock(0)
        /// What this node passes before it says whether it takes messages.
        let voice = ThreadGate(isOpen: true)
        let looks = Lock(0)
        /// The number of times that this node was asked whether it takes messages.
        let questions = Lock(0)
        /// The number of dials that nobody answers.
        let vainDials = Lock(0)
        private let addresses = Lock<[String: String]>([:])

        init(_ place: ChildPlace? = nil) { belief = Lock((place, nil)) }

        private func believe(_ change: (inout (place: ChildPlace?, epoch: UInt64?)) -> Void) {
            belief.withLock { change(&$0) }
            changes.noteChange()
        }

        func address(_ node: String, _ address: String) { addresses.withLock { $0[node] = address } }

        func place(of key: String) -> ChildPlace? {
            looks.withLock { $0 += 1 }
            return place
        }

        func takes(_ key: String, epoch: UInt64) -> Bool {
            questions.withLock { $0 += 1 }
            voice.pass()
            let refuses = refusals.withLock { refusals in
                defer { refusals = max(refusals - 1, 0) }
                return refusals > 0
            }
            return !refuses && self.epoch == epoch
        }

        func connect(to node: String) async throws -> Link {
            guard let address = addresses.withLock({ $0[node] }) else { throw CoordinatorError(.failed, "there is no \(node)") }
            // A machine that is gone: nobody answers the dial.
            if address.isEmpty {
                vainDials.withLock { $0 += 1 }
                try await untilCancelled()
            }
            return Link.over(try await PairConnection.dial(address, maximumMessageSize: 2 << 20))
        }
    }

    /// What an observer of lives has got.
    private final class Changes: Sendable {
        let all = Lock<[LifecycleRecord]>([])
    }

    /// A tree at which other nodes connect.
    private final class Node: Sendable {
        private static let numbers = Atomic(0)

        let places: Places
        let runtime: CoordinatorRuntime
        let log = numbers.add(1, ordering: .relaxed).newValue
        let links = Lock<[PairConnection]>([])
        let recorded = RecordedLog()
        private let changes = Changes()
        private let listener: StreamListener
        private let tasks = OwnedTasks()
        let address = PlayedParent.freshAddress()

        init(
            _ places: Places = Places(),
            hasSink: Bool = true,
            isWorker: Bool = false,
            violations: Violations.Limit = Violations.Limit(atOnce: .max)
        ) throws {
            self.places = places
            listener = try StreamListener(address)
            var options = Support.options
            options.logger = recorded.logger
            options.violations = violations
            // A worker that a test stops isn't to count as hung while a busy machine takes its time for a thousand messages.
            options.heartbeatTimeout = .seconds(60)
            options.lifeObserver = { [changes] new, _ in changes.all.withLock { $0 += new } }
            runtime = CoordinatorRuntime(Root.self, options: options) { [log] in
                $0.log = hasSink ? log : nil
                $0.isWorker = isWorker
            }
            runtime.route(by: places)
        }

        /// What the log has of links that were closed because a node has broken a rule.
        var warnings: [String] { recorded.lines.filter { $0.hasPrefix("warning: a node's link was closed") && $0.contains("peer=caller") } }

        /// What the observer of lives has got of them.
        var rules: [String] {
            var rules: [String] = []
            for change in changes.all.withLock({ $0 }) where change.path.isRoot {
                if case .brokeRule(let rule) = change.kind { rules.append(rule) }
            }
            return rules
        }

        var notes: [Int] { Sink.notes.withLock { $0[log] ?? [] } }

        func start() async throws {
            try await runtime.start()
            tasks.add { [self] in
                while let stream = try? await listener.accept(),
                    let connection = try? await PairConnection.negotiate(stream, maximumMessageSize: 2 << 20)
                {
                    links.withLock { $0.append(connection) }
                    tasks.add { await self.runtime.exchangeMessages(on: .over(connection), with: "caller") }
                }
            }
        }

        func stop() async {
            listener.close()
            await runtime.stop()
            await tasks.end()
        }
    }

    /// A message between runtimes that a node sends by hand.
    private struct Attempt: CustomStringConvertible {
        var builtin: Builtin
        var key: String
        var target: String
        var isDirect: Bool

        /// Whether the message asks about the child that it's for, or about one below it.
        var isAllowed: Bool { builtin.authority == .anyCoordinator && (isDirect || target == "@1/sink" && key == "sink") }

        /// Sends the message on a link of its own; returns whether the link is open afterwards.
        func isTaken(by node: Node) async throws -> Bool {
            let path = CoordinatorPath.root.appending(key)
            let message = try #require(AuthorityTests.message(builtin, about: path) ?? AuthorityTests.message(builtin, about: "/safe"))
            let payload = try PayloadCoder.encode(message, as: .json)
            let link = Link.over(try await PairConnection.dial(node.address, maximumMessageSize: 2 << 20))
            defer { link.close() }
            let isTaken = OneShot<Bool>()
            let handler = Link.Handler(
                frameReceived: { _, frame in if case .pong = frame.content { isTaken.settle(true) } },
                closed: { _, _ in isTaken.settle(false) }
            )
            link.start(handler)
            try link.send { intern in
                let ids = (intern(target), intern("/other"), intern(builtin.type.name))
                let ask = Ask(target: ids.0, sender: ids.1, message: ids.2, payload: payload)
                return Frame(.ask(ask), correlation: 1, codec: .json, flags: isDirect ? .direct : [])
            }
            try? link.send(Frame(.ping(Probe(timestampNanoseconds: 0, kind: .link)), correlation: 2))
            return await isTaken.value
        }

        var description: String { "\(builtin) about \(key), for \(target), direct: \(isDirect)" }

        static let all: [Attempt] = Builtin.allCases.flatMap { builtin in
            ["sink", "reader"].flatMap { key in
                ["@1/sink", "@1/sink/below"].flatMap { target in
                    [false, true].map { Attempt(builtin: builtin, key: key, target: target, isDirect: $0) }
                }
            }
        }
    }

    @Test("A node asks about children that the cluster places, and says nothing else between runtimes: its link is closed, and all know")
    func authority() async throws {
        try await with(.elsewhere(node: "first", epoch: 1)) { _, first, _ in
            first.places.epoch = 1
            print("allowed to a node: \(Attempt.all.filter(\.isAllowed))")
            for attempt in Attempt.all {
                let isTaken = try await attempt.isTaken(by: first)
                #expect(isTaken == attempt.isAllowed, "\(attempt)")
            }
            let refused = Attempt.all.filter { !$0.isAllowed }.map { $0.builtin.type.name }
            try await eventually("each is logged, and is an event") {
                [first.warnings.count, first.rules.count] == [refused.count, refused.count]
            }
            let (warnings, rules) = (first.warnings, first.rules)
            // Several links close at the same time.
            for name in refused {
                #expect(warnings.contains { $0.contains(name) })
                #expect(rules.contains { $0.hasPrefix("node caller: \(name) ") })
            }
            let states = try await first.runtime.snapshot().children.map(\.state)
            #expect(states == [.active, .active])
            try await first.runtime.ask(Note(number: 1), at: "/sink")
            #expect(first.notes == [1])
        }
    }

    @Test("A node that breaks rules as often as it can fills neither the log nor the events: each violation is told of or counted")
    func manyViolations() async throws {
        let node = try Node(violations: Violations.Limit(atOnce: 3, interval: .seconds(3600)))
        try await node.start()
        let attempt = try #require(Attempt.all.first { !$0.isAllowed })
        for _ in 0..<20 { #expect(try await !attempt.isTaken(by: node)) }
        // The node closes a link before it tells why.
        try await eventually("all are known") { node.runtime.core.observation.violations.untold == 17 }
        await node.stop()
        for (told, counted) in [(node.warnings, /unlogged=(\d+)/), (node.rules, /and (\d+) more/)] {
            let others = told.compactMap { $0.firstMatch(of: counted).flatMap { Int($0.output.1) } }
            // Those that were counted are told of at the node's end.
            #expect(told.count == 4 && others == [16], "\(told)")
        }
    }

    @Test("Violations of each sender are told of at once, then counted, and told of again after a quiet interval")
    func violations() async throws {
        let time = VirtualTime()
        let violations = Violations(Violations.Limit(atOnce: 2, interval: .seconds(10)), TimeSource(virtual: time))
        let told = Lock<[String]>([])
        func note(_ sender: String, _ count: Int) {
            for _ in 0..<count { violations.report(by: sender) { others in told.withLock { $0.append("\(sender) \(others)") } } }
        }
        func take() -> [String] {
            told.withLock { told in
                defer { told = [] }
                return told
            }
        }
        note("a", 5)
        note("b", 1)
        #expect(take() == ["a 0", "a 0", "b 0"])
        await time.move(by: .seconds(10))
        #expect(take() == ["a 2"])
        note("a", 4)
        note("b", 3)
        #expect(take() == ["b 0", "b 0"])
        await time.move(by: .seconds(10))
        #expect(take().sorted() == ["a 3", "b 0"])
        await time.move(by: .seconds(10))
        note("a", 3)
        #expect(take() == ["a 0", "a 0"])
        violations.tellRest()
        #expect(take() == ["a 0"])
    }

    /// Runs a caller, which has no such child, and two nodes that have one.
    private func with(
        _ place: ChildPlace,
        areWorkers: Bool = false,
        _ body: (_ caller: Node, _ first: Node, _ second: Node) async throws -> Void
    ) async throws {
        let caller = try Node(Places(place), hasSink: false)
        let (first, second) = (try Node(isWorker: areWorkers), try Node(isWorker: areWorkers))
        caller.places.address("first", first.address)
        caller.places.address("second", second.address)
        let nodes = [caller, first, second]
        do {
            for node in nodes { try await node.start() }
            try await body(caller, first, second)
        } catch {
            for node in nodes { await node.stop() }
            throw error
        }
        for node in nodes { await node.stop() }
    }

    /// Asks for notes, each of which is on its way before the next begins.
    private func ask(_ numbers: Range<Int>, of caller: Node, timeout: Duration = .seconds(20)) -> [Task<Void, any Error>] {
        numbers.map { number in Task.immediate { try await caller.runtime.ask(Note(number: number), timeout: timeout) } }
    }

    @Test("Messages go to the owner's node in order, and their replies, errors and streams come back")
    func crossing() async throws {
        try await with(.elsewhere(node: "first", epoch: 1)) { caller, first, second in
            first.places.epoch = 1
            for ask in ask(0..<500, of: caller) { try await ask.value }
            #expect(first.notes == Array(0..<500) && second.notes.isEmpty)
            #expect(try await caller.runtime.send(Note(number: 500)))
            try await eventually("the one-way message has arrived") { first.notes.count == 501 }
            try await caller.runtime.ask(Note(number: 501), at: "/sink")
            #expect(first.notes.last == 501)
            await #expect(throws: CoordinatorError.self) { try await caller.runtime.ask(named: "Sink.Nothing", payload: [:]) }
            #expect(try await caller.runtime.ask(Read(numbers: 500), at: "/reader") == Array(0..<500))
            #expect(try await caller.runtime.ask(Overhear(notes: 200), at: "/reader", timeout: .seconds(20)) == Array(0..<200))
        }
    }

    @Test("A message or a reply that is larger than a frame is refused between nodes, for that reason alone; others go on")
    func large() async throws {
        try await with(.elsewhere(node: "first", epoch: 1)) { caller, first, _ in
            first.places.epoch = 1
            let (small, large) = (1_000_000, 1_100_000)
            for (sent, returned) in [(large, 1), (1, large), (small, small)] {
                let ask = Large(text: String(repeating: "x", count: sent), reply: returned)
                do {
                    let reply = try await caller.runtime.ask(ask, timeout: .seconds(20))
                    #expect(reply.utf8.count == returned && sent == small)
                } catch let error as CoordinatorError {
                    #expect(error.code == .messageTooLarge && error.maybeExecuted == (returned == large), "\(error)")
                    #expect(error.message.contains("the other side takes none in parts") && sent != small, "\(error)")
                }
            }
        }
    }

    @Test("A node that isn't the owner any more refuses; the messages go to the next owner in order, once each")
    func moving() async throws {
        try await with(.elsewhere(node: "first", epoch: 1)) { caller, first, second in
            first.places.epoch = 1
            second.places.epoch = 2
            let asks = ask(0..<200, of: caller)
            try await eventually("messages arrive") { !first.notes.isEmpty }
            // In the middle of what arrives.
            first.places.epoch = nil
            let later = ask(200..<400, of: caller)
            caller.places.place = .elsewhere(node: "second", epoch: 2)
            let latest = ask(400..<600, of: caller)
            for ask in asks + later + latest { try await ask.value }
            #expect(first.notes + second.notes == Array(0..<600), "\(first.notes.count) at the first")
            #expect(!first.notes.isEmpty && !second.notes.isEmpty)
        }
    }

    @Test("A node that has heard of an owner before that one has asks again")
    func early() async throws {
        try await with(.elsewhere(node: "first", epoch: 7)) { caller, first, _ in
            let asks = ask(0..<50, of: caller)
            try await eventually("it has asked again and again") { first.places.questions.withLock { $0 } > 60 }
            #expect(first.notes.isEmpty)
            first.places.epoch = 7
            for ask in asks { try await ask.value }
            #expect(first.notes == Array(0..<50))
        }
    }

    @Test("A node that gets the child while messages arrive handles none before those that it has just refused")
    func inBetween() async throws {
        try await with(.elsewhere(node: "first", epoch: 7)) { caller, first, _ in
            first.places.place = .here
            first.places.epoch = 7
            var number = 0
            for round in 1...50 {
                first.places.refusals.withLock { $0 = 1 + round % 3 }
                let asks = ask(number..<number + 100, of: caller)
                number += 100
                for ask in asks { try await ask.value }
            }
            #expect(first.notes == Array(0..<number))
        }
    }

    @Test("Messages that were sent to the former owner, and may come back, come before all that go to the next")
    func slowFormerOwner() async throws {
        try await with(.elsewhere(node: "first", epoch: 1)) { caller, first, second in
            first.places.epoch = 1
            second.places.epoch = 2
            for ask in ask(0..<1, of: caller) { try await ask.value }
            // The former owner is about to refuse, and can't be heard yet.
            first.places.voice.close()
            defer { first.places.voice.open() }
            first.places.epoch = nil
            let asks = ask(1..<100, of: caller)
            caller.places.place = .elsewhere(node: "second", epoch: 2)
            let later = ask(100..<200, of: caller)
            try await eventually("the former owner is asked") { first.places.voice.isAwaited }
            // What could go to the next owner would be there before an answer on the same link.
            let router = try #require(caller.runtime.core.placed as? ClusterRouter)
            var next: Peer?
            try await eventually("there is a link to the next owner") {
                if case .there(let peer) = router.contact(with: "second") { next = peer }
                return next != nil
            }
            let peer = try #require(next)
            for _ in 0..<20 { _ = try await peer.inspect("takes", "@2/sink", timeout: .seconds(20), lane: .bulk) }
            #expect(second.notes.isEmpty)
            first.places.voice.open()
            for ask in asks + later { try await ask.value }
            #expect(first.notes == [0] && second.notes == Array(1..<200))
        }
    }

    @Test("What has waited for a life of the child goes to the next owner, when the epoch has ended meanwhile")
    func waitedForALife() async throws {
        try await with(.elsewhere(node: "first", epoch: 1)) { caller, first, second in
            first.places.epoch = 1
            first.places.place = .here
            second.places.epoch = 2
            first.places.address("second", second.address)
            let gate = OneShot<Void>()
            Sink.gates.withLock { $0[first.log] = gate }
            async let restarted = first.runtime.restart("/sink")
            defer { gate.settle(()) }
            func sink() async throws -> CoordinatorSnapshot? { try await first.runtime.snapshot().children.first { $0.path == "/sink" } }
            try await eventually("it starts") { [.starting, .restarting].contains(try await sink()?.state) }
            let (asks, own) = (ask(0..<50, of: caller), ask(100..<150, of: first))
            try await eventually("they wait for it") { try await sink()?.mailbox?.waiting == 100 }
            // The daemon was stopped past its lease, and goes on.
            first.places.epoch = nil
            for node in [caller, first] { node.places.place = .elsewhere(node: "second", epoch: 2) }
            gate.settle(())
            for ask in asks + own { try await ask.value }
            #expect(first.notes.isEmpty)
            #expect(second.notes.filter { $0 < 100 } == Array(0..<50) && second.notes.filter { $0 >= 100 } == Array(100..<150))
            _ = try await restarted
        }
    }

    @Test("What has waited for room on the way to the child's process goes to the next owner, when the epoch has ended meanwhile")
    func waitedForRoom() async throws {
        try await with(.elsewhere(node: "first", epoch: 1), areWorkers: true) { caller, first, second in
            first.places.epoch = 1
            first.places.place = .here
            second.places.epoch = 2
            first.places.address("second", second.address)
            @Sendable func place(_ node: Node) async throws -> Int32 {
                try await node.runtime.ask(Fixture.WhereAmI(), timeout: .seconds(20)).pid
            }
            let process = try await place(caller)
            func open() -> Int { first.runtime.core.observation.counts.openAsks.load(ordering: .relaxed) }
            try await stopProcess(process)
            defer { kill(process, SIGCONT) }
            let room = CreditWindow.link.share.messages
            let asks = [caller, first].flatMap { node in (0..<room).map { _ in Task.immediate { try await place(node) } } }
            // The room of asks before them may not have been given back yet: as many of the caller's wait on its own node then.
            var most = 0
            try await eventually("they wait for room: \(most) of \(2 * room)") {
                most = max(most, open())
                return most >= 2 * room - 8
            }
            first.places.epoch = nil
            for node in [caller, first] { node.places.place = .elsewhere(node: "second", epoch: 2) }
            kill(process, SIGCONT)
            var processes: [Int32: Int] = [:]
            for ask in asks { processes[try await ask.value, default: 0] += 1 }
            // The worker had got as many as it has room for, or fewer by those whose room it hadn't given back yet.
            #expect(processes.count == 2 && (1...room).contains(processes[process] ?? 0), "\(processes)")
        }
    }

    @Test("A node that can't be dialled keeps no message from the next owner")
    func deadFormerOwner() async throws {
        try await with(.elsewhere(node: "dead", epoch: 1)) { caller, _, second in
            caller.places.address("dead", "")
            second.places.epoch = 2
            let asks = ask(0..<100, of: caller)
            try await eventually("it's dialled") { caller.places.vainDials.withLock { $0 } == 1 }
            caller.places.place = .elsewhere(node: "second", epoch: 2)
            for ask in asks + ask(100..<200, of: caller) { try await ask.value }
            #expect(second.notes == Array(0..<200))
        }
    }

    @Test("Messages for a child that comes here are handled here, in order")
    func comingHere() async throws {
        let caller = try Node(Places(.nowhere))
        try await caller.start()
        let asks = ask(0..<100, of: caller)
        try await eventually("each has looked once, and what waits too") { caller.places.looks.withLock { $0 } > 100 }
        #expect(caller.notes.isEmpty)
        caller.places.place = .here
        let later = ask(100..<200, of: caller)
        for ask in asks + later { try await ask.value }
        #expect(caller.notes == Array(0..<200))
        await caller.stop()
    }

    @Test("A link that is lost ends what may have been handled, and nothing is handled twice")
    func lostLinks() async throws {
        try await with(.elsewhere(node: "first", epoch: 1)) { caller, first, _ in
            first.places.epoch = 1
            var (lost, number) = (0, 0)
            for _ in 0..<50 {
                let asks = ask(number..<number + 200, of: caller)
                number += 200
                let last = first.links.withLock { $0.last }
                last?.close()
                for ask in asks {
                    do { try await ask.value } catch let error as CoordinatorError where error.code == .peerLost {
                        #expect(error.maybeExecuted)
                        lost += 1
                    }
                }
            }
            // What was lost may still be handled; this is behind it.
            try await caller.runtime.ask(Note(number: number))
            let notes = first.notes
            #expect(Set(notes).count == notes.count)
            #expect(notes == notes.sorted() && notes.last == number)
            #expect(notes.count > number - lost)
        }
    }

    @Test("Without an owner a message waits for its deadline or five seconds, an acknowledged one longer; only so many wait")
    func waiting() async throws {
        let (caller, owner) = (try Node(Places(.nowhere), hasSink: false), try Node())
        caller.places.address("owner", owner.address)
        owner.places.epoch = 1
        try await caller.start()
        try await owner.start()
        let begun = ContinuousClock.now
        let patient = Task.immediate { try await caller.runtime.send(Note(number: 1)) }
        let acknowledged = Task.immediate { try await caller.runtime.send(Note(number: 3), acknowledged: true) }
        await #expect { try await caller.runtime.ask(Note(number: 0), timeout: .milliseconds(100)) } throws: { error in
            guard let error = error as? CoordinatorError else { return false }
            return error.code == .timedOut && error.provesNothingExecuted
        }
        let many = ask(0..<1_100, of: caller, timeout: .seconds(3))
        var codes: [CoordinatorError.Code: Int] = [:]
        for ask in many {
            do { try await ask.value } catch let error as CoordinatorError { codes[error.code, default: 0] += 1 }
        }
        // On a slow machine the first have timed out before the last are asked, and leave them their places.
        #expect(codes[.mailboxFull] ?? 0 > 0 && codes[.timedOut] ?? 0 >= 1_000, "\(codes)")
        await #expect { try await patient.value } throws: { error in
            guard let error = error as? CoordinatorError else { return false }
            return error.code == .peerLost && !error.maybeExecuted
        }
        #expect(ContinuousClock.now - begun > .seconds(4))
        // What waits looks again when something has changed, or a message has waited for too long.
        let (looks, sent) = (caller.places.looks.withLock { $0 }, many.count + 3)
        #expect(looks < sent + 20, "\(looks - sent) looks beside those of the messages themselves")
        caller.places.place = .elsewhere(node: "owner", epoch: 1)
        #expect(try await acknowledged.value)
        #expect(owner.notes == [3])
        caller.places.place = .nowhere
        let last = Task.immediate { try await caller.runtime.ask(Note(number: 2), timeout: .seconds(60)) }
        await caller.stop()
        await owner.stop()
        await #expect(throws: CoordinatorError.self) { try await last.value }
    }

    @Test("A target says for which epoch it's meant")
    func targets() throws {
        let target = try #require(ClusterTarget("@17/shop/catalog/x"))
        #expect(target.epoch == 17 && target.key == "shop" && target.rest == ["catalog", "x"])
        #expect(target.text == "@17/shop/catalog/x")
        #expect(ClusterTarget("@18446744073709551615/a")?.epoch == .max)
        for text in ["", "/shop", "@/shop", "@1", "@1/", "@-1/shop", "@1x/shop", "@18446744073709551616/a", "@1//"] {
            #expect(ClusterTarget(text) == nil, "\(text)")
        }
    }
}
