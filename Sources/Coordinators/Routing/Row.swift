import ConcurrencySupport
import Synchronization

/// A coordinator's row without its type.
enum Row: Sendable {
    typealias Lifecycle = @Sendable (any Coordinator, AnyChild, LifecycleChange) async -> Void
    typealias Observe = @Sendable (any Coordinator, AnyChild, Answer) async throws -> Void
    typealias Dismissal = @Sendable (any Coordinator, AnyChild) async -> DismissalDecision

    case message(MessageRow)
    /// The row for messages to a pool itself that its members' table has rows for; those that climb past the pool don't meet it.
    case pool(MessageRow, ResponderTable)
    case lifecycle(Lifecycle)
    /// A row for the events of children whose type has this name.
    case observe(String, Observe)
    case dismissal(Dismissal)
}

/// A row that answers or intercepts.
///
/// A class, because each message in a mailbox refers to its row.
final class MessageRow: Sendable {
    typealias Body = @Sendable (any Coordinator, Envelope, Node, _ index: Int) async throws -> Answer
    typealias ImmediateBody = @Sendable (isolated any Coordinator, Envelope) throws -> Answer

    /// The messages that a row matches.
    enum Match: Sendable {
        case type(any ResponderMessage.Type)
        /// The messages of these first components of a name: `Cart` matches `Cart.Add`, and not `Cartography.Draw`; an empty one matches all.
        case prefix(String)
    }

    let match: Match
    let isInterceptor: Bool
    /// Whether the row only hands messages on: it's no handler of its own, and what refuses the message decides what that proves.
    let isRelay: Bool
    let needs: Needs
    /// Whether its handlers begin though others run, and others begin though they run, however few may run at the same time.
    let interleaves: Bool
    let body: Body
    /// The body in the form that doesn't suspend, if it has one: for an ask that runs in the asker's task.
    let direct: AnyDirectRow?
    /// The body in the form that doesn't suspend, if it has one: for a message from the mailbox, which needs no task of its own then.
    let immediate: ImmediateBody?
    /// The body in the form that isn't isolated to the coordinator, if the row is inline.
    let inline: InlineRow?
    /// The row's index in the table.
    let index: Int

    /// The dependencies that must be provided before the row can run.
    struct Needs: Sendable {
        private var keys: Keys?

        init() {}

        var isEmpty: Bool { keys == nil }

        /// - Parameter read: A function that returns the names of the keys that the properties read in some dependencies.
        init(_ read: @escaping @Sendable (Dependencies) -> [String]) {
            let keys = Keys(read)
            keys.learn(from: Dependencies())
            if !keys.areNone { self.keys = keys }
        }

        /// Returns whether all keys are provided that the property is known to read.
        func isProvided(by dependencies: Dependencies) -> Bool { keys?.areIn(dependencies) ?? true }

        /// Returns whether these dependencies may show that the property reads further keys, since it may have returned at the first absent
        /// key.
        func canLearn(from dependencies: Dependencies) -> Bool { keys.map { !$0.areComplete && $0.areIn(dependencies) } ?? false }

        /// Reads the property, which may create a service: to be called without a lock that the service's author could need.
        func learn(from dependencies: Dependencies) { keys?.learn(from: dependencies) }
    }

    /// The keys that a property of the dependencies reads, as far as is known.
    private final class Keys: Sendable {
        private let names = Lock<[String]>([])
        /// Whether the property has been read with all its keys provided.
        private let isComplete = Atomic(false)
        private let read: @Sendable (Dependencies) -> [String]

        init(_ read: @escaping @Sendable (Dependencies) -> [String]) { self.read = read }

        var areComplete: Bool { isComplete.load(ordering: .acquiring) }

        var areNone: Bool { names.withLock { $0.isEmpty } }

        func areIn(_ dependencies: Dependencies) -> Bool { names.withLock { $0.allSatisfy { dependencies.entries[$0] != nil } } }

        func learn(from dependencies: Dependencies) {
            let found = read(dependencies)
            names.withLock { names in names += Set(found).subtracting(names) }
            if found.allSatisfy({ dependencies.entries[$0] != nil }) { isComplete.store(true, ordering: .releasing) }
        }
    }

