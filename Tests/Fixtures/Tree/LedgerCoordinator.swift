public import Coordinators
import Glibc

/// The messages of the tests of acknowledged messages.
public enum Ledger {
    /// An entry that the receiver writes into its file.
    public struct Enter: ResponderMessage {
        public var sender: Int
        public var number: Int
        /// The time that the handler takes after it has written.
        public var milliseconds: Int
        public init(_ sender: Int, _ number: Int, milliseconds: Int = 0) {
            (self.sender, self.number, self.milliseconds) = (sender, number, milliseconds)
        }
    }

    /// The same, for the root alone.
    public struct EnterAbove: ResponderMessage {
        public var enter: Enter
        public init(_ enter: Enter) { self.enter = enter }
    }

    /// The same, by a row that needs a dependency.
    public struct EnterInNeed: ResponderMessage {
        public var enter: Enter
        public init(_ enter: Enter) { self.enter = enter }
    }

    /// The same, which the root's row forwards to its child `beside`.
    struct EnterBeside: ResponderMessage {
        var enter: Enter
        init(_ enter: Enter) { self.enter = enter }
    }

    /// Makes a coordinator send entries beside itself, one after the other; the answer is the outcomes.
    public struct PushBeside: ResponderMessage {
        public typealias Reply = [String]
        public var sender: Int
        public var count: Int
        public init(_ sender: Int, _ count: Int) { (self.sender, self.count) = (sender, count) }
    }

    /// Makes a coordinator send entries to the root, one after the other; the answer is the number of those that were acknowledged.
    public struct Push: ResponderMessage {
        public typealias Reply = [String]
        public var sender: Int
        public var count: Int
        public init(_ sender: Int, _ count: Int) { (self.sender, self.count) = (sender, count) }
    }

    public struct StartBelow: ResponderMessage {
        public var key: String
        public init(_ key: String) { self.key = key }
    }

    /// May be asked again.
    public struct Read: ResponderMessage {
        public typealias Reply = Int
        public static var isIdempotent: Bool { true }
        public var number: Int
        public init(_ number: Int) { self.number = number }
    }

    /// Makes a process lose the link to its parent, from its own side.
    public struct CutUplink: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    /// The entries of a file, in their order.
    public struct Entry: Hashable, Sendable {
        public var path: String
        public var pid: Int32
        public var incarnation: Int
        public var sender: Int
        public var number: Int

        fileprivate var line: String { "\(path) \(pid) \(incarnation) \(sender) \(number)" }

        public init?(_ line: Substring) {
            let words = line.split(separator: " ")
            guard words.count == 5, let pid = Int32(words[1]), let incarnation = Int(words[2]), let sender = Int(words[3]),
                let number = Int(words[4])
            else { return nil }
            (path, self.pid, self.incarnation, self.sender, self.number) = (String(words[0]), pid, incarnation, sender, number)
        }

        fileprivate init(_ enter: Enter, by context: CoordinatorContext<some Coordinator>) {
            (path, pid, incarnation) = (context.path.description, getpid(), Int(context.incarnation))
            (sender, number) = (enter.sender, enter.number)
        }
    }

    /// Writes an entry, and takes the time that it says.
    fileprivate static func write(_ enter: Enter, to file: String, by context: CoordinatorContext<some Coordinator>) async throws {
        SharedFile.append(Entry(enter, by: context).line, to: file)
        guard enter.milliseconds > 0 else { return }
        try await Fixture.realTime(.milliseconds(enter.milliseconds), because: "kills must meet handlers that have written")
    }

    /// Shuts down the sockets of this process that it has dialled.
    fileprivate static func shutDownDialledSockets() -> Int {
        var count = 0
        for descriptor in 3..<Int32(256) {
            var address = sockaddr_un()
            var length = socklen_t(MemoryLayout<sockaddr_un>.size)
            // Unsafe: the call wants the address in its general form.
            let result = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            // Only the side that has dialled knows the other by a name.
            guard result == 0, address.sun_family == sa_family_t(AF_UNIX), length > 2 else { continue }
            shutdown(descriptor, Int32(SHUT_RDWR))
            count += 1
        }
        return count
    }
}

