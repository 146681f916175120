public import Coordinators

/// Types that only this file knows, on both sides of a process's border.
private struct Whisper: ResponderMessage {
    typealias Reply = String
    typealias Failure = Objection
    var text: String
}

/// The same without the types of its errors.
private struct Mutter: ResponderMessage { typealias Reply = String }

private struct Objection: ResponderError, Hashable { var words: String }

extension DependencyKeys {
    fileprivate var secret: DependencyKey<String> { .init() }
}

extension Fixture {
    /// Has a coordinator of a private type, in a worker, send a private message and read a private dependency.
    public struct ShareSecret: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// Has a coordinator of a private type, in a worker, provoke errors of a private type.
    public struct ProvokeObjections: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    /// The types that a program must list for its workers, although the types are private.
    static var privateWorkers: [any Coordinator.Type] { [HiddenCoordinator.self] }
}

/// Has a child of a private type.
public actor HidingCoordinator: Coordinator {
    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Whisper.self) { _, whisper in
            if whisper.text.isEmpty { throw Objection(words: "too low") }
            return "\(whisper.text) heard"
        },
        .respond(to: Mutter.self) { _, _ in throw Objection(words: "not clear") },
        .respond(to: Fixture.ShareSecret.self) { me, share in
            await me.context.provide(\.secret, "42")
            let child = try await me.context.start(HiddenCoordinator.self, as: "hidden", in: .worker)
            return try await child.ask(share, timeout: .seconds(20))
        },
        .respond(to: Fixture.ProvokeObjections.self) { me, provoke in
            let child = try await me.context.start(HiddenCoordinator.self, as: "hidden", in: .worker)
            return try await child.ask(provoke, timeout: .seconds(20))
        },
    ]
}

private actor HiddenCoordinator: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Fixture.ShareSecret.self, needs: \.secret) { me, _, secret in
            try await me.context.ask(Whisper(text: secret), timeout: .seconds(20))
        },
        .respond(to: Fixture.ProvokeObjections.self) { me, _ in
            [await me.objection(to: Whisper(text: "")), await me.streamedObjection(), await me.objection(to: Mutter())]
        },
    ]

    private func objection(to message: some ResponderMessage) async -> String {
        do {
            _ = try await context.ask(message, timeout: .seconds(20))
            return "none"
        } catch {
            return Self.description(of: error)
        }
    }

    private func streamedObjection() async -> String {
        do {
            for try await _ in context.stream(Whisper(text: ""), timeout: .seconds(20)) {}
            return "none"
        } catch {
            return Self.description(of: error)
        }
    }

    private static func description(of error: any Error) -> String {
        (error as? Objection).map { "Objection: \($0.words)" } ?? "\(type(of: error))"
    }
}
