import Coordinators

/// The cart, in a process of its own.
actor CartCoordinator: Coordinator {
    let context: Context
    private var contents = Cart.Contents() { didSet { for watcher in watchers.values { watcher.yield(contents) } } }
    private var watchers: [Int: AsyncStream<Cart.Contents>.Continuation] = [:]
    private var lastWatcher = 0

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Cart.Add.self) { me, add in try await me.add(add) },
        .respond(to: Cart.Show.self) { me, _ in me.contents },
        .respond(to: Cart.Checkout.self) { me, checkout, context in
            Cart.Receipt(total: try await me.pay(checkout), trace: context.trace?.traceparent)
        },
        .respond(to: Cart.Clear.self) { me, _ in me.contents.quantities = [:] },
        .stream(Cart.Watch.self) { me, _, replies in
            for await contents in me.changes() { try await replies.send(contents) }
        },
    ]

    private func add(_ add: Cart.Add) async throws -> Cart.Contents {
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

    /// Returns a stream of the contents: the present ones, then those after each change.
    private func changes() -> AsyncStream<Cart.Contents> {
        let (stream, continuation) = AsyncStream.makeStream(of: Cart.Contents.self, bufferingPolicy: .bufferingNewest(1))
        lastWatcher += 1
        watchers[lastWatcher] = continuation
        continuation.onTermination = { [weak self, lastWatcher] _ in
            Task { await self?.removeWatcher(lastWatcher) }
        }
        continuation.yield(contents)
        return stream
    }

    private func removeWatcher(_ watcher: Int) { watchers[watcher] = nil }
}
