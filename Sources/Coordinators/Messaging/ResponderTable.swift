import WireProtocol

/// The rows of a coordinator's type.
///
/// All instances share one table. Rows are in the order of the array: the first that matches gets the message; if it lets the message
/// climb, the next that matches gets it, before the parent.
final class ResponderTable: Sendable {
    /// The rows that match a message.
    enum Match {
        case none
        /// One row and no other, which has a direct form.
        case direct(AnyDirectRow)
        case other
    }

    /// The rows for the messages of one type.
    private struct TypeRows {
        let rows: [MessageRow]
        /// The direct form of the only row.
        let direct: AnyDirectRow?
    }

    private let byType: TypeMap<TypeRows>
    private let byName: [String: [MessageRow]]
    /// Rows that match a prefix of the name.
    private let prefixed: [MessageRow]
    let lifecycle: [Row.Lifecycle]
    /// The rows for events, by the name of the child's type.
    let observers: [String: [Row.Observe]]
    let dismissal: Row.Dismissal?
    /// The row for messages to a pool, and its members' table.
    private let pool: (row: MessageRow, members: ResponderTable)?
    /// Names that several types of messages share.
    private let ambiguousNames: [String]
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
        for (index, row) in rows.enumerated() {
            switch row {
            case .message(let template):
                let row = template.at(index)
                directory.add(row)
                switch row.match {
                case .type(let name, let type):
                    byType[type, default: []].append(row)
                    byName[name, default: []].append(row)
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
        ambiguousNames = byName.filter { _, rows in Set(rows.map(\.typeOfMessage)).count > 1 }.keys.sorted()
        self.lifecycle = lifecycle
        self.observers = observers
        self.dismissal = dismissal
        self.pool = pool
        self.directory = directory
    }

    /// Checks that each name stands for one type of messages: from another process a message comes by its name.
    ///
    /// - Parameter coordinator: The name of the coordinators' type.
    func checkNames(of coordinator: String) throws(CoordinatorError) {
        guard let name = ambiguousNames.first else { return }
        throw CoordinatorError(
            .invalidName,
            "\(coordinator) responds to several types of messages that are named '\(name)': give them names of their own by `static let name`"
        )
    }

    /// Returns whether rows match a message, without a look at its name.
    ///
    /// - Parameter message: The type of the message.
    func match(for message: ObjectIdentifier) -> Match {
        guard prefixed.isEmpty else { return .other }
        guard let index = byType.index(of: message) else { return .none }
        return byType.values[index].direct.map { .direct($0) } ?? .other
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

    /// Returns the first row for a message, or the first after another row.
    func row(for body: Envelope.Body, after index: Int = -1) -> MessageRow? {
        let rows =
            switch body {
            case .value(let message): byType.index(of: ObjectIdentifier(type(of: message))).map { byType.values[$0].rows }
            case .encoded(let name, _, _): byName[name]
            }
        let exact = rows?.first { $0.index > index }
        if prefixed.isEmpty { return exact }
        let name = body.name
        let byPrefix = prefixed.first { row in
            guard row.index > index, case .prefix(let prefix) = row.match else { return false }
            return name.hasPrefix(prefix)
        }
        guard let byPrefix else { return exact }
        guard let exact, exact.index < byPrefix.index else { return byPrefix }
        return exact
    }
}

extension [ResponderTable.DirectoryRun] {
    fileprivate mutating func add(_ row: MessageRow) {
        let description = row.description
        // A message with a longer name can't come from another process.
        guard description.name.utf8.count <= FrameLimits.default.maximumNameLength else { return }
        let isForwarding = row.inline?.isForwarding == true
        if last?.isForwarding != isForwarding { append(ResponderTable.DirectoryRun(rows: [], isForwarding: isForwarding)) }
        self[count - 1].rows.append(description)
    }
}

extension MessageRow {
    /// The row as processes below are told it.
    fileprivate var description: Directory.Row {
        switch match {
        case .type(let name, _): Directory.Row(name, isInterceptor ? .intercepts : [])
        case .prefix(let prefix): Directory.Row(prefix, isInterceptor ? [.intercepts, .prefix] : .prefix)
        }
    }
}
