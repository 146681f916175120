public import Coordinators

/// Types that only this file knows, on both sides of a process's border.
private struct Whisper: ResponderMessage {
    typealias Reply = String
    var text: String
}

private enum SecretKey: DependencyKey { typealias Value = String }

extension Dependencies {
    fileprivate var secret: String? {
        get { self[SecretKey.self] }
        set { self[SecretKey.self] = newValue }
    }
}

extension Fixture {
    /// Has a coordinator of a private type, in a worker, send a private message and read a private dependency.
    public struct ShareSecret: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// The types that a program must list for its workers, although the types are private.
    public static var privateWorkers: [any Coordinator.Type] { [HiddenCoordinator.self] }
}

/// Has a child of a private type.
public actor HidingCoordinator: Coordinator {
    public nonisolated let context: Context<HidingCoordinator>

    public init(_ context: Context<HidingCoordinator>, _ configuration: Configuration) { self.context = context }

    public static let responders: [Responder<HidingCoordinator>] = [
        .respond(to: Whisper.self) { _, whisper in "\(whisper.text) heard" },
        .respond(to: Fixture.ShareSecret.self) { me, share in
            await me.context.provide(\.secret, "42")
            let child = try await me.context.start(HiddenCoordinator.self, as: "hidden", in: .worker)
            return try await child.ask(share, timeout: .seconds(20))
        },
    ]
}

private actor HiddenCoordinator: Coordinator {
    nonisolated let context: Context<HiddenCoordinator>

    init(_ context: Context<HiddenCoordinator>, _ configuration: Configuration) { self.context = context }

    static let responders: [Responder<HiddenCoordinator>] = [
        .respond(to: Fixture.ShareSecret.self, needs: \.secret) { me, _, secret in
            try await me.context.ask(Whisper(text: secret), timeout: .seconds(20))
        }
    ]
}
