import ConcurrencySupport
import Coordinators
import CoordinatorsSQLite
import Glibc

/// Buys orders, good and bad ones, and ends when all are over; to be killed at any moment, and started again.
///
/// - `FLOW_STORE`: The file of the store.
/// - `FLOW_LEDGER`: The file in which the services write what they do.
/// - `FLOW_ORDERS`: The number of orders.
/// - `FLOW_FIRST`: The number of the first one; 1 unless given.
/// - `FLOW_LARGE`: Of so many orders the last but one waits for an approval; none unless given.
/// - `FLOW_WAITS`: `yes`: The process waits for these, too.
/// - `FLOW_POISON`: The numbers of orders whose charge ends the process, for which it doesn't wait.
actor Buyer: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    static let poisonous = Set(variable("FLOW_POISON").split(separator: " ").compactMap { Int($0) })

    private static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func variable(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }

    func start() async throws {
        await context.provide(\.flows, .sqlite(at: Self.variable("FLOW_STORE")))
        await context.provide(\.services, Services(ledger: Self.variable("FLOW_LEDGER")))
        try await context.start(OrdersCoordinator.self, as: "orders")
    }

    func run() async throws {
        let context = context
        let outcomes = await withTaskGroup(of: String.self) { group in
            let first = Int(Self.variable("FLOW_FIRST")) ?? 1
            let large = Int(Self.variable("FLOW_LARGE"))
            for number in first..<first + (Int(Self.variable("FLOW_ORDERS")) ?? 1) {
                var order = Order(number: number, card: number % 2 == 0 ? "stolen" : "good", isBooked: true)
                let isLarge = large.map { number % $0 == $0 - 1 } == true
                if isLarge { order.cents = 200_000 }
                if Self.poisonous.contains(number) { order.card = "poison" }
                group.addTask { [order] in
                    do {
                        guard let orders = context.child(OrdersCoordinator.self) else { return "\(number): no orders" }
                        guard !Self.poisonous.contains(number), !isLarge || Self.variable("FLOW_WAITS") == "yes" else {
                            try await orders.ask(OrdersCoordinator.Begin(order: order))
                            return "\(number): begun"
                        }
                        return "\(number): \(try await orders.ask(OrdersCoordinator.Buy(order: order)).number)"
                    } catch {
                        return "\(number): \(error)"
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted()
        }
        print(outcomes.joined(separator: "\n"))
        // Those that end the process may be held until others have been tried, and what is over may have messages that haven't left.
        while !Task.isCancelled, let store = context.dependencies.flows,
            (try? await store.flows().contains { flow in
                flow.status == .open ? !Self.poisonous.isEmpty : flow.status != .parked && flow.due.map { $0 <= Self.now } == true
            }) != false
        {
            try? await context.clock.sleep(for: .milliseconds(10))
        }
    }
}

/// Begins orders whose charges fail, and lives on; to be a child of the daemon.
///
/// - `FLOW_STORE`, `FLOW_ORDERS`: As of ``Buyer``.
/// - `FLOW_FAILURES`: The number of charges that fail before others succeed.
actor Till: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    func start() async throws {
        let services = Services()
        services.books.withLock { $0.failures = ["charge": Int(Buyer.variable("FLOW_FAILURES")) ?? 0] }
        await context.provide(\.flows, .sqlite(at: Buyer.variable("FLOW_STORE")))
        await context.provide(\.services, services)
        let orders = try await context.start(OrdersCoordinator.self, as: "orders")
        for number in 1...(Int(Buyer.variable("FLOW_ORDERS")) ?? 1) {
            try await orders.ask(OrdersCoordinator.Begin(order: Order(number: number)))
        }
    }
}

@main
struct FlowWorker {
    static func main() async throws { try await CoordinatorRuntime.main(Buyer.self, coordinators: [Till.self]) }
}
