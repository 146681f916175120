import ConcurrencySupport
public import Coordinators
import Glibc

/// The messages of the tests of inline rows.
public enum Quotes {
    /// Asks for a price; a symbol without one is refused.
    ///
    /// Its row is inline.
    public struct Price: ResponderMessage {
        public typealias Reply = Int
        public var symbol: String
        public init(_ symbol: String) { self.symbol = symbol }
    }

    /// Sets a price.
    ///
    /// Its row is inline.
    public struct Set: ResponderMessage {
        public var symbol: String
        public var price: Int
        public init(_ symbol: String, _ price: Int) { (self.symbol, self.price) = (symbol, price) }
    }

    /// Asks for the prices in the order in which they were set.
    ///
    /// Its row is inline.
    public struct History: ResponderMessage {
        public typealias Reply = [Int]
        public init() {}
    }

    /// Blocks the coordinator's executor until a symbol has a price.
    ///
    /// Its row isn't inline.
    public struct Await: ResponderMessage {
        public var symbol: String
        public init(_ symbol: String) { self.symbol = symbol }
    }

    /// Makes a reader ask for a price and answer what it gets: the price, or the error.
    public struct Read: ResponderMessage {
        public typealias Reply = String
        public var symbol: String
        public init(_ symbol: String) { self.symbol = symbol }
    }

    /// Makes a reader set a price so many times, one way, counting up.
    public struct Fill: ResponderMessage {
        public var count: Int
        public init(_ count: Int) { self.count = count }
    }
}

/// Answers inline from state that isn't isolated.
public actor QuoteCoordinator: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        /// Whether a reader is started below, and where.
        public var reader: String?
        public init() {}
    }

    private struct Prices {
        var bySymbol: [String: Int] = [:]
        var history: [Int] = []
    }

    public nonisolated let context: Context
    private nonisolated let prices = Lock(Prices())
    /// Is posted for each price that is set; a handler that blocks takes what others have left.
    private nonisolated let priceSet = Semaphore()

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .inline(Quotes.Price.self) { me, price in
            guard let price = me.price(of: price.symbol) else { throw Fixture.Refusal("no price of \(price.symbol)") }
            return price
        },
        .inline(Quotes.Set.self) { me, set in
            me.prices.withLock { prices in
                prices.bySymbol[set.symbol] = set.price
                prices.history.append(set.price)
            }
            me.priceSet.post()
        },
        .inline(Quotes.History.self) { me, _ in me.prices.withLock { $0.history } },
        .respond(to: Quotes.Await.self) { me, wait in
            // Until it's answered, no other code of this actor runs.
            while me.price(of: wait.symbol) == nil { me.priceSet.wait() }
        },
    ]

    private nonisolated func price(of symbol: String) -> Int? { prices.withLock { $0.bySymbol[symbol] } }

    public func start() async throws {
        guard let reader = configuration.reader else { return }
        try await context.start(QuoteReader.self, as: "reader", in: reader == "worker" ? .worker : .inProcess)
    }
}

/// Asks the coordinator above.
public actor QuoteReader: Coordinator {
    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Quotes.Read.self) { me, read in
            do {
                return "\(try await me.context.ask(Quotes.Price(read.symbol), timeout: .seconds(20)))"
            } catch let error as Fixture.Refusal {
                return "refused: \(error.reason)"
            }
        },
        .respond(to: Quotes.Fill.self) { me, fill in
            for number in 0..<fill.count { try await me.context.send(Quotes.Set("filled", number)) }
        },
    ]
}
