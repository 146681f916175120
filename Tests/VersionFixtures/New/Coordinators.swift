import Coordinators
import Fixtures

/// Answers the messages of this build.
actor CartCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var currency = "EUR"
        /// Unknown to the former build.
        var limit = 5
        /// Unknown to the former build.
        var greeting: String?
    }

    let context: Context
    private var notes: [String] = []

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Cart.Add.self) { me, add in
            let configuration = me.context.configuration
            if add.sku == "full" { throw Cart.Full(limit: 3, hint: "order first") }
            if add.sku == "closed" { throw Cart.Closed(until: "Monday") }
            let text = "Add \(add.count) \(add.sku), gift \(add.gift ?? "none"), in \(configuration.currency) up to \(configuration.limit)"
            return Cart.Receipt(text: text, currency: configuration.currency)
        },
        .respond(to: Cart.Pay.self) { _, pay in "paid by \(pay.method)" },
        .stream(Cart.Watch.self) { _, _, replies in
            for number in 1...3 { try await replies.send("new\(number)") }
        },
        .respond(to: Cart.Note.self) { me, note in me.notes.append(note.text) },
        .respond(to: Notes.self) { me, _ in me.notes },
        .inline(Cart.Count.self) { _, _ in 2 },
    ]
}

/// Asks the messages of this build.
actor ClientCoordinator: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: AskAll.self) { me, _ in await Ancestors(of: me.context).askAll() }
    ]
}

/// Answers the children by a child of its own, and sees their messages pass.
actor ParentCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case answering, cart, client, secretive }

    let context: Context
    private var seen: [String] = []

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: SeenNames.self) { me, _ in
            defer { me.seen = [] }
            return Set(me.seen).sorted()
        },
        .respond(to: StartSecretive.self) { me, _ in
            await outcome { try await startSecretive(below: me.context) }
        },
        .respond(to: AskChild.self) { me, _ in
            guard let cart = me.context.child(.cart, as: CartCoordinator.self) else { return [:] }
            return await Below(cart).askAll()
        },
        .intercept(prefix: "Cart.") { me, message, chain in try await me.see(message, chain) },
        .intercept(Cart.Add.self) { _, add, chain in try await chain.next(add) },
        .forward(Cart.Add.self, to: .answering),
        .forward(Cart.Count.self, to: .answering),
        .forward(prefix: "Cart.", to: .answering),
    ]

    private func see(_ message: AnyMessage, _ chain: AnyChain) async throws -> AnyReply {
        seen.append(message.name)
        return try await chain.next()
    }

    func start() async throws {
        try await context.start(CartCoordinator.self, as: .answering)
        try await context.start(CartCoordinator.self, as: .cart, in: .worker) { $0.currency = "CHF" }
        try await context.start(ClientCoordinator.self, as: .client, in: .worker)
    }
}
