import Control
import Testing
import WireProtocol

@testable import CoordinatorDaemon
@testable import Coordinators

@Suite("The conversion of a traced message's way for operators")
struct OperatorTraceTests {
    private static let trace = MessageTrace(
        identifier: "c007d1a7000000000000000000000001",
        hops: [
            MessageTrace.Hop(
                path: "/shop/cart",
                type: "CartCoordinator",
                processID: 4_711,
                message: "Cart.Add",
                sender: "/shop",
                began: .microseconds(120),
                waited: .nanoseconds(34_999),
                took: .milliseconds(5)
            ),
            MessageTrace.Hop(
                path: "/shop/stock",
                type: "StockCoordinator",
                processID: 4_712,
                message: "Stock.Reserve",
                sender: "/shop/cart",
                began: .seconds(2),
                waited: .zero,
                took: .nanoseconds(999),
                error: "sold out"
            ),
        ],
        duration: .microseconds(7_654_321)
    )

    /// Each value differs from all others, so that none can be taken for another.
    private static let hops: JSONValue = [
        [
            "path": "/shop/cart", "type": "CartCoordinator", "pid": 4_711, "message": "Cart.Add", "sender": "/shop", "start_us": 120,
            "waited_us": 34, "duration_us": 5_000,
        ],
        [
            "path": "/shop/stock", "type": "StockCoordinator", "pid": 4_712, "message": "Stock.Reserve", "sender": "/shop/cart",
            "start_us": 2_000_000, "waited_us": 0, "duration_us": 0, "error": "sold out",
        ],
    ]

    @Test("Each part of the way has its place, times are whole microseconds, and the reply is as it was")
    func answered() throws {
        let result = TraceResult(.success(["count": 3]), Self.trace, pid: 4_710)
        let expected: JSONValue = [
            "trace": "c007d1a7000000000000000000000001", "pid": 4_710, "duration_us": 7_654_321, "reply": ["count": 3], "hops": Self.hops,
        ]
        #expect(try ControlJSON.value(of: result) == expected)
    }

    @Test("An ask that has failed has its error, and the way all the same")
    func failed() throws {
        let error = CoordinatorError(.peerLost, "/shop/stock has ended before it answered", maybeExecuted: true)
        let result = TraceResult(.failure(error), Self.trace, pid: 4_710)
        #expect(result.reply == nil && result.error == ControlError(error as any Error))
        #expect(result.error?.message.contains("/shop/stock") == true)
        let json = try ControlJSON.value(of: result)
        #expect(json["hops"] == Self.hops && json["reply"] == nil && json["error"]?["maybe_executed"] == true)
    }

    @Test("A message that no row has handled has a way without hops")
    func noHops() throws {
        let trace = MessageTrace(identifier: "c007d1a7000000000000000000000002", hops: [], duration: .zero)
        let json = try ControlJSON.value(of: TraceResult(.success(.null), trace, pid: 1))
        #expect(json["hops"] == [] && json["duration_us"] == 0 && json["trace"] == "c007d1a7000000000000000000000002")
    }
}
