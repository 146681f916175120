public import Coordinators

/// Sees every message of the basket pass, and answers one of them itself, further down in the same table.
public actor AuditCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .intercept(prefix: "Basket.") { me, message, chain in
            me.note("saw \(message.name) from \(message.context.sender)")
            if message.name == Basket.Add.name { me.note("of \(try message.decoded(as: Basket.Add.self).sku)") }
            let reply = try await chain.next()
            me.note("answered \(message.name)")
            return reply
        },
        .respond(to: Basket.Toggle.self) { me, _ in me.note("toggled") },
        .respond(to: Basketball.Throw.self) { _, _ in "in the basket" },
        .respond(to: FixtureFlow.StartStep.self) { me, start in try await me.context.startStep(start) },
    ]

    public func paused() async { note("pause") }
    public func resumed() async { note("resume") }
}