    init(
        _ match: Match,
        isInterceptor: Bool = false,
        isRelay: Bool = false,
        needs: Needs = Needs(),
        interleaves: Bool = false,
        index: Int = 0,
        direct: AnyDirectRow? = nil,
        immediate: ImmediateBody? = nil,
        inline: InlineRow? = nil,
        body: @escaping Body
    ) {
        self.match = match
        self.isInterceptor = isInterceptor
        self.isRelay = isRelay
        self.needs = needs
        self.interleaves = interleaves
        self.index = index
        self.direct = direct
        self.immediate = immediate
        self.inline = inline
        self.body = body
    }

    /// Returns the row as it stands at an index of a table.
    func at(_ index: Int) -> MessageRow {
        MessageRow(
            match,
            isInterceptor: isInterceptor,
            isRelay: isRelay,
            needs: needs,
            interleaves: interleaves,
            index: index,
            direct: direct,
            immediate: immediate,
            inline: inline,
            body: body
        )
    }

    /// The only type of messages that the row matches; nil if it matches by prefix.
    var typeOfMessage: (any ResponderMessage.Type)? {
        if case .type(let type) = match { type } else { nil }
    }

    /// Creates a row whose body takes its coordinator and its message typed.
    convenience init<C: Coordinator, M: ResponderMessage>(
        _ message: M.Type,
        of coordinator: C.Type,
        isInterceptor: Bool = false,
        needs: Needs = Needs(),
        interleaves: Bool = false,
        body: @escaping @Sendable (isolated C, M, Envelope, Node, Int) async throws -> Answer
    ) {
        let match = Match.type(M.self)
        self.init(match, isInterceptor: isInterceptor, needs: needs, interleaves: interleaves) { coordinator, envelope, node, index in
            try await body(Self.cast(coordinator), envelope.message(as: M.self, isLast: !isInterceptor), envelope, node, index)
        }
    }

    /// Creates a row whose body doesn't suspend.
    convenience init<C: Coordinator, M: ResponderMessage>(
        interleaves: Bool,
        _ body: @escaping @Sendable (isolated C, M) throws -> M.Reply
    ) {
        self.init(
            .type(M.self),
            interleaves: interleaves,
            direct: TypedDirectRow<C, M>(body),
            immediate: { coordinator, envelope in
                // Rows are called only for coordinators of their table.
                let me = unsafeDowncast(coordinator, to: C.self)
                let message = try envelope.message(as: M.self, isLast: true)
                return .value(try me.assumeIsolated { try body($0, message) })
            },
            body: { coordinator, envelope, _, _ in
                let me: C = try Self.cast(coordinator)
                return .value(try await body(me, envelope.message(as: M.self, isLast: true)))
            }
        )
    }

    /// Creates a row whose body neither suspends nor is isolated to its coordinator.
    convenience init<C: Coordinator, M: ResponderMessage>(inline body: @escaping @Sendable (C, M) throws -> M.Reply) {
        let inline: InlineRow.Body = { coordinator, envelope in
            // Rows are called only for coordinators of their table.
            .value(try body(unsafeDowncast(coordinator, to: C.self), envelope.message(as: M.self, isLast: true)))
        }
        self.init(
            .type(M.self),
            // It takes no turn, and so waits for none where it has to wait at all.
            interleaves: true,
            direct: TypedDirectRow<C, M>(inline: body),
            immediate: { coordinator, envelope in try inline(coordinator, envelope) },
            inline: InlineRow(inline),
            body: { coordinator, envelope, _, _ in try inline(coordinator, envelope) }
        )
    }

    /// Returns the coordinator as its own type; rows are called only for coordinators of their table.
    static func cast<C: Coordinator>(_ coordinator: any Coordinator) throws -> C {
        if let me = coordinator as? C { return me }
        throw CoordinatorError(.unsupported, "a row of \(C.self) was called for a \(Swift.type(of: coordinator))")
    }
}

extension Envelope {
    /// Returns the message as its handler's type: the value itself, or decoded once.
    ///
    /// - Parameter isLast: Whether the message isn't read again, so that its bytes are released.
    func message<M: ResponderMessage>(as type: M.Type, isLast: Bool = false) throws -> M {
        switch body {
        case .value(let message):
            guard let message = message as? M else {
                throw CoordinatorError(.coding, "the message is \(Swift.type(of: message)), not \(type)")
            }
            return message
        case .encoded(_, let codec, let payload):
            return try PayloadCoder.decode(type, from: isLast ? payload.take() : payload.bytes, codec: codec)
        }
    }
}
