import ConcurrencySupport

/// A value that climbs the tree until a coordinator responds.
///
///     enum Cart { struct Add: ResponderMessage { typealias Reply = Int; var sku: String } }    // on the wire: "Cart.Add"
public protocol ResponderMessage: Codable, Sendable {
    /// The type of the answer; `NoReply` by default.
    associatedtype Reply: Codable & Sendable = NoReply
    /// The name of the message between processes: by default the type's name without its module.
    static var name: String { get }
    /// Whether handling the message twice is the same as handling it once, so that it may be sent again after the peer was lost. False by
    /// default.
    static var isIdempotent: Bool { get }
    /// The types of the handlers' errors that an asker in another process can't find by their names; empty by default.
    ///
    ///     static var errors: [any (Error & Codable).Type] { [Full.self] }
    ///
    /// Such types are private, or belong to another module in the asker's program than in the handler's. Errors of all other types that are
    /// Codable need no entry. A private type is identified by its position in the program's file, so that its errors keep their type only
    /// between processes of one build.
    static var errors: [any (Error & Codable).Type] { get }
}

extension ResponderMessage {
    /// The type's name without its module.
    public static var name: String { TypeNames.name(of: Self.self) }
    /// The default: the message is not sent again.
    public static var isIdempotent: Bool { false }
    /// The default: all errors are found by their names.
    public static var errors: [any (Error & Codable).Type] { [] }

    /// Asks, and asks again when the peer was lost, if the message is idempotent.
    static func retried<Reply>(within timeout: Duration, _ ask: (_ remaining: Duration) async throws -> Reply) async throws -> Reply {
        let deadline = MonotonicTime.now + timeout
        while true {
            do {
                return try await ask(deadline - .now)
            } catch let error as CoordinatorError where error.code == .peerLost && isIdempotent && .now < deadline {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }
}

/// The answer to a message that has no reply.
public struct NoReply: Codable, Sendable, Hashable {
    /// Creates the value.
    public init() {}
}

/// A message that no coordinator up to the root responded to.
public struct UnhandledMessage: Sendable, Hashable, Codable {
    /// The message's wire name.
    public let name: String
    /// The coordinator that sent the message.
    public let sender: CoordinatorPath
}
