public import Coordinators

/// A way to ask a coordinator: up the chain, down to a child, by path, or by a handle.
public protocol Asker: Sendable {
    func ask<M: ResponderMessage>(_ message: M) async throws -> M.Reply
    func send<M: ResponderMessage>(_ message: M) async throws -> Bool
    func replies<M: ResponderMessage>(to message: M) async throws -> [M.Reply]
}

private let patience = Duration.seconds(20)

/// Up the chain.
public struct Ancestors<C: Coordinator>: Asker {
    private let context: CoordinatorContext<C>

    public init(of context: CoordinatorContext<C>) { self.context = context }

    public func ask<M: ResponderMessage>(_ message: M) async throws -> M.Reply { try await context.ask(message, timeout: patience) }
    public func send<M: ResponderMessage>(_ message: M) async throws -> Bool { try await context.send(message, timeout: patience) }
    public func replies<M: ResponderMessage>(to message: M) async throws -> [M.Reply] {
        try await context.stream(message, timeout: patience).reduce(into: []) { $0.append($1) }
    }
}

/// Down to a child.
public struct Below<C: Coordinator>: Asker {
    private let child: Child<C>

    public init(_ child: Child<C>) { self.child = child }

    public func ask<M: ResponderMessage>(_ message: M) async throws -> M.Reply { try await child.ask(message, timeout: patience) }
    public func send<M: ResponderMessage>(_ message: M) async throws -> Bool { try await child.send(message, timeout: patience) }
    public func replies<M: ResponderMessage>(to message: M) async throws -> [M.Reply] {
        try await child.stream(message, timeout: patience).reduce(into: []) { $0.append($1) }
    }
}

/// By a handle.
public struct Held<C: Coordinator>: Asker {
    private let handle: CoordinatorHandle<C>

    public init(_ handle: CoordinatorHandle<C>) { self.handle = handle }

    public func ask<M: ResponderMessage>(_ message: M) async throws -> M.Reply { try await handle.ask(message, timeout: patience) }
    public func send<M: ResponderMessage>(_ message: M) async throws -> Bool { try await handle.send(message, timeout: patience) }
    public func replies<M: ResponderMessage>(to message: M) async throws -> [M.Reply] {
        try await handle.stream(message, timeout: patience).reduce(into: []) { $0.append($1) }
    }
}

/// By a path.
public struct Target: Asker {
    private let runtime: CoordinatorRuntime
    private let path: CoordinatorPath

    public init(_ path: CoordinatorPath, in runtime: CoordinatorRuntime) { (self.runtime, self.path) = (runtime, path) }

    public func ask<M: ResponderMessage>(_ message: M) async throws -> M.Reply {
        try await runtime.ask(message, at: path, timeout: patience)
    }
    public func send<M: ResponderMessage>(_ message: M) async throws -> Bool {
        try await runtime.send(message, at: path, timeout: patience)
    }
    /// The first reply, which is what an ask by path gets.
    public func replies<M: ResponderMessage>(to message: M) async throws -> [M.Reply] { [try await ask(message)] }
}

extension Asker {
    /// Sends a message one way, and returns whether it was handled.
    public func isNoted<M: ResponderMessage>(_ message: M) async throws -> Bool {
        // What the same sender asks later is answered later.
        guard try await send(message) else { return false }
        return try await ask(Notes()).contains("hello")
    }
}

/// Reads the texts of the one-way messages that were handled.
public struct Notes: ResponderMessage {
    public typealias Reply = [String]
    /// A name by which it takes the way of the others.
    public static let name = "Cart.Notes"
    public init() {}
}

/// Returns what a call returns or throws, in words.
public func outcome(_ body: () async throws -> String) async -> String {
    do {
        return try await body()
    } catch let error as RemoteError {
        return "remote \(error.type): \(error.description)"
    } catch let error as CoordinatorError {
        return "\(error.code): \(error.message)"
    } catch {
        return "thrown \(error)"
    }
}

/// Has a client ask every message that its build knows; the reply says what came of each.
public struct AskAll: ResponderMessage {
    public typealias Reply = [String: String]
    public init() {}
}

/// Has a parent ask its child of another build every message that its own build knows.
public struct AskChild: ResponderMessage {
    public typealias Reply = [String: String]
    public init() {}
}

/// Has a parent start a child of a private type in a worker; the reply says what came of it.
public struct StartSecretive: ResponderMessage {
    public typealias Reply = String
    public init() {}
}

/// Reads the names of the messages that a prefix row has seen, and forgets them.
public struct SeenNames: ResponderMessage {
    public typealias Reply = [String]
    public init() {}
}
