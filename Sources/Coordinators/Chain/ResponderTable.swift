import Synchronization
import WireProtocol

/// A coordinator's row without its type.
enum Row: Sendable {
    typealias Lifecycle = @Sendable (any Coordinator, AnyChild, LifecycleChange) async -> Void
    case message(MessageRow)
    case lifecycle(Lifecycle)
}

/// A row that answers or intercepts.
struct MessageRow: Sendable {
    typealias Body = @Sendable (any Coordinator, Envelope, Node) async throws -> Answer

    let name: String
    let type: ObjectIdentifier
    let isInterceptor: Bool
    let body: Body

    init<M: ResponderMessage>(_ message: M.Type, isInterceptor: Bool, body: @escaping Body) {
        name = M.name
        type = ObjectIdentifier(M.self)
        self.isInterceptor = isInterceptor
        self.body = body
    }

    static func mismatch(_ coordinator: any Coordinator, _ type: any Coordinator.Type) -> CoordinatorError {
        CoordinatorError(.unsupported, "a row of \(type) was called for a \(Swift.type(of: coordinator))")
    }
}

/// The rows of a coordinator's type.
///
/// One table serves all its instances.
///
/// A type has at most one row for a message that answers it and any number that intercept it; the first row of the array wins.
final class ResponderTable: Sendable {
    private let byType: [ObjectIdentifier: MessageRow]
    private let byName: [String: MessageRow]
    let lifecycle: [Row.Lifecycle]

    private static let tables = Mutex<[ObjectIdentifier: ResponderTable]>([:])

    static func of<C: Coordinator>(_ type: C.Type) -> ResponderTable {
        if let known = tables.withLock({ $0[ObjectIdentifier(type)] }) { return known }
        let table = ResponderTable(C.responders.map(\.row))
        return tables.withLock { tables in
            if let known = tables[ObjectIdentifier(type)] { return known }
            tables[ObjectIdentifier(type)] = table
            return table
        }
    }

    init(_ rows: [Row]) {
        var byType: [ObjectIdentifier: MessageRow] = [:]
        var byName: [String: MessageRow] = [:]
        var lifecycle: [Row.Lifecycle] = []
        for row in rows {
            switch row {
            case .message(let row):
                if byType[row.type] == nil { byType[row.type] = row }
                if byName[row.name] == nil { byName[row.name] = row }
            case .lifecycle(let body):
                lifecycle.append(body)
            }
        }
        self.byType = byType
        self.byName = byName
        self.lifecycle = lifecycle
    }

    func row(for body: Envelope.Body) -> MessageRow? {
        switch body {
        case .value(let message): byType[ObjectIdentifier(type(of: message))]
        case .encoded(let name, _, _): byName[name]
        }
    }
}

extension Envelope {
    /// The message as its handler wants it: as it is, or decoded once.
    func message<M: ResponderMessage>(as type: M.Type) throws -> M {
        switch body {
        case .value(let message):
            guard let message = message as? M else {
                throw CoordinatorError(.coding, "the message is \(Swift.type(of: message)), not \(type)")
            }
            return message
        case .encoded(_, let codec, let bytes):
            return try PayloadCoder.decode(type, from: bytes, codec: codec)
        }
    }
}
