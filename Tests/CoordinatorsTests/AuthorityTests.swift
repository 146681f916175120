import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import Fixtures
import Glibc
import Links
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// What a worker says that it may not say: every message between runtimes, every notification and every frame of a parent's, from a worker that writes
/// its frames by hand.
@Suite("Authority: what a worker may say", .timeLimit(minutes: 3))
struct AuthorityTests {
    /// One batch of frames that a worker sends.
    struct Attempt: CustomStringConvertible {
        var description: String
        var name: String
        /// The beginning of the reason that is given for closing the link.
        var rule: String
        var isAllowed: Bool
        var frames: [Frame]

        var bytes: [UInt8] {
            var batch: [UInt8] = []
            for frame in frames { FrameEncoder.append(frame, to: &batch) }
            return batch
        }
    }

    /// Whom a worker at `/evil` speaks about, and to: nobody by name, the root, a child in the root's process, another worker, itself.
    private static let subjects: [CoordinatorPath] = ["/safe", "/evil"]
    private static let tooLong = CoordinatorPath.root.appending("evil").appending(String(repeating: "x", count: 1_200))
    private static let targets = ["", "/", "/safe", "/vault", "/evil"]

    /// Returns a message about a coordinator; `nil` for a further coordinator if it's about none.
    static func message(_ builtin: Builtin, about path: CoordinatorPath) -> (any BuiltinMessage)? {
        switch builtin {
        case .navigate: Navigate(move: .rewind, path: path, incarnation: 0)
        case .finishPopped: FinishPopped(key: path.key, incarnation: 1)
        case .readEvents: ReadEvents(key: path.key)
        case .watchChild: WatchChild(key: path.key)
        case .readNavigation: path == "/safe" ? ReadNavigation() : nil
        case .setPages: path == "/safe" ? SetPages(pages: []) : nil
        case .uncovered: path == "/safe" ? Uncovered(page: nil) : nil
        case .openRoute: path == "/safe" ? OpenRoute(page: "opened", rest: []) : nil
        case .reconfigure:
            path == "/safe" ? Reconfigure(configuration: CarriedConfiguration(value: .value(Safe.Configuration(number: 7)))) : nil
        case .retire: path == "/safe" ? Retire() : nil
        }
    }

    private static func isAllowed(_ builtin: Builtin, to target: String, about path: CoordinatorPath) -> Bool {
        switch builtin.authority {
        case .parent: false
        case .ownSubtree: target.isEmpty && path == "/evil"
        case .below: target.isEmpty
        case .anyCoordinator: !target.isEmpty
        }
    }

    /// Returns a notification about a coordinator; `nil` if it's about none.
    private static func notice(_ type: any UpwardNotice.Type, about path: CoordinatorPath) throws -> (any UpwardNotice)? {
        switch type {
        case is UnhandledReport.Type: return nil
        case is DeadLetterReport.Type:
            return DeadLetterReport(count: 1, letters: [DeadLetter(name: "Forged", sender: "/evil", target: path, reason: .stopped)])
        case is SpanReport.Type:
            let trace = TraceIdentifier(high: 1, low: 1)
            let span = MessageSpan(
                trace: trace,
                span: 1,
                path: path,
                type: "",
                processID: 1,
                message: "Forged",
                sender: "/evil",
                isOutgoing: false,
                isOneWay: false,
                isRemote: false,
                began: 0,
                took: 0,
                waited: 0
            )
            return SpanReport(span)
        case is AskDurations.Type:
            // Asks of such a path are counted under another key.
            if path == tooLong { return nil }
            var asks = AskDurations()
            asks.count(AskDurations.Key(path: path.description, message: "Forged", hasFailed: false), .seconds(1))
            return asks
        case is LifecycleReport.Type: return LifecycleReport(changes: [LifecycleRecord(.adopted, of: path, 1, 1)])
        case is TreeEvent.Type: return TreeEvent(.event(type: "Forged"), at: path)
        case is MessageTraces.Report.Type:
            let hop = MessageTrace.Hop(
                path: path,
                type: "",
                processID: 1,
                message: "Forged",
                sender: "/evil",
                began: .zero,
                waited: .zero,
                took: .zero,
                error: nil
            )
            return MessageTraces.Report(trace: "", hop: hop)
        default:
            Issue.record("there is no \(type) here: add one")
            return nil
        }
    }

