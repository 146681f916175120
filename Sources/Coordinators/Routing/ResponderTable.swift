import ConcurrencySupport
import Synchronization
import WireProtocol

/// The rows of a coordinator's type.
///
/// All instances share one table. Rows are in the order of the array: the first that matches gets the message; if it lets the message
/// climb, the next that matches gets it, before the parent.
final class ResponderTable: Sendable {
    /// The rows for the messages of each type.
    private let byType: TypeMap<[MessageRow]>
    /// The first row for the messages of each type.
    private let firstByType: TypeMap<Unmanaged<MessageRow>>
    #if !SLOW_PATH_ONLY
    let directRows: DirectRows
    #endif
    /// The rows by each name of their types, and by all names in one text.
    private let byName: [String: [MessageRow]]
    /// Rows that match a prefix of the name.
    private let prefixed: [MessageRow]
    let lifecycle: [Row.Lifecycle]
    /// The rows for events, by the name of the child's type.
    let observers: [String: [Row.Observe]]
    let dismissal: Row.Dismissal?
    /// The row for messages to a pool, and its members' table.
    private let pool: (row: MessageRow, members: ResponderTable)?
    /// The types of messages that rows name, each once.
    let messages: [any ResponderMessage.Type]
    /// The names of the messages that rows name, former ones included.
    var names: [String] { messages.flatMap { message in message.names } }
    /// The rows for messages as processes below are told them, in order, in runs of rows that are alike in where their messages are read.
    let directory: [DirectoryRun]

    /// Rows that stand next to each other.
    struct DirectoryRun: Sendable {
        var rows: [Directory.Row]
        /// Whether the messages are read by another coordinator, which may be in a process of another build.
        let isForwarding: Bool
    }

    init(_ rows: [Row]) {
        var byType: [ObjectIdentifier: [MessageRow]] = [:]
        var byName: [String: [MessageRow]] = [:]
        var prefixed: [MessageRow] = []
        var lifecycle: [Row.Lifecycle] = []
        var observers: [String: [Row.Observe]] = [:]
        var dismissal: Row.Dismissal?
        var pool: (row: MessageRow, members: ResponderTable)?
        var directory: [DirectoryRun] = []
        var messages: [any ResponderMessage.Type] = []
        for (index, row) in rows.enumerated() {
            switch row {
            case .message(let template):
                let row = template.at(index)
                directory.add(row)
                switch row.match {
                case .type(let type):
                    if byType[ObjectIdentifier(type)] == nil { messages.append(type) }
                    byType[ObjectIdentifier(type), default: []].append(row)
                    for name in Set(type.names + [type.wireName]) { byName[name, default: []].append(row) }
                case .prefix:
                    prefixed.append(row)
                }
            case .pool(let template, let members): pool = (template.at(index), members)
            case .lifecycle(let body): lifecycle.append(body)
            case .observe(let type, let body): observers[type, default: []].append(body)
            case .dismissal(let body): dismissal = dismissal ?? body
            }
        }
        self.byType = TypeMap(byType)
        firstByType = TypeMap(byType.compactMapValues { $0.first.map(Unmanaged.passUnretained) })
        #if !SLOW_PATH_ONLY
        directRows = DirectRows(byType, arePrefixed: !prefixed.isEmpty)
        #endif
        self.byName = byName
        self.prefixed = prefixed
        self.messages = messages
        self.lifecycle = lifecycle
        self.observers = observers
        self.dismissal = dismissal
        self.pool = pool
        self.directory = directory
    }

    /// Returns whether a row is for the events of children whose type has this name.
    func observes(_ typeName: String) -> Bool { !observers.isEmpty && observers[typeName] != nil }

    /// Whether the coordinator stands for a pool.
    var isPool: Bool { pool != nil }

    /// Returns the row for a message to a pool, if its members know the message.
    func poolRow(for body: Envelope.Body) -> MessageRow? {
        guard let pool, pool.members.row(for: body) != nil else { return nil }
        return pool.row
    }