extension DependencyKeys {
    /// What rows of the ledger need.
    fileprivate var ink: DependencyKey<String> { .init() }
}

/// The root of a tree that keeps a ledger.
public actor LedgerRoot: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var file = ""
        /// The keys of the workers that `start` starts.
        public var children: [String] = []
        public var drains = false
        /// The number of members of the pool with the key "pool".
        public var members = 0
        /// The number of messages after which a member of the pool is replaced.
        public var recycling: Int?
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .respond(to: Ledger.EnterAbove.self) { me, message in
            try await Ledger.write(message.enter, to: me.context.configuration.file, by: me.context)
        },
        .respond(to: Ledger.StartBelow.self) { me, start in try await me.start(start.key) },
        .forward(prefix: "Ledger.EnterBeside", to: "beside"),
    ]

    public func start() async throws {
        await context.provide(\.ink, "blue")
        for key in context.configuration.children { try await start(key) }
        guard context.configuration.members > 0 else { return }
        let worker = Placement.worker(recycling: Recycling(messages: context.configuration.recycling))
        try await context.start(LedgerCoordinator.self, as: "pool", in: .pool(context.configuration.members, worker)) {
            [file = context.configuration.file] in
            $0.file = file
        }
    }

    private func start(_ key: String) async throws {
        if key == "beside" {
            try await context.start(BesideCoordinator.self, as: key, in: .worker) { [file = context.configuration.file] in $0.file = file }
            return
        }
        try await context.start(
            LedgerCoordinator.self,
            as: key,
            in: .worker,
            shutdown: context.configuration.drains ? .draining(.seconds(20)) : .timeout(.seconds(5))
        ) { [file = context.configuration.file] in $0.file = file }
    }
}

/// A coordinator that keeps a ledger for its siblings.
public actor BesideCoordinator: Coordinator {
    public typealias Configuration = LedgerCoordinator.Configuration

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Ledger.EnterBeside.self) { me, message in
            try await Ledger.write(message.enter, to: me.context.configuration.file, by: me.context)
        },
        .respond(to: Ledger.CutUplink.self) { _, _ in Ledger.shutDownDialledSockets() },
    ]
}

/// A coordinator that keeps a ledger, and has others below it that do.
public actor LedgerCoordinator: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var file = ""
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .respond(to: Ledger.Enter.self) { me, enter in
            try await Ledger.write(enter, to: me.context.configuration.file, by: me.context)
        },
        .respond(to: Ledger.EnterInNeed.self, needs: \.ink) { me, message, _ in
            try await Ledger.write(message.enter, to: me.context.configuration.file, by: me.context)
        },
        .respond(to: Ledger.PushBeside.self) { me, push in await me.push(push) },
        .respond(to: Ledger.Read.self) { _, read in read.number },
        .respond(to: Ledger.Push.self) { me, push in await me.push(push) },
        .respond(to: Ledger.StartBelow.self) { me, start in
            try await me.context.start(LedgerCoordinator.self, as: start.key, in: .worker) { [file = me.context.configuration.file] in
                $0.file = file
            }
        },
        .respond(to: Ledger.CutUplink.self) { _, _ in Ledger.shutDownDialledSockets() },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
    ]

    private func push(_ push: Ledger.Push) async -> [String] {
        await self.push(push.count) { Ledger.EnterAbove(.init(push.sender, $0)) }
    }

    private func push(_ push: Ledger.PushBeside) async -> [String] {
        await self.push(push.count) { Ledger.EnterBeside(.init(push.sender, $0)) }
    }

    private func push(_ count: Int, _ message: (Int) -> some ResponderMessage) async -> [String] {
        var outcomes: [String] = []
        for number in 0..<count {
            do {
                outcomes.append(try await context.send(message(number), acknowledged: true) ? "true" : "false")
            } catch {
                outcomes.append("\(error)")
            }
        }
        return outcomes
    }
}
