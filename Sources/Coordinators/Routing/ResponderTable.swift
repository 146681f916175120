import WireProtocol

/// The rows of a coordinator's type.
///
/// All instances share one table. Rows are in the order of the array: the first that matches gets the message; if it lets the message
/// climb, the next that matches gets it, before the parent.
final class ResponderTable: Sendable {
    /// The rows that match a message.
    enum Match {
        case none
        /// One row and no other, which has a direct form; it lives as long as the table.
        case direct(Unmanaged<AnyDirectRow>)
        case other
    }

    /// The rows for the messages of one type.
    private struct TypeRows {
        let rows: [MessageRow]
        /// The direct form of the only row.
        let direct: AnyDirectRow?
    }

    private let byType: TypeMap<TypeRows>
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
        self.byType = TypeMap(byType.mapValues { TypeRows(rows: $0, direct: $0.count == 1 ? $0[0].direct : nil) })
        self.byName = byName
        self.prefixed = prefixed
        self.messages = messages
        self.lifecycle = lifecycle
        self.observers = observers
        self.dismissal = dismissal
        self.pool = pool
        self.directory = directory
    }

    /// Returns whether rows match a message, without a look at its name.
    ///
    /// - Parameter message: The type of the message.
    func match(for message: ObjectIdentifier) -> Match {
        guard prefixed.isEmpty else { return .other }
        guard let index = byType.index(of: message) else { return .none }
        return byType.values[index].direct.map { .direct(.passUnretained($0)) } ?? .other
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

    /// Returns the first row for a message, or the first after another row.
    func row(for body: Envelope.Body, after index: Int = -1) -> MessageRow? {
        let rows =
            switch body {
            case .value(let message): byType.index(of: ObjectIdentifier(type(of: message))).map { byType.values[$0].rows }
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

extension String {
    /// Whether the name of a message begins with the components of a prefix, whether a dot follows them in it or not.
    func hasComponents(_ prefix: String) -> Bool {
        guard hasPrefix(prefix) else { return false }
        let rest = utf8.dropFirst(prefix.utf8.count)
        return prefix.isEmpty || rest.isEmpty || prefix.utf8.last == UInt8(ascii: ".") || rest.first == UInt8(ascii: ".")
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