    /// Returns whether a message that has a row is of a type that declares itself idempotent.
    func isIdempotent(_ body: Envelope.Body) -> Bool {
        switch body {
        case .value(let message): type(of: message).isIdempotent
        case .encoded(let name, _, _): rows(named: name)?.lazy.compactMap(\.typeOfMessage).first?.isIdempotent == true
        }
    }

    /// Whether there are rows that match a prefix of a message's name, so that the name has to be looked at.
    var hasPrefixes: Bool { !prefixed.isEmpty }

    /// Returns the first row for messages of a type, without a look at a message; `nil` if there is none, or if there are prefixes.
    ///
    /// Not retained, because its count of references would be shared by all senders: it lives as long as the table.
    func firstRow(for message: ObjectIdentifier) -> Unmanaged<MessageRow>? {
        hasPrefixes ? nil : firstByType.index(of: message).map { firstByType.values[$0] }
    }

    /// Returns the first row for a message, or the first after another row.
    func row(for body: Envelope.Body, after index: Int = -1) -> MessageRow? {
        let rows =
            switch body {
            case .value(let message): byType.index(of: ObjectIdentifier(type(of: message))).map { byType.values[$0] }
            case .encoded(let name, _, _): self.rows(named: name)
            }
        let exact = rows?.first { $0.index > index }
        guard !prefixed.isEmpty, let byPrefix = rowByPrefix(for: body, known: rows?.first, after: index) else { return exact }
        guard let exact, exact.index < byPrefix.index else { return byPrefix }
        return exact
    }

    /// Returns the rows for an encoded message; of several names the first counts for which there are any.
    private func rows(named text: String) -> [MessageRow]? {
        if let rows = byName[text] { return rows }
        guard WireNames.areSeveral(in: text) else { return nil }
        return WireNames.all(in: text).lazy.compactMap { self.byName[String($0)] }.first
    }

    /// Returns the first row with a prefix of one of the message's names.
    ///
    /// - Parameter known: A row for messages of that name, whose type may have names that the sender's build doesn't know.
    private func rowByPrefix(for body: Envelope.Body, known: MessageRow?, after index: Int) -> MessageRow? {
        let text = body.wireName
        let isRenamed = WireNames.areSeveral(in: text) || known?.typeOfMessage?.formerNames.isEmpty == false
        let names = isRenamed ? WireNames.all(in: text).map { String($0) } + (known?.typeOfMessage?.names ?? []) : [text]
        return prefixed.first { row in
            guard row.index > index, case .prefix(let prefix) = row.match else { return false }
            return names.contains { $0.hasComponents(prefix) }
        }
    }
}

extension [ResponderTable.DirectoryRun] {
    fileprivate mutating func add(_ row: MessageRow) {
        // A message with a longer name can't come from another process.
        let descriptions = row.descriptions.filter { $0.name.utf8.count <= FrameLimits.default.maximumNameLength }
        guard !descriptions.isEmpty else { return }
        let isForwarding = row.inline?.isForwarding == true
        if last?.isForwarding != isForwarding { append(ResponderTable.DirectoryRun(rows: [], isForwarding: isForwarding)) }
        self[count - 1].rows += descriptions
    }
}

extension MessageRow {
    /// The row as processes below are told it, once for each name.
    fileprivate var descriptions: [Directory.Row] {
        switch match {
        case .type(let type): type.names.map { Directory.Row($0, isInterceptor ? .intercepts : []) }
        case .prefix(let prefix): [Directory.Row(prefix, isInterceptor ? [.intercepts, .prefix] : .prefix)]
        }
    }
}

