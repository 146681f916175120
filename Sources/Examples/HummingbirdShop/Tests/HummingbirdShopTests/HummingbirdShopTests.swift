import Foundation
import Testing

@Suite("The shop behind HTTP", .timeLimit(.minutes(2)))
struct HummingbirdShopTests {
    @Test("A request is an ask: its reply, its errors and its time-out become responses")
    func responses() async throws {
        try await withShop { shop in
            #expect(try await shop.post("/cart/apple?quantity=3").status == 200)
            #expect(try await shop.get("/cart").json == ["quantities": ["apple": 3], "payments": 0] as NSDictionary)
            #expect(try await shop.post("/cart/gold").status == 404)
            #expect(try await shop.get("/cart/changes?sku=gold").status == 404)
            #expect(try await shop.post("/cart/apple?quantity=98").status == 409)
            let late = try await shop.post("/checkout?milliseconds=30000")
            #expect(late.status == 504)
            #expect(late.retryAfter == nil)
            #expect(try await shop.get("/live").status == 200)
            #expect(try await shop.get("/ready").status == 200)
            #expect(try await shop.get("/metrics").status == 200)
        }
    }

    @Test("A quantity that isn't a number from 1 to 100 is the client's mistake, and the cart lives on with what it has")
    func quantities() async throws {
        try await withShop { shop in
            #expect(try await shop.post("/cart/apple").status == 200)
            let workers = try shop.workers
            for quantity in ["\(Int.max)", "\(Int.min)", "92233720368547758070", "-5", "0", "101", "abc"] {
                #expect(try await shop.post("/cart/apple?quantity=\(quantity)").status == 400, "\(quantity)")
            }
            #expect(try await shop.get("/cart").json == ["quantities": ["apple": 1], "payments": 0] as NSDictionary)
            #expect(try shop.workers == workers)
        }
    }

    @Test("The request's trace reaches the handler in the worker")
    func trace() async throws {
        try await withShop { shop in
            let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            let receipt = try await shop.post("/checkout", ["traceparent": traceparent])
            #expect(receipt.json == ["total": 0, "trace": traceparent] as NSDictionary)
            #expect(try await shop.post("/checkout").json == ["total": 0] as NSDictionary)
        }
    }

    @Test("kill -9 of the worker: each request gets a response, and later ones reach the next incarnation")
    func kill() async throws {
        try await withShop { shop in
            let former = try #require(try shop.workers.first)
            async let payment = shop.post("/checkout?milliseconds=30000")
            try await shop.waitForPayment()
            async let responses = shop.flood(clients: 8, requests: 50)
            Foundation.kill(former, SIGKILL)
            // It had begun, and only the client knows whether to send it again.
            #expect(try await payment.status == 502)
            let statuses = try await responses
            #expect(statuses.count == 400)
            #expect(statuses.allSatisfy { [200, 502, 503].contains($0.status) }, "\(Set(statuses.map(\.status)))")
            #expect(statuses.allSatisfy { ($0.status == 503) == ($0.retryAfter == "1") })
            #expect(try await shop.post("/cart/bread").status == 200)
            #expect(try await shop.get("/ready").status == 200)
            #expect(try shop.workers.contains(former) == false)
        }
    }

    @Test("SIGTERM: requests and streams that have begun end in order, and no process is left")
    func shutdown() async throws {
        try await withShop { shop in
            let events = shop.events("/cart/changes")
            var iterator = events.makeAsyncIterator()
            let first = try await iterator.next()
            #expect(first?.contains("\"quantities\":{}") == true)
            async let payment = shop.post("/checkout?milliseconds=1000")
            try await shop.waitForPayment()
            let workers = try shop.workers
            shop.process.terminate()
            #expect(try await payment.status == 200)
            while try await iterator.next() != nil {}
            shop.process.waitUntilExit()
            #expect(shop.process.terminationReason == .exit)
            #expect(shop.process.terminationStatus == 0)
            #expect(workers.count == 1)
            #expect(workers.allSatisfy { Foundation.kill($0, 0) != 0 })
        }
    }
}
