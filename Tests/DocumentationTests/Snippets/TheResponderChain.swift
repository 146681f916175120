import Coordinators
import Synchronization

// snippet: messages
enum Prices {
    struct Quote: ResponderMessage {
        typealias Reply = Int
        static let isIdempotent = true
        var symbol: String
    }
}

struct Ticks: ResponderMessage {
    typealias Reply = Int
    static let name = "Market.Ticks"
    var symbol: String
}
// end

// snippet: asking policy
struct Opening: ResponderMessage, Hashable {
    typealias Reply = Int
    static var timeout: Duration { .milliseconds(250) }
    static var retry: RetryPolicy { RetryPolicy(attempts: 3) }
    static var coalesces: Bool { true }
    var symbol: String
}
// end

extension Prices {
    struct Watch: ResponderMessage { typealias Reply = Int }

    struct Latest: ResponderMessage {
        typealias Reply = Int
        var symbol: String
    }

    struct Publish: ResponderMessage {
        var symbol: String
        var price: Int
    }
}

enum Trader {
    struct Buy: ResponderMessage {
        typealias Reply = Int
        var symbol: String
    }

    struct Watch: ResponderMessage {
        typealias Reply = [Int]
        var symbol: String
    }
}

struct MarketIsClosed: Error, Codable {}

actor ExchangeCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case market, trader }

    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: forwarding
    static let responders: Responders = [
        .forward(prefix: "Prices.", to: .market),
        .forward(Trader.Buy.self, to: .trader),
    ]

    func open(section: ChildKey) async throws {
        switch section {
        case .market: try await context.start(MarketCoordinator.self, as: .market, in: .worker)
        case .trader: try await context.start(TraderCoordinator.self, as: .trader)
        }
    }
    // end
}

actor MarketCoordinator: Coordinator {
    let context: Context
    private var asked: [String: Int] = [:]
    private var history = ["ACME": [40, 41, 42]]

    init(_ context: Context) { self.context = context }

    // snippet: table
    static let responders: Responders = [
        .intercept(prefix: "Prices.") { me, message, chain in
            me.asked[message.name, default: 0] += 1
            return try await chain.next()
        },
        .respond(to: Prices.Quote.self) { me, quote in
            guard let price = me.history[quote.symbol]?.last else { throw MarketIsClosed() }
            return price
        },
        .stream(Ticks.self) { me, ticks, replies in
            for price in me.history[ticks.symbol, default: []] {
                try await replies.send(price)
            }
        },
    ]
    // end

    func start() async throws {
        try await context.start(TraderCoordinator.self, as: "trader")
    }
}

actor TickerCoordinator: Coordinator {
    let context: Context
    // snippet: inline
    private nonisolated let latest = Mutex<[String: Int]>([:])

    static let responders: Responders = [
        .inline(Prices.Latest.self) { me, latest in
            guard let price = me.latest.withLock({ $0[latest.symbol] }) else { throw MarketIsClosed() }
            return price
        },
        .respond(to: Prices.Publish.self) { me, new in
            me.latest.withLock { $0[new.symbol] = new.price }
        },
    ]
    // end

    init(_ context: Context) { self.context = context }
}

actor TraderCoordinator: Coordinator {
    let context: Context
    private var known: [String: Int] = [:]

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        // snippet: interceptor
        .intercept(Prices.Quote.self) { me, quote, chain in
            if let price = me.known[quote.symbol] { return price }
            let price = try await chain.next(quote)
            me.known[quote.symbol] = price
            return price
        },
        // end
        // snippet: deadline
        .respond(to: Trader.Buy.self) { me, buy, context in
            if let time = context.remainingTime, time < .milliseconds(50) { throw MarketIsClosed() }
            return try await me.price(of: buy.symbol)
        },
        // end
        .respond(to: Trader.Watch.self) { me, watch in try await me.firstTicks(of: watch.symbol) },
    ]

    // snippet: errors
    func price(of symbol: String) async throws -> Int {
        do {
            return try await context.ask(Prices.Quote(symbol: symbol), timeout: .seconds(5))
        } catch let error as CoordinatorError where error.code == .timedOut {
            throw MarketIsClosed()
        }
    }
    // end

    // snippet: acknowledged
    func publish(_ price: Int, of symbol: String) async throws -> Bool {
        try await context.send(Prices.Publish(symbol: symbol, price: price), acknowledged: true)
    }
    // end

    // snippet: stream
    func firstTicks(of symbol: String) async throws -> [Int] {
        var prices: [Int] = []
        for try await price in context.stream(Ticks(symbol: symbol), timeout: .seconds(30)) {
            prices.append(price)
            if prices.count == 2 { break }
        }
        return prices
    }
    // end
}

// snippet: broadcast
actor BoardCoordinator: Coordinator {
    let context: Context
    private let changes: Broadcast<Int>
    private var price = 0 { didSet { changes.send(price) } }

    init(_ context: Context) { (self.context, changes) = (context, context.broadcast(latest: 0)) }

    static let responders: Responders = [
        .broadcast(Prices.Watch.self) { me, _ in me.changes }
    ]
}
// end