    /// Returns the frames of a message of which no answer is awaited: every second one is an ask.
    private static func frames(_ name: String, to target: String, _ payload: Bytes, _ number: Int) -> [Frame] {
        let id: NameID = target.isEmpty ? 0 : 1
        let ask = Ask(target: id, sender: 2, message: 3, payload: payload)
        let send = Send(target: id, sender: 2, message: 3, payload: payload)
        let flags: Flags = target.isEmpty ? [] : .direct
        let isAsk = number.isMultiple(of: 2)
        return names(target, name) + [
            Frame(isAsk ? .ask(ask) : .send(send), correlation: isAsk ? UInt64(number) + 1 : 0, codec: .json, flags: flags)
        ]
    }

    private static func names(_ target: String, _ name: String) -> [Frame] {
        [target.isEmpty ? "/" : target, "/evil", name].enumerated().map { Frame(.defineName(DefineName(id: NameID($0 + 1), text: $1))) }
    }

    /// Everything that there is to try, generated from the tables.
    static func attempts() throws -> [Attempt] {
        var attempts: [Attempt] = []
        func add(_ name: String, to target: String, _ payload: Bytes, about path: String, isAllowed: Bool) {
            // Every second one has no number: it's no ask.
            let isAllowed = isAllowed && (attempts.count.isMultiple(of: 2) || Builtin(named: name)?.isAsk != true)
            let description = "\(name) to '\(target)' about \(path)"
            let frames = frames(name, to: target, payload, attempts.count)
            let first = WireNames.first(in: name)
            attempts.append(
                Attempt(description: description, name: name, rule: "\(first) for '\(target)' ", isAllowed: isAllowed, frames: frames)
            )
        }
        for builtin in Builtin.allCases {
            for path in subjects {
                guard let message = message(builtin, about: path) else { continue }
                let payload = try PayloadCoder.encode(message, as: .json)
                for target in targets {
                    let isAllowed = isAllowed(builtin, to: target, about: path)
                    add(builtin.type.name, to: target, payload, about: "\(path)", isAllowed: isAllowed)
                }
            }
            // What can't be read is about nobody.
            let isAllowed = isAllowed(builtin, to: "/safe", about: "/safe")
            add(builtin.type.name, to: "/safe", [0x5B], about: "nothing", isAllowed: isAllowed)
        }
        for name in ["coordinators.", "coordinators.Unknown", "coordinators.Mine|Fixture.Echo"] {
            for target in ["", "/safe"] { add(name, to: target, [0x7B, 0x7D], about: "nothing", isAllowed: false) }
        }
        for type in WorkerHost.notices {
            for path in subjects + ["/", "/evil/child", "/evilest", tooLong] {
                guard let notice = try notice(type, about: path) else { continue }
                let payload = try PayloadCoder.encode(notice, as: .json)
                let name = type.notification
                let event = Frame(.event(Event(subject: 0, name: 3, payload: payload)), codec: .json)
                let isAllowed = path.isWithin("/evil") && path != tooLong
                let description = "\(name) about \(path.description.shortened)"
                let rule = "the notification \(description) "
                let frames = names("", name) + [event]
                attempts.append(Attempt(description: description, name: name, rule: rule, isAllowed: isAllowed, frames: frames))
            }
        }
        let parents: [(String, Content)] = [
            ("hello", .hello(Hello(secret: [], processID: 1, processStartTime: 1, buildID: "", maximumFrameSize: 1 << 20))),
            ("welcome", .welcome(Welcome(buildID: "", maximumFrameSize: 1 << 20, heartbeatMilliseconds: 0))),
            ("start", .start(Start(path: "/vault", type: "", startTimeoutMilliseconds: 0, configuration: []))),
            ("stop", .stop(Stop(target: 0, graceMilliseconds: 0))),
            ("pause", .pause(Pause(target: 0, reason: 0))),
            ("resume", .resume(Resume(target: 0, reason: 0))),
            ("dependency", .dependency(Dependency(name: 0, version: 1))),
            ("subscribe", .subscribe(Subscribe(subject: 0, name: 0, isActive: true))),
            ("directory", .directory(Directory(distance: 1, buildID: "", isLast: true, rows: []))),
        ]
        for (name, content) in parents {
            let rule = "a frame of the kind \(name) "
            attempts.append(Attempt(description: name, name: name, rule: rule, isAllowed: false, frames: [Frame(content)]))
        }
        var hello: [UInt8] = []
        FrameEncoder.append(Frame(parents[0].1), to: &hello)
        let parts: [(String, String, [Part])] = [
            ("part, not begun", "the peer sent a part of a frame that it hasn't begun", [Part(.last, [1])]),
            ("parts of two", "the peer began a frame in parts within another one", [Part(.first, [1]), Part(.first, [1])]),
            ("hello in parts", "the peer sent a frame of kind 1 in parts", [Part(.first, hello[..<20]), Part(.last, hello[20...])]),
        ]
        for (name, rule, parts) in parts {
            let frames = parts.map { Frame(.part($0)) }
            attempts.append(Attempt(description: name, name: "part", rule: rule, isAllowed: false, frames: frames))
        }
        return attempts
    }

