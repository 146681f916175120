import WireProtocol

/// The rows of a coordinator's type.
///
/// All instances share one table. Rows are in the order of the array: the first that matches gets the message; if it lets the message
/// climb, the next that matches gets it, before the parent.
final class ResponderTable: Sendable {
    private let byType: [ObjectIdentifier: [MessageRow]]
    private let byName: [String: [MessageRow]]
    /// Rows that match a prefix of the name.
    private let prefixed: [MessageRow]
    let lifecycle: [Row.Lifecycle]
    /// The rows for events, by the name of the child's type.
    let observers: [String: [Row.Observe]]
    let dismissal: Row.Dismissal?
    /// Names that several types of messages share: a message of such a name from another process may be decoded as the wrong one.
    let ambiguousNames: [String]
    /// The rows for messages as processes below are told them, in order.
    let directory: [Directory.Row]

    init(_ rows: [Row]) {
        var byType: [ObjectIdentifier: [MessageRow]] = [:]
        var byName: [String: [MessageRow]] = [:]
        var prefixed: [MessageRow] = []
        var lifecycle: [Row.Lifecycle] = []
        var observers: [String: [Row.Observe]] = [:]
        var dismissal: Row.Dismissal?
        var directory: [Directory.Row] = []
        for (index, row) in rows.enumerated() {
            switch row {
            case .message(let template):
                let row = template.at(index)
                directory.append(row.description)
                switch row.match {
                case .type(let name, let type):
                    byType[type, default: []].append(row)
                    byName[name, default: []].append(row)
                case .prefix:
                    prefixed.append(row)
                }
            case .lifecycle(let body): lifecycle.append(body)
            case .observe(let type, let body): observers[type, default: []].append(body)
            case .dismissal(let body): dismissal = dismissal ?? body
            }
        }
        self.byType = byType
        self.byName = byName
        self.prefixed = prefixed
        ambiguousNames = byName.filter { _, rows in Set(rows.map(\.typeOfMessage)).count > 1 }.keys.sorted()
        self.lifecycle = lifecycle
        self.observers = observers
        self.dismissal = dismissal
        // A message with a longer name can't come from another process.
        self.directory = directory.filter { $0.name.utf8.count <= FrameLimits.default.maximumNameLength }
    }

    /// Returns whether a row is for the events of children whose type has this name.
    func observes(_ typeName: String) -> Bool { !observers.isEmpty && observers[typeName] != nil }

    /// Returns the row for a message, if it's the only one.
    func onlyRow<M: ResponderMessage>(for message: M.Type) -> MessageRow? {
        guard prefixed.isEmpty, let rows = byType[ObjectIdentifier(message)], rows.count == 1 else { return nil }
        return rows[0]
    }

    /// Returns whether no row matches the message.
    func isPlain<M: ResponderMessage>(for message: M.Type) -> Bool {
        prefixed.isEmpty && byType[ObjectIdentifier(message)] == nil
    }

    /// Returns the first row for a message, or the first after another row.
    func row(for body: Envelope.Body, after index: Int = -1) -> MessageRow? {
        let rows =
            switch body {
            case .value(let message): byType[ObjectIdentifier(type(of: message))]
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

extension MessageRow {
    /// The row as processes below are told it.
    fileprivate var description: Directory.Row {
        switch match {
        case .type(let name, _): Directory.Row(name, isInterceptor ? .intercepts : [])
        case .prefix(let prefix): Directory.Row(prefix, isInterceptor ? [.intercepts, .prefix] : .prefix)
        }
    }
}
