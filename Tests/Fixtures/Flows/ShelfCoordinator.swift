public import Coordinators

/// The catalogue of a shop: its badge comes from the reply on its way down.
public actor ShelfCoordinator: Coordinator {
    public enum Page: Codable, Sendable, Equatable {
        case products
        case product(String)
    }

    /// The badges so far: the replies that the interceptor has got.
    public struct Badges: ResponderMessage {
        public typealias Reply = [Int]
        public init() {}
    }

    /// Adds to the basket, as a tap on the page would.
    public struct Tap: ResponderMessage {
        public typealias Reply = Int
        public var sku: String
        public init(_ sku: String) { self.sku = sku }
    }

    /// Adds so many times, one way; answered with how many were taken.
    public struct Fill: ResponderMessage {
        public typealias Reply = Int
        public var count: Int
        public init(_ count: Int) { self.count = count }
    }

    public struct ToggleBasket: ResponderMessage {
        public init() {}
    }

    /// Buys at once: runs the payment and answers with its receipt.
    public struct BuyNow: ResponderMessage {
        public typealias Reply = String
        public var sku: String
        public var inWorker: Bool
        public init(_ sku: String, inWorker: Bool) { (self.sku, self.inWorker) = (sku, inWorker) }
    }

    public nonisolated let context: Context
    private var badges: [Int] = []

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .intercept(Basket.Add.self) { me, add, chain in
            let count = try await chain.next(add)
            me.badges.append(count)
            return count
        },
        .respond(to: Badges.self) { me, _ in me.badges },
        .respond(to: Tap.self) { me, tap in
            me.context.show(.product(tap.sku))
            return try await me.context.ask(Basket.Add(sku: tap.sku), timeout: .seconds(15))
        },
        .respond(to: Fill.self) { me, fill in
            var taken = 0
            for _ in 0..<fill.count {
                if try await me.context.send(Basket.Add(sku: "many")) { taken += 1 }
            }
            return taken
        },
        .respond(to: ToggleBasket.self) { me, _ in try await me.context.ask(Basket.Toggle(), timeout: .seconds(15)) },
        .respond(to: BuyNow.self) { me, buy in
            try await me.context.run(PaymentFlow.self, as: "payment", in: buy.inWorker ? .worker : .inProcess) { $0.sku = buy.sku }
        },
    ]

    public func start() async throws { context.show(.products) }
}

/// Pays, and finishes with the receipt.
public actor PaymentFlow: Coordinator {
    public typealias Output = String

    public enum Page: Codable, Sendable, Equatable { case paying }

    public struct Configuration: CoordinatorConfiguration {
        public var sku = ""
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public func start() async throws {
        context.show(.paying)
        let count = try await context.ask(Basket.Add(sku: configuration.sku), timeout: .seconds(15))
        context.finish("paid \(configuration.sku), basket of \(count)")
    }
}