    @Test(
        "A worker says only what is its own to say; all else closes its link, with a warning and a change, and harms nobody",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0, "needs /usr/bin/python3"),
        arguments: [nil, "nobody"]
    )
    func worker(user: String?) async throws {
        if user != nil, geteuid() != 0 { return print("skipped: only root can start workers of another user") }
        let attempts = try Self.attempts()
        let counts = Dictionary(grouping: attempts, by: \.name).mapValues { "\($0.count(where: \.isAllowed)) of \($0.count)" }
        print("allowed to \(user ?? "a worker"): \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
        try await withTemporaryDirectory { directory in
            chmod(directory.path, 0o711)
            try Files.write(attempts.map { $0.bytes.hexadecimal + "\n" }.joined(), to: directory.file("attempts"))
            try Files.write("", to: directory.file("notes"))
            for (name, mode) in [("attempts", 0o644), ("notes", 0o666)] as [(String, mode_t)] { chmod(directory.file(name), mode) }
            let log = RecordedLog()
            let broken = Lock<[(pid: Int32?, rule: String)]>([])
            var options = Support.options
            options.runtimeDirectory = directory.file("run")
            options.logger = log.logger
            options.violations.atOnce = .max
            options.lifeObserver = { changes, _ in
                for change in changes {
                    if case .brokeRule(let rule) = change.kind, change.path == "/evil" {
                        broken.withLock { $0.append((change.processID, rule)) }
                    }
                    #expect(change.kind != .adopted || change.path.isWithin("/evil"), "a forged change of \(change.path)")
                }
            }
            try await withRuntime(Root.self, options: options) { runtime in
                let vault = try await runtime.ask(Fixture.WhereAmI(), at: "/vault", timeout: .seconds(20))
                let stack = try runtime.root.ownNavigation?.entries
                #expect(stack?.map(\.path) == ["/safe"])
                let script = "\(Files.packageRoot)/Tests/PythonPeer/overstepping.py"
                let arguments = [script, directory.file("attempts"), directory.file("notes")]
                try await runtime.ask(Root.StartEvil(arguments: arguments, user: user), timeout: .seconds(20))
                let evil = try #require(try await runtime.snapshot(of: "/evil").processID)
                var outcomes: [Substring] = []
                try await eventually("everything was tried", within: .seconds(60)) {
                    outcomes = (Files.text(of: directory.file("notes")) ?? "").split(separator: "\n")
                    return outcomes.count == attempts.count
                }
                for (attempt, outcome) in zip(attempts, outcomes) {
                    #expect(outcome == (attempt.isAllowed ? "open" : "closed"), "\(attempt)")
                }
                let refused = attempts.filter { !$0.isAllowed }
                let user = user == nil ? geteuid() : getpwnam("nobody").pointee.pw_uid
                let process = " worker.pid=\(evil) worker.uid=\(user)"
                let lines = { log.lines.filter { $0.hasPrefix("warning: a worker's link was closed") && $0.hasSuffix(process) } }
                try await eventually("each was logged") { lines().count >= refused.count }
                try await eventually("each was reported") { broken.withLock { $0.count } >= refused.count }
                // The links close one after the other, and what is said of them may change places.
                for (rule, attempts) in Dictionary(grouping: refused, by: \.rule) {
                    let logged = lines().count { $0.contains(" coordinator.path=/evil reason=\(rule)") }
                    let reported = broken.withLock { $0 }.count { $0.pid == evil && $0.rule.hasPrefix("as user \(user): \(rule)") }
                    #expect(logged == attempts.count && reported == attempts.count, "\(rule)")
                }
                #expect(lines().count == refused.count)
                // A stranger gets no further than the greeting.
                let socket = try #require(Files.names(in: directory.file("run")).first { $0.hasSuffix(".sock") })
                let stranger = try RawSocket("\(directory.file("run"))/\(socket)")
                stranger.send(RawSocket.greeting + RawSocket.message(attempts.flatMap(\.bytes)))
                #expect(try await stranger.receiveUntilClosed() == RawSocket.greeting)
                // Nobody was harmed.
                #expect(try await runtime.ask(Safe.Harm(), at: "/safe", timeout: .seconds(20)) == [])
                #expect(try await runtime.ask(Fixture.WhereAmI(), at: "/vault", timeout: .seconds(20)) == vault)
                #expect(try runtime.root.ownNavigation?.entries == stack)
                #expect(try await runtime.snapshot().children.map(\.state) == [.active, .active, .active])
            }
        }
    }

    @Test("What is kept for those who watch or show pages has bounds: who is gone isn't kept, and a stack is full at some time")
    func bounds() async throws {
        try await withRuntime(Root.self, options: Support.options) { runtime in
            let root = try runtime.root
            func envelope(_ message: some BuiltinMessage) -> Envelope {
                Envelope(.value(message), asker: .function { _ in }, sender: "/evil", deadline: nil, isBuiltin: true)
            }
            let watched = envelope(WatchChild(key: "safe"))
            func watchers() -> Int? { root.existingChildren?.withSlot("safe") { $0.record.watchers.count } }
            root.acceptBuiltin(watched)
            #expect(watchers() == 1)
            watched.cancel()
            #expect(watchers() == 0)
            func show(_ page: JSONValue) -> Int? {
                root.climbBuiltin(envelope(Navigate(move: .show(page, isModal: false), path: "/evil", incarnation: 1)))
                return root.ownNavigation?.entries.count
            }
            let large = JSONValue.string(String(repeating: "x", count: NavigationStack.bytesLimit / 4))
            #expect((0..<8).map { _ in show(large) }.last == 1 + 3)
            for number in 0..<2 * NavigationStack.limit { _ = show(.integer(Int64(number))) }
            #expect(show(nil) == NavigationStack.limit)
            #expect(runtime.deadLetters.count >= UInt64(NavigationStack.limit))
        }
    }

    @Test("A worker describes its own subtree, as deep as can be shown")
    func description() {
        func node(_ path: CoordinatorPath, _ children: [CoordinatorSnapshot] = []) -> CoordinatorSnapshot {
            CoordinatorSnapshot(path: path, type: "", state: .active, host: .inProcess, incarnation: 1, restarts: 0, children: children)
        }
        let forged = ["/", "/vault", "/evil", "/evil/child/below", "/evilest/child", Self.tooLong].map { node($0) }
        let child = node("/evil/child", [node("/evil/child/below"), node("/evil/other")])
        let own = SelfDescription(mailbox: nil, children: forged + [child]).children(of: "/evil")
        #expect(own == [node("/evil/child", [node("/evil/child/below")])])
        var paths: [CoordinatorPath] = ["/evil"]
        for level in 0..<400 { paths.append(paths[level].appending("a")) }
        let deep = paths.dropFirst().reversed().reduce([]) { [node($1, $0)] }
        var (level, next) = (1, SelfDescription(mailbox: nil, children: deep).children(of: "/evil"))
        while let first = next.first { (level, next) = (level + 1, first.children) }
        #expect(level == SelfDescription.deepest)
    }

    @Test("Notices that others cause are bounded in a mailbox, in number and in bytes", arguments: [0, 100_000])
    func notices(_ size: Int) {
        var mailbox = Mailbox(Box(MailboxPolicy()))
        let text = String(repeating: "x", count: size)
        let items: [Mailbox.Item] = [.popped(.string(text)), .unhandled(UnhandledMessage(name: text, sender: .root))]
        let dropped = (0..<2 * Mailbox.eventLimit).reduce(0) { $0 + mailbox.append(items[$1 % 2]).count }
        let kept = 2 * Mailbox.eventLimit - dropped
        #expect(size == 0 ? kept == Mailbox.eventLimit : (30...42).contains(kept))
        #expect(mailbox.removeAll().count == kept)
    }

    @Test("Each message between runtimes has its own row, under the name that goes over a link")
    func table() {
        for builtin in Builtin.allCases {
            #expect(builtin.type.builtin == builtin && Builtin(named: builtin.type.name) == builtin)
            #expect(Builtins.isName(builtin.type.name))
        }
        #expect(Set(Builtin.allCases.map(\.authority)) == Set(Builtin.Authority.allCases))
    }

    @Test("What the other side would close the link for isn't sent", arguments: Builtin.allCases)
    func notSent(_ builtin: Builtin) async throws {
        try await RawPeer.with { raw in
            let message = try #require(Self.message(builtin, about: "/safe"))
            let outcome = RawPeer.Outcome()
            let envelope = Envelope(
                .value(message),
                asker: .function { outcome.settle($0) },
                sender: "/evil",
                deadline: nil,
                isBuiltin: true
            )
            #expect(raw.peer.forward(envelope, to: "/safe", isDirect: true))
            if builtin.authority == .parent { #expect(outcome.code == .unsupported) } else { #expect(outcome.outcome == nil) }
        }
    }
}

/// A child in the root's process that notes down what is done to it.
private actor Safe: Coordinator {
    typealias Page = String

    struct Configuration: CoordinatorConfiguration {
        var number = 1
    }

    struct Harm: ResponderMessage {
        typealias Reply = [String]
    }

    nonisolated let context: Context
    private var harm: [String] = []
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.respond(to: Harm.self) { me, _ in me.harm }]

    func start() async throws { context.show("first") }

    func reconfigured(from former: Configuration) async throws -> Reconfiguration {
        harm.append("reconfigured")
        return .taken
    }

    func display(page: String) async throws { harm.append("displayed \(page)") }
    func popped(to page: String?) async { harm.append("popped") }
}

private actor Root: Coordinator {
    struct StartEvil: ResponderMessage {
        var arguments: [String]
        var user: String?
    }

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: StartEvil.self) { me, start in
            try await me.context.start(
                worker: "PythonCoordinator",
                as: "evil",
                executable: "/usr/bin/python3",
                arguments: start.arguments,
                attributes: ProcessAttributes(user: start.user)
            )
        }
    ]

    func start() async throws {
        try await context.start(Safe.self, as: "safe")
        try await context.start(worker: "MiddleCoordinator", as: "vault", executable: Support.worker.path)
    }
}