// MARK: - Rows

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
    typealias Body = @Sendable (any Coordinator, Envelope, any MessageReceiver, _ index: Int) async throws -> Answer
    typealias ImmediateBody = @Sendable (isolated any Coordinator, Envelope) throws -> Answer
    typealias AcceptedBody = @Sendable (isolated any Coordinator, any ResponderMessage) throws -> Void

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
    /// Whether its messages are taken by commits of a durable flow, which knows those that it has taken.
    let isDurable: Bool
    let needs: Needs
    /// Whether its handlers begin though others run, and others begin though they run, however few may run at the same time.
    let interleaves: Bool
    let body: Body
    /// The body in the form that doesn't suspend, if it has one: for a message from the mailbox, which needs no task of its own then.
    let immediate: ImmediateBody?
    /// That form for a message whose answer nobody wants.
    let accepted: AcceptedBody?
    /// The body in the form that isn't isolated to the coordinator, if the row is inline.
    let inline: InlineRow?
    let shortcuts: Shortcuts
    /// The row's index in the table.
    let index: Int

    /// The forms of a body that shortcuts run; none without them.
    struct Shortcuts: Sendable {
        #if !SLOW_PATH_ONLY
        /// The body in the form that doesn't suspend, if it has one: for an ask that runs in the asker's task.
        var direct: AnyDirectRow?
        #endif

        init() {}

        init<C: Coordinator, M: ResponderMessage>(_ body: @escaping @Sendable (isolated C, M) throws -> M.Reply) {
            #if !SLOW_PATH_ONLY
            direct = TypedDirectRow<C, M>(body)
            #endif
        }

        init<C: Coordinator, M: ResponderMessage>(inline body: @escaping @Sendable (C, M) throws -> M.Reply) {
            #if !SLOW_PATH_ONLY
            direct = TypedDirectRow<C, M>(inline: body)
            #endif
        }
    }

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

        /// What some dependencies have of what the row needs.
        enum Standing {
            /// A key is absent that the property is known to read.
            case absent
            /// The property has to be read: it may have returned at the first absent key, and all that are known are there now.
            case unread
            case provided
        }

        /// Returns what is known at this moment, which is to be asked once for a decision: the keys are those of all coordinators of a type, so
        /// that another one may learn of further ones meanwhile.
        func standing(in dependencies: Dependencies) -> Standing {
            guard let keys else { return .provided }
            // In this order: when all are known, these are all.
            let areComplete = keys.areComplete
            return keys.areIn(dependencies) ? areComplete ? .provided : .unread : .absent
        }

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
        isDurable: Bool = false,
        needs: Needs = Needs(),
        interleaves: Bool = false,
        index: Int = 0,
        immediate: ImmediateBody? = nil,
        accepted: AcceptedBody? = nil,
        inline: InlineRow? = nil,
        shortcuts: Shortcuts = Shortcuts(),
        body: @escaping Body
    ) {
        self.match = match
        self.isInterceptor = isInterceptor
        self.isRelay = isRelay
        self.isDurable = isDurable
        self.needs = needs
        self.interleaves = interleaves
        self.index = index
        self.immediate = immediate
        self.accepted = accepted
        self.inline = inline
        self.shortcuts = shortcuts
        self.body = body
    }

    /// Returns the row as it stands at an index of a table.
    func at(_ index: Int) -> MessageRow {
        MessageRow(
            match,
            isInterceptor: isInterceptor,
            isRelay: isRelay,
            isDurable: isDurable,
            needs: needs,
            interleaves: interleaves,
            index: index,
            immediate: immediate,
            accepted: accepted,
            inline: inline,
            shortcuts: shortcuts,
            body: body
        )
    }

    /// The only type of messages that the row matches; nil if it matches by prefix.
    var typeOfMessage: (any ResponderMessage.Type)? {
        if case .type(let type) = match { type } else { nil }
    }

    /// Creates a row whose body doesn't suspend.
    convenience init<C: Coordinator, M: ResponderMessage>(
        interleaves: Bool,
        _ body: @escaping @Sendable (isolated C, M) throws -> M.Reply
    ) {
        // Unsafe: the types differ in what the compiler checks, and in nothing else. The body is called on the executor of its coordinator.
        let isolated = unsafeBitCast(body, to: (@Sendable (C, M) throws -> M.Reply).self)
        self.init(
            .type(M.self),
            interleaves: interleaves,
            immediate: { coordinator, envelope in
                // Rows are called only for coordinators of their table.
                .value(try isolated(unsafeDowncast(coordinator, to: C.self), envelope.message(as: M.self, isLast: true)))
            },
            accepted: { coordinator, message in
                _ = try Envelope.withMessage(message, as: M.self) { try isolated(unsafeDowncast(coordinator, to: C.self), $0) }
            },
            shortcuts: Shortcuts(body),
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
            immediate: { coordinator, envelope in try inline(coordinator, envelope) },
            inline: InlineRow(inline),
            shortcuts: Shortcuts(inline: body),
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
        case .value(let message): return try Self.message(message, as: type)
        case .encoded(_, let codec, let payload):
            return try PayloadCoder.decode(type, from: isLast ? payload.takeBytes() : payload.bytes, codec: codec)
        }
    }

    /// Returns a message as its handler's type.
    static func message<M: ResponderMessage>(_ message: any ResponderMessage, as type: M.Type) throws -> M {
        try withMessage(message, as: type) { $0 }
    }

    /// Calls a function with a message as its handler's type, without a copy, if it has the type that it usually has; a cast would look for more.
    static func withMessage<Value: ResponderMessage, M: ResponderMessage, Result>(
        _ message: Value,
        as type: M.Type,
        _ body: (M) throws -> Result
    ) throws -> Result {
        guard Value.self == type else { return try body(cast(message, to: type)) }
        // Unsafe: it's the same type.
        return try withUnsafePointer(to: message) { try $0.withMemoryRebound(to: M.self, capacity: 1) { try body($0.pointee) } }
    }

    @inline(never)
    private static func cast<M: ResponderMessage>(_ message: any ResponderMessage, to type: M.Type) throws -> M {
        guard let message = message as? M else {
            throw CoordinatorError(.coding, "the message is \(Swift.type(of: message)), not \(type)")
        }
        return message
    }
}

