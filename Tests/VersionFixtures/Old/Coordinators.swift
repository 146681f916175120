import Coordinators
import Fixtures

/// Answers the messages of this build.
actor CartCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration { var currency = "EUR" }

    let context: Context
    private var notes: [String] = []

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Cart.AddItem.self) { me, add in
            if add.sku == "full" { throw Cart.IsFull(limit: 3) }
            let text = "AddItem \(add.sku), coupon \(add.coupon ?? "none"), in \(me.context.configuration.currency)"
            return Cart.Receipt(text: text, points: 7)
        },
        .respond(to: Cart.Pay.self) { _, pay in "paid by \(pay.method)" },
        .stream(Cart.Follow.self) { _, _, replies in
            for number in 1...3 { try await replies.send("old\(number)") }
        },
        .respond(to: Cart.Remark.self) { me, note in me.notes.append(note.text) },
        .respond(to: Notes.self) { me, _ in me.notes },
        .inline(Basket.Size.self) { _, _ in 1 },
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
        .intercept(prefix: "Basket.") { me, message, chain in try await me.see(message, chain) },
        .intercept(Cart.AddItem.self) { _, add, chain in try await chain.next(add) },
        .forward(Cart.AddItem.self, to: .answering),
        .forward(prefix: "Cart.", to: .answering),
        .forward(Basket.Size.self, to: .answering),
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
