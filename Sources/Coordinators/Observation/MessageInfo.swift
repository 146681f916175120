import ConcurrencySupport
import WireProtocol

/// What an instrument learns of a message; never the message itself.
public struct MessageInfo: Sendable {
    /// The side of a message's way on which it's observed.
    public enum Direction: String, Sendable, Hashable {
        /// The message is sent. The time that it takes is what its sender waits, with all attempts of an ask that is repeated.
        case outgoing
        /// The message is handled, by a row that answers or intercepts it. A message that is only forwarded isn't handled.
        case incoming
    }

    /// The kinds of messages.
    public enum Kind: String, Sendable, Hashable {
        /// The sender waits for the answer.
        case ask
        /// The message is one-way.
        case send
        /// The sender reads a stream of replies.
        case stream
    }

    private enum Name: Sendable {
        case text(String)
        case type(any ResponderMessage.Type)
    }

    /// Whether the message is sent or handled.
    public let direction: Direction
    /// The kind of the message.
    public let kind: Kind
    /// The coordinator that sent the message first; an interceptor that lets it climb isn't its sender.
    public let sender: CoordinatorPath
    /// The coordinator that handles the message, or to which it's addressed; `nil` for a message that is sent up the chain.
    public let target: CoordinatorPath?
    /// The type of the coordinator that handles or sends the message, of which there are fewer than paths; `nil` for code outside of the tree.
    public let coordinatorType: String?
    /// Whether the message that is handled has come from another process.
    public let isRemote: Bool
    /// The time for which the message that is handled has waited since it was sent or has arrived in this process.
    public let waited: Duration
    private let named: Name
    private let traced: Bytes

    /// The name of the message, such as "Cart.Add".
    ///
    /// Names that begin with "coordinators." are the runtime's own: a route is opened, or a configuration has changed.
    public var name: String {
        switch named {
        case .text(let names): WireNames.first(in: names)
        case .type(let type): type.name
        }
    }

    /// The coordinator that handles or sends the message.
    public var path: CoordinatorPath { direction == .incoming ? target ?? sender : sender }

    /// The trace that the message belongs to before the instrument: that of its sender, or the one with which it has come.
    ///
    /// An instrument continues the trace by setting ``TraceContext/current`` around `next`.
    public var trace: TraceContext? { TraceContext(traced) }

    /// Creates the description of a message, for tests of an instrument.
    public init(
        name: String,
        direction: Direction,
        kind: Kind = .ask,
        sender: CoordinatorPath = .root,
        target: CoordinatorPath? = nil,
        coordinatorType: String? = nil,
        isRemote: Bool = false,
        waited: Duration = .zero,
        trace: TraceContext? = nil
    ) {
        (self.direction, self.kind, self.sender, self.target) = (direction, kind, sender, target)
        (self.coordinatorType, self.isRemote, self.waited) = (coordinatorType, isRemote, waited)
        (named, traced) = (.text(name), trace?.bytes ?? [])
    }
}

extension MessageInfo {
    /// Creates the description of a message that a coordinator handles now.
    init(_ envelope: Envelope, handledBy receiver: some MessageReceiver) {
        direction = .incoming
        kind = envelope.flow != nil ? .stream : envelope.isOneWay || envelope.isAcknowledged ? .send : .ask
        (sender, target, coordinatorType) = (envelope.sender, receiver.path, receiver.typeName)
        switch envelope.asker {
        case .peer, .taken: isRemote = true
        case .task, .relay, .function: isRemote = false
        }
        waited = .now - envelope.arrived
        named =
            switch envelope.body {
            case .value(let message): .type(type(of: message))
            case .encoded(let name, _, _): .text(name)
            }
        traced = envelope.trace
    }

    /// Creates the description of an ask that runs in its asker's task, and is handled now.
    @inline(__always)  // So that the receiver's type is known.
    init<M: ResponderMessage>(
        _ message: M.Type,
        from sender: CoordinatorPath,
        since asked: MonotonicTime,
        handledBy receiver: some MessageReceiver
    ) {
        (direction, kind, self.sender, target, coordinatorType) = (.incoming, .ask, sender, receiver.path, receiver.typeName)
        (isRemote, waited, named) = (false, .now - asked, .type(message))
        traced = TraceContext.current?.bytes ?? []
    }

    /// Creates the description of a message that a coordinator sends now.
    @inline(__always)
    init<M: ResponderMessage>(_ message: M.Type, _ kind: Kind, sentBy sender: some MessageReceiver, to target: CoordinatorPath? = nil) {
        self.init(.type(message), kind, from: sender.path, to: target, coordinatorType: sender.typeName)
    }

    /// Creates the description of a message that code outside of the tree sends now, in the name of a coordinator.
    init<M: ResponderMessage>(_ message: M.Type, _ kind: Kind, sentFor path: CoordinatorPath, isDirect: Bool) {
        self.init(.type(message), kind, from: path, to: isDirect ? path : nil, coordinatorType: nil)
    }

    /// Creates the description of a message that is known by its name, and that code outside of the tree sends now.
    init(_ name: String, _ kind: Kind, sentFor path: CoordinatorPath) {
        self.init(.text(name), kind, from: path, to: nil, coordinatorType: nil)
    }

    private init(_ name: Name, _ kind: Kind, from sender: CoordinatorPath, to target: CoordinatorPath?, coordinatorType: String?) {
        (direction, self.kind, self.sender, self.target, self.coordinatorType) = (.outgoing, kind, sender, target, coordinatorType)
        (isRemote, waited, named) = (false, .zero, name)
        traced = TraceContext.current?.bytes ?? []
    }
}