// MARK: - Values by type

/// Values by the types of messages.
///
/// Each ask looks up a row at every coordinator that it passes. A dictionary hashes the key with great care each time; addresses of types
/// are spread well enough by one multiplication.
struct TypeMap<Value: Sendable>: Sendable {
    /// The types in their slots, a power of two of them; at least half are empty, so that every search ends.
    private let types: [ObjectIdentifier?]
    /// The index of each type's value.
    private let indices: [Int]
    /// The values; a part of one is read by its index, without a copy of the whole.
    let values: [Value]
    private let shift: Int

    init(_ values: [ObjectIdentifier: Value]) {
        var bits = 1
        while 1 << bits < 2 * values.count { bits += 1 }
        let (shift, mask) = (UInt.bitWidth - bits, 1 << bits - 1)
        var types = [ObjectIdentifier?](repeating: nil, count: mask + 1)
        var indices = [Int](repeating: 0, count: mask + 1)
        for (index, type) in values.keys.enumerated() {
            var slot = Self.slot(of: type, shift)
            while types[slot] != nil { slot = (slot + 1) & mask }
            (types[slot], indices[slot]) = (type, index)
        }
        (self.types, self.indices, self.values, self.shift) = (types, indices, Array(values.values), shift)
    }

    /// Returns the index of a type's value.
    func index(of type: ObjectIdentifier) -> Int? {
        var slot = Self.slot(of: type, shift)
        while let found = types[slot] {
            if found == type { return indices[slot] }
            slot = (slot + 1) & (types.count - 1)
        }
        return nil
    }

    /// Returns the slot at which the search begins: the upper bits of the address times the golden ratio (Knuth, TAOCP 3, 6.4).
    private static func slot(of type: ObjectIdentifier, _ shift: Int) -> Int {
        Int(truncatingIfNeeded: (UInt(bitPattern: type) &* 0x9E37_79B9_7F4A_7C15) >> UInt(shift))
    }
}

/// A row that is carried out on the thread that delivers the message: that of the link, or the asker's own.
final class InlineRow: Sendable {
    typealias Body = @Sendable (any Coordinator, Envelope) throws -> Answer

    enum Work {
        /// The body answers the message.
        case answer(Body)
        /// The message goes to a child.
        case forward(ForwardTarget)
    }

    /// The time that a body may hold up a link before it's logged.
    static let patience = Duration.milliseconds(10)

    let work: Work
    /// Whether a slow body has been logged.
    let isKnownAsSlow = Atomic(false)

    init(_ body: @escaping Body) { work = .answer(body) }

    init(forwardingTo target: ForwardTarget) { work = .forward(target) }

    var isForwarding: Bool {
        if case .forward = work { true } else { false }
    }
}
