import Coordinators

/// The cart, in a process of its own.
actor CartCoordinator: Coordinator {
    let context: Context
    private let changes: Broadcast<Cart.Contents>
    private var contents = Cart.Contents() { didSet { changes.send(contents) } }

    init(_ context: Context) { (self.context, changes) = (context, context.broadcast(latest: Cart.Contents())) }

    static let responders: Responders = [
        .respond(to: Cart.Add.self) { me, add in try await me.add(add) },
        .respond(to: Cart.Show.self) { me, _ in me.contents },
        .respond(to: Cart.Checkout.self) { me, checkout, context in
            Cart.Receipt(total: try await me.pay(checkout), trace: context.trace?.traceparent)
        },
        .respond(to: Cart.Clear.self) { me, _ in me.contents.quantities = [:] },
        .broadcast(Cart.Watch.self) { me, watch in
            if let sku = watch.sku { _ = try await me.context.ask(Stock.Price(sku: sku)) }
            return me.changes
        },
    ]

    private func add(_ add: Cart.Add) async throws -> Cart.Contents {
        // What a client sends may be any number: the sum of two could overflow, which ends the process.
        guard (1...100).contains(add.quantity) else { throw Cart.InvalidQuantity(quantity: add.quantity) }
        _ = try await context.ask(Stock.Price(sku: add.sku))
        let quantity = contents.quantities[add.sku, default: 0] + add.quantity
        guard quantity <= 100 else { throw Cart.SoldOut(sku: add.sku, left: 100 - contents.quantities[add.sku, default: 0]) }
        contents.quantities[add.sku] = quantity
        return contents
    }

    private func pay(_ checkout: Cart.Checkout) async throws -> Int {
        contents.payments += 1
        defer { contents.payments -= 1 }
        try await Task.sleep(for: .milliseconds(checkout.milliseconds))
        var total = 0
        for (sku, quantity) in contents.quantities { total += try await context.ask(Stock.Price(sku: sku)) * quantity }
        return total
    }
}
