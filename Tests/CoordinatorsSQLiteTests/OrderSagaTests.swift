import ConcurrencySupport
import CoordinatorsSQLite
import CoordinatorsTesting
import Flows
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators
@testable import FlowWorker

/// The order saga, on each kind of store.
@Suite("The order saga", .timeLimit(.minutes(1)))
struct OrderSagaTests {
    private typealias Buy = OrdersCoordinator.Buy

    /// Runs the tree of orders on a store.
    private func withOrders<Result>(
        _ store: FlowStore,
        _ services: Services = Services(),
        time: ManualTime? = nil,
        _ body: (CoordinatorRuntime, Services) async throws -> Result
    ) async throws -> Result {
        try await withRuntime(OrdersCoordinator.self, dependencies: { ($0.flows, $0.services) = (store, services) }, time: time) {
            runtime in
            try await body(runtime, services)
        }
    }

    /// What was done, without the keys.
    private func done(_ services: Services) -> [String] {
        services.books.withLock { $0.done.map { String($0.prefix { $0 != " " }) } }
    }

    @Test("An order is reserved, charged and shipped, and its receipt is known for seven days", arguments: StoreKind.allCases)
    func finishes(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let store = kind.store(in: directory.path)
            try await withOrders(store) { runtime, services in
                let first = try await runtime.ask(Buy(order: Order()), at: "/")
                #expect(first == Receipt(number: 500))
                #expect(done(services) == ["reserve", "charge", "ship"])
                try await eventually("the mail has left") { services.books.withLock { $0.mails } == ["charged: 500"] }
                // Again: nothing is done twice.
                let again = try await runtime.ask(Buy(order: Order()), at: "/")
                #expect(again == Receipt(number: 500))
                #expect(services.books.withLock { $0.asked.values.allSatisfy { $0 == 1 } && $0.mails.count == 1 })
                let error = await #expect(throws: CoordinatorError.self) {
                    try await runtime.ask(Buy(order: Order(cents: 7)), at: "/")
                }
                #expect(error?.code == .configurationDiffers)
            }
            // Also after a restart of all that.
            try await withOrders(store) { runtime, services in
                let later = try await runtime.ask(Buy(order: Order()), at: "/")
                #expect(later == Receipt(number: 500))
                #expect(done(services) == [])
            }
        }
    }

    @Test("A card that is declined has everything undone", arguments: StoreKind.allCases)
    func declined(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            try await withOrders(kind.store(in: directory.path)) { runtime, services in
                for _ in 0..<2 {
                    let error = await #expect(throws: CoordinatorError.self) {
                        try await runtime.ask(Buy(order: Order(card: "stolen")), at: "/")
                    }
                    #expect(error?.code == .unwound && error?.message == "the card was declined", "\(error.map { "\($0)" } ?? "none")")
                }
                #expect(done(services) == [] && services.books.withLock { $0.undone } == ["reserve"])
            }
        }
    }

    @Test("The saga is short, and so is its test with a crash at each commit")
    func lengths() throws {
        for (file, first, last, limit) in [
            ("FlowWorker/OrderSaga.swift", "actor OrderCoordinator", "}", 60),
            ("CoordinatorsSQLiteTests/OrderSagaTests.swift", "    func crashes", "    }", 40),
        ] {
            let lines = try #require(Files.text(of: "\(Files.packageRoot)/Tests/\(file)")).split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            let begin = try #require(lines.firstIndex { $0.hasPrefix(first) })
            let count = try #require(lines[begin...].firstIndex { $0 == last }) - begin + 1
            #expect((20...limit).contains(count), "\(file): \(count) lines")
        }
    }

    @Test("What fails is tried again by the same key, also when its answer was lost", arguments: StoreKind.allCases)
    func attempts(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let services = Services()
            services.books.withLock { ($0.failures, $0.lostAnswers) = (["reserve": 2, "ship": 1], ["charge": 3]) }
            try await withOrders(kind.store(in: directory.path), services) { runtime, services in
                let receipt = try await runtime.ask(Buy(order: Order()), at: "/")
                #expect(receipt == Receipt(number: 500))
                #expect(done(services) == ["reserve", "charge", "ship"])
                #expect(services.books.withLock { $0.asked.values.sorted() } == [1, 1, 4])
            }
        }
    }

    @Test("A large order waits for an approval, which finds it by its key", arguments: StoreKind.allCases)
    func approved(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let store = kind.store(in: directory.path)
            try await withOrders(store) { runtime, services in
                let order = Order(number: 7, cents: 200_000)
                async let receipt = runtime.ask(Buy(order: order), at: "/")
                try await eventually("it waits for the approval") {
                    let record = (try? await store.storage.row(of: "7")?.record) ?? []
                    return String(decoding: record, as: UTF8.self).contains("approve")
                }
                let isApproved = try await runtime.ask(Orders.Approve(number: 7), at: "/")
                #expect(isApproved)
                let bought = try await receipt
                #expect(bought == Receipt(number: 200_000))
                #expect(done(services) == ["reserve", "charge", "ship"])
            }
        }
    }

    @Test("An approval that doesn't come in three days has the order undone, however often the process ends meanwhile")
    func tooLate() async throws {
        let (store, services, time) = (FlowStore.inMemory(), Services(), ManualTime())
        for day in 0..<4 {
            try await withOrders(store, services, time: time) { runtime, services in
                if day == 0 { try await runtime.ask(OrdersCoordinator.Begin(order: Order(cents: 200_000)), at: "/") }
                await time.advance(by: .seconds(80_000))
                #expect(done(services) == (day == 3 ? [] : ["reserve"]), "on day \(day)")
            }
        }
        #expect(services.books.withLock { $0.undone } == ["reserve"])
    }

    @Test("A crash at each commit, before it's on disk and after, changes nothing of what an order does", arguments: StoreKind.allCases)
    func crashes(kind: StoreKind) async throws {
        let ends: [(order: Order, done: [String], undone: [String])] = [
            (Order(), ["reserve", "charge", "ship"], []), (Order(card: "stolen"), [], ["reserve"]),
        ]
        for end in ends {
            let runs = try await withTemporaryDirectory { directory in
                var number = 0
                return try await withEveryCrash {
                    number += 1
                    return kind == .memory ? .inMemory() : .sqlite(at: "\(directory.path)/\(number).sqlite")
                } _: { store in
                    try await withOrders(store) { runtime, services in
                        // Whoever has waited asks again.
                        var outcome: Result<Receipt, any Error>
                        repeat {
                            do { outcome = .success(try await runtime.ask(Buy(order: end.order), at: "/")) } catch {
                                outcome = .failure(error)
                            }
                        } while ((try? outcome.get()) == nil) && !"\(outcome)".contains("declined")
                        try #require(done(services) == end.done)
                        try #require(services.books.withLock { $0.undone } == end.undone)
                        // The receipt doesn't wait for the mail.
                        if !end.done.isEmpty { try await eventually("the mail is sent") { services.books.withLock { $0.mails.count } > 0 } }
                        try #require(services.books.withLock { $0.mails.count } == (end.done.isEmpty ? 0 : 1))
                        try #require(services.books.withLock { $0.asked.count } == max(end.done.count, 1), "no other keys")
                    }
                }
            }
            #expect(runs > 7, "\(runs) runs")
        }
    }

    @Test(
        "A page that has failed as often as it may parks its flow, and an open flow goes on in the next life",
        arguments: StoreKind.allCases
    )
    func parks(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let (store, services) = (kind.store(in: directory.path), Services())
            services.books.withLock { $0.failures = ["charge": 4] }
            try await withOrders(store, services) { runtime, services in
                try await runtime.ask(OrdersCoordinator.Begin(order: Order()), at: "/")
                try await eventually("it's parked") { try await store.storage.row(of: "1")?.status == .parked }
                #expect(done(services) == ["reserve"])
            }
            // It stays parked in the next life, until somebody says how it goes on.
            let ends:
                [(number: Int, go: @Sendable (FlowStore) async throws -> Void, done: [String], status: FlowStore.Description.Status)] = [
                    (1, { try await $0.retry("1") }, ["reserve", "charge", "ship"], .finished),
                    (2, { try await $0.skip("2") }, ["reserve"], .open),
                    (3, { try await $0.cancel("3", because: "a test") }, [], .unwound),
                ]
            for end in ends {
                let services = Services()
                if end.number > 1 {
                    services.books.withLock { $0.failures = ["charge": 4] }
                    try await withOrders(store, services) { runtime, _ in
                        try await runtime.ask(OrdersCoordinator.Begin(order: Order(number: end.number)), at: "/")
                        try await eventually("it's parked") { try await store.flows(after: "\(end.number - 1)").first?.status == .parked }
                    }
                }
                try await withOrders(store, services) { runtime, services in
                    let key = "\(end.number)"
                    let parked = try #require(try await store.flows().first { $0.key == key })
                    #expect(
                        parked.status == .parked && parked.error?.contains("Unreachable") == true && parked.pages == ["reserve", "charge"]
                    )
                    try await end.go(store)
                    try await eventually(key) { try await store.flows().first { $0.key == key }?.status == end.status }
                    if end.number > 1 { try await eventually("\(key) has done") { done(services) == end.done } }
                    let error = await #expect(throws: CoordinatorError.self) { try await store.retry("none") }
                    #expect(error?.code == .noSuchChild)
                }
            }
        }
    }

    @Test(
        "Flows have their paths for operators of an embedded tree, and parked ones are a suspicion of its health",
        arguments: StoreKind.allCases
    )
    func operators(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let services = Services()
            services.books.withLock { $0.failures = ["charge": 8] }
            try await withOrders(kind.store(in: directory.path), services) { runtime, services in
                for number in 1...2 { try await runtime.ask(OrdersCoordinator.Begin(order: Order(number: number)), at: "/") }
                try await eventually("both are parked") { try await runtime.flows(.parked).entries.map(\.path) == ["/1", "/2"] }
                let health = await runtime.health()
                #expect(health.isReady && health.suspicions.map(\.parkedFlows) == [2] && "\(health.suspicions)".contains("parked flows"))
                let snapshot = try await runtime.snapshot()
                #expect(snapshot.flows?.parked == 2 && snapshot.flows?.commitP99 != nil)
                let first = try await runtime.flows(limit: 1)
                #expect(first.entries.map(\.path) == ["/1"] && first.next == "/1")
                #expect(try await runtime.flows(after: "/1").entries.map(\.path) == ["/2"])
                #expect(try await runtime.flows(below: "/2").entries.map(\.path) == ["/2"])
                try await runtime.stop("/1")
                #expect(try await runtime.retryFlow("/1").path == "/1")
                try await runtime.cancelFlow("/2", because: "a test")
                try await eventually("both are over") {
                    try await runtime.flows(.finished).entries.map(\.flow.status) == [.finished, .unwound]
                }
                for path in ["/3", "/1/2", "/"] as [CoordinatorPath] {
                    let error = await #expect(throws: CoordinatorError.self) { try await runtime.flow(path) }
                    #expect(error?.code == .noSuchPath, "\(path)")
                }
                #expect(try await runtime.flows(below: "/nowhere/at/all").entries.isEmpty)
            }
        }
    }

    @Test("The failure of an attempt that an operator has skipped meanwhile counts for nothing")
    func skippedAttempt() async throws {
        let services = Services()
        let commits = Lock<[String]>([])
        let storage = InterceptedFlowStorage(FlowStore.inMemory().storage) { storage, row, writes, keepsPlace in
            commits.withLock { $0.append(String(decoding: row.record, as: UTF8.self)) }
            try await storage.commit(row, writes, keepsPlace: keepsPlace)
        }
        services.silence("ship")
        try await withOrders(FlowStore(storage), services) { runtime, services in
            try await runtime.ask(OrdersCoordinator.Begin(order: Order()), at: "/")
            try await eventually("it's being shipped") { try await runtime.flow("/1").flow.pages.last == "ship" }
            let shown = try await runtime.flow("/1").flow.pageNumber
            let stale = await #expect(throws: CoordinatorError.self) { try await runtime.skipFlow("/1", page: 2) }
            #expect(shown == 3 && stale?.code == .startFailed, "\(stale.map { "\($0)" } ?? "none")")
            #expect(try await runtime.skipFlow("/1", page: shown).flow.pageNumber == nil)
            services.books.withLock { $0.failures = ["ship": 1] }
            let before = commits.withLock { $0.count }
            services.speak("ship")
            // The failure is a commit, too, that changes nothing.
            try await eventually("the attempt has failed") { commits.withLock { $0.count > before } }
            _ = try await runtime.cancelFlow("/1", because: "a test")
            try await eventually("it's undone") { try await runtime.flow("/1").flow.status == .unwound }
            #expect(!commits.withLock { $0.contains { $0.contains("Unreachable") } })
            #expect(done(services) == [])
        }
    }

    @Test("The age of the outbox is that of the first message that hasn't come to its end")
    func outbox() async throws {
        let (services, time) = (Services(), ManualTime())
        services.silence("mail")
        try await withOrders(.inMemory(), services, time: time) { runtime, services in
            try await runtime.ask(OrdersCoordinator.Begin(order: Order()), at: "/")
            await time.advance(by: .seconds(20))
            let age = try await runtime.snapshot().flows?.outboxAge
            #expect(age.map { (.seconds(19)...(.seconds(20))).contains($0) } == true, "\(age.map { "\($0)" } ?? "none")")
            services.speak("mail")
            await time.advance(by: .seconds(1))
            #expect(try await runtime.snapshot().flows.map { $0.outboxAge == nil } == true)
            #expect(services.books.withLock { $0.mails.count } == 1)
        }
    }

    @Test(
        "A flow whose record, state or any page can't be read is parked, and goes on when they can be",
        arguments: StoreKind.allCases,
        // The page is one that has been done.
        [#""showings":"#, #""order":{"#, #"[1,"reserve"]"#]
    )
    func unreadable(kind: StoreKind, present: String) async throws {
        try await withTemporaryDirectory { directory in
            let (store, services) = (kind.store(in: directory.path), Services())
            services.silence("ship")
            try await withOrders(store, services) { runtime, services in
                try await runtime.ask(OrdersCoordinator.Begin(order: Order()), at: "/")
                try await eventually("it's being shipped") { try await runtime.flow("/1").flow.pages.last == "ship" }
                try await eventually("nothing is under way") { try await runtime.flow("/1").flow.outgoing == 0 }
            }
            func rewrite(_ former: String, _ next: String) async throws {
                _ = try await store.storage.open()
                let row = try #require(await store.storage.row(of: "1"))
                let record = String(decoding: row.record, as: UTF8.self).replacing(former, with: next)
                let other = FlowRow(
                    key: row.key,
                    sequence: row.sequence + 1,
                    status: row.status,
                    due: row.due,
                    changed: row.changed,
                    record: Array(record.utf8)
                )
                #expect(other.record != row.record)
                try await store.storage.commit(other, [])
                await store.storage.close().value
            }
            let other = present.replacing("o", with: "0").replacing("v", with: "w")
            try await rewrite(present, other)
            try await withOrders(store, services) { runtime, _ in
                try await eventually("it's parked") { try await runtime.flows(.parked).entries.map(\.path) == ["/1"] }
                let error = await #expect(throws: CoordinatorError.self) { try await runtime.retryFlow("/1") }
                #expect(
                    error.map { [.startFailed, .coding, .storeCorrupt].contains($0.code) } == true,
                    "\(error.map { "\($0)" } ?? "none")"
                )
                #expect(try await runtime.flow("/1").flow.error != nil)
            }
            services.speak("ship")
            try await rewrite(other, present)
            try await withOrders(store, services) { runtime, _ in
                #expect(try await runtime.flow("/1").flow.status == .parked)
                try await runtime.retryFlow("/1")
                try await eventually("it's shipped") { try await runtime.flow("/1").flow.status == .finished }
            }
            #expect(done(services) == ["reserve", "charge", "ship"])
        }
    }

    /// Provides a store of its own at each of several paths.
    private actor Branch: Coordinator {
        struct Configuration: CoordinatorConfiguration { var orders = 0 }

        let context: Context
        init(_ context: Context) { self.context = context }

        static let responders: Responders = [
            .respond(to: OrdersCoordinator.Begin.self) { me, begin in
                for number in 1...me.context.configuration.orders {
                    try await me.context.start(OrderCoordinator.self, as: "\(number)", restart: .transient, with: begin.order)
                }
            }
        ]

        func start() async throws { await context.provide(\.flows, .inMemory()) }
    }

    private actor Branches: Coordinator {
        let context: Context
        init(_ context: Context) { self.context = context }

        static let responders: Responders = [
            .respond(to: Stock.Reserve.self) { _, _ in await OneShot<Void>().valueUnlessCancelled() ?? () }
        ]

        func start() async throws {
            for (key, orders) in [("a", 3), ("a-b", 2), ("a.b", 1), ("b", 12)] {
                let branch = try await context.start(Branch.self, as: key) { $0.orders = orders }
                try await branch.ask(OrdersCoordinator.Begin(order: Order()))
            }
        }
    }

    @Test("Pages of flows of several stores have each flow once, in one order, whatever their size", arguments: [1, 2, 3, 5, 17, 100])
    func paging(limit: Int) async throws {
        try await withRuntime(Branches.self) { runtime in
            let expected = [("a", 3), ("a-b", 2), ("a.b", 1), ("b", 12)].flatMap { branch, count in (1...count).map { "/\(branch)/\($0)" } }
            var (found, after) = ([String](), CoordinatorPath?.none)
            repeat {
                let page = try await runtime.flows(after: after, limit: limit)
                #expect(page.entries.count <= limit && (page.next == nil || page.entries.count > 0))
                found += page.entries.map { "\($0.path)" }
                after = page.next
            } while after != nil && found.count < 100
            #expect(found == expected.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        }
    }

    @Test("A store that hangs delays one description of the tree, and then what was known last is told")
    func hangingStore() async throws {
        let hangs = Lock(OneShot<Void>?.none)
        let storage = InterceptedFlowStorage(FlowStore.inMemory().storage) { storage, row, writes, keepsPlace in
            try await storage.commit(row, writes, keepsPlace: keepsPlace)
        } summary: { storage, time in
            await hangs.withLock { $0 }?.value
            return try await storage.summary(at: time)
        }
        let (services, time) = (Services(), ManualTime())
        services.silence("ship")
        try await withOrders(FlowStore(storage), services, time: time) { runtime, _ in
            try await runtime.ask(OrdersCoordinator.Begin(order: Order()), at: "/")
            #expect(try await runtime.snapshot().flows?.open == 1)
            let end = OneShot<Void>()
            hangs.withLock { $0 = end }
            defer { end.settle() }
            async let delayed = runtime.snapshot()
            await time.advance(by: .seconds(2))
            #expect(try await delayed.flows?.open == 1)
            // The clock stands still: nothing is waited for.
            #expect(try await runtime.snapshot().flows?.open == 1)
        }
    }

    @Test("What a process tells of flows is about itself, and goes on where it was asked to")
    func foreignFlows() throws {
        func entry(_ path: CoordinatorPath) throws -> FlowStore.Entry {
            let flow: JSONValue = [
                "key": "k", "type": "T", "status": "open", "pages": [], "failures": 0, "outgoing": 0, "changed": 0,
            ]
            return try FlowStore.Entry(decoding: ["path": .string("\(path)"), "flow": flow])
        }
        var told = FlowStore.Listing()
        told.entries = [try entry("/evil/1"), try entry("/good/1"), try entry("/evil/3")]
        (told.next, told.unanswered) = ("/evil", ["/good", "/evil/4"])
        let own = told.own(of: "/evil", after: "/evil/2")
        #expect(own.entries.map(\.path) == ["/evil/3"] && own.next == "/evil/3" && own.unanswered == ["/evil/4"])
        told.entries = []
        #expect(told.own(of: "/evil", after: nil).next == nil)
    }

    @Test("An order that is undone leaves no timer of its own behind")
    func undoneWithTimer() async throws {
        let (store, time) = (FlowStore.inMemory(), ManualTime())
        try await withOrders(store, time: time) { runtime, services in
            try await runtime.ask(OrdersCoordinator.Begin(order: Order(cents: 200_000)), at: "/")
            await time.advance(by: .seconds(60))
            try await runtime.ask(Orders.Withdraw(number: 1), at: "/")
            await time.advance(by: .seconds(60))
            let row = try #require(try await store.storage.row(of: "1"))
            #expect(row.status == .unwound && row.due == nil, "\(row.status) \(String(decoding: row.record, as: UTF8.self))")
            #expect(services.books.withLock { $0.undone } == ["reserve"])
            let commits = row.sequence
            await time.advance(by: .seconds(300_000))
            #expect(try await store.storage.row(of: "1")?.sequence == commits)
        }
    }

    @Test("What is answered while a flow is paused is known when it goes on")
    func answeredInPause() async throws {
        let (store, services) = (FlowStore.inMemory(), Services())
        services.silence("mail")
        try await withOrders(store, services) { runtime, services in
            let receipt = try await runtime.ask(Buy(order: Order()), at: "/")
            #expect(receipt == Receipt(number: 500), "the receipt doesn't wait for the mail")
            try await runtime.pause("/1")
            services.speak("mail")
            try await eventually("the mail is sent") { services.books.withLock { $0.mails.count == 1 } }
            try await runtime.resume("/1")
            try await eventually("its end is known") { try await store.storage.row(of: "1")?.due == nil }
            #expect(services.books.withLock { $0.mails.count } == 1)
        }
    }

    @Test("Who waits for a flow whose coordinator is stopped learns that, and may ask again")
    func stopped() async throws {
        let (store, services) = (FlowStore.inMemory(), Services())
        try await withOrders(store, services) { runtime, services in
            let order = Order(number: 3, cents: 200_000)
            let bought = Task { try await runtime.ask(Buy(order: order), at: "/") }
            try await eventually("it waits") { (try? await store.storage.row(of: "3")?.sequence) ?? 0 >= 3 }
            try await runtime.stop("/3")
            await #expect(throws: CoordinatorError.self) { _ = try await bought.value }
            async let again = runtime.ask(Buy(order: order), at: "/")
            try await eventually("it's approved") { (try? await runtime.ask(Orders.Approve(number: 3), at: "/")) ?? false }
            let receipt = try await again
            #expect(receipt == Receipt(number: 200_000))
        }
    }

    @Test("A store that is full for a while delays a flow, and nothing is lost or done twice")
    func full() async throws {
        let (services, time) = (Services(), ManualTime())
        let isFull = Lock(false)
        let storage = InterceptedFlowStorage(FlowStore.inMemory().storage) { storage, row, writes, keepsPlace in
            if isFull.withLock({ $0 }) { throw CoordinatorError(.storeFull, "the disk is full, by a test") }
            try await storage.commit(row, writes, keepsPlace: keepsPlace)
        }
        services.silence("ship")
        try await withOrders(FlowStore(storage), services, time: time) { runtime, services in
            try await runtime.ask(OrdersCoordinator.Begin(order: Order()), at: "/")
            await time.advance(by: .seconds(1))
            #expect(done(services) == ["reserve", "charge"])
            isFull.withLock { $0 = true }
            services.speak("ship")
            await time.advance(by: .seconds(60))
            #expect(done(services) == ["reserve", "charge", "ship"])
            let error = await #expect(throws: CoordinatorError.self) {
                try await runtime.ask(OrdersCoordinator.Begin(order: Order(number: 2)), at: "/")
            }
            #expect(error?.code == .storeFull)
            isFull.withLock { $0 = false }
            await time.advance(by: .seconds(60))
            #expect(try await storage.row(of: "1")?.status == .finished)
            #expect(services.books.withLock { $0.asked.keys.count == 3 && $0.mails.count == 1 })
        }
    }

    /// A shop that provides its store itself, and asks for nothing when it's restarted.
    private actor Shop: Coordinator {
        struct Configuration: CoordinatorConfiguration { var path = "" }

        let context: Context
        init(_ context: Context) { self.context = context }

        func start() async throws {
            await context.provide(\.flows, .sqlite(at: context.configuration.path))
            try await context.start(OrdersCoordinator.self, as: "orders")
        }
    }

    /// Opens the orders whose number is even, and holds the others up.
    private actor Halves: Coordinator {
        let context: Context
        init(_ context: Context) { self.context = context }

        static let responders: Responders = [
            .respond(to: Stock.Reserve.self, needs: \.services) { _, reserve, services in try services.perform("reserve", reserve.key) },
            .respond(to: Bank.Charge.self) { _, _ in 1 },
            .respond(to: Mail.Send.self) { _, _ in },
            .respond(to: Stock.Ship.self, needs: \.services) { _, ship, services in try services.perform("ship", ship.key) },
        ]

        func open(section key: String) async throws {
            if Int(key).map({ $0 % 2 == 1 }) ?? true { return await OneShot<Void>().valueUnlessCancelled() ?? () }
            try await context.resume(OrderCoordinator.self, as: key)
        }
    }

    @Test("Flows that can't be opened for now keep no others from going on")
    func heldUp() async throws {
        let (store, services) = (FlowStore.inMemory(), Services())
        services.silence("ship")
        let numbers = 1...60
        try await withOrders(store, services) { runtime, services in
            for number in numbers { try await runtime.ask(OrdersCoordinator.Begin(order: Order(number: number)), at: "/") }
            try await eventually("all are charged") {
                services.books.withLock { $0.done.count { $0.hasPrefix("charge") } == numbers.count }
            }
        }
        services.speak("ship")
        try await withRuntime(Halves.self, dependencies: { ($0.flows, $0.services) = (store, services) }) { runtime in
            try await eventually("the others are shipped", within: .seconds(20)) {
                services.books.withLock { $0.done.count { $0.hasPrefix("ship") } == numbers.count / 2 }
            }
        }
    }

    @Test("What has something to do goes on by itself when the coordinator that provides the store is ready again")
    func goesOn() async throws {
        try await withTemporaryDirectory { directory in
            let (services, path) = (Services(), "\(directory.path)/flows.sqlite")
            services.silence("ship")
            for isSecond in [false, true] {
                try await withRuntime(Shop.self, configure: { $0.path = path }, dependencies: { $0.services = services }) { runtime in
                    if !isSecond {
                        for number in 1...20 {
                            try await runtime.ask(OrdersCoordinator.Begin(order: Order(number: number)), at: "/orders")
                        }
                    } else {
                        services.speak("ship")
                    }
                    let what = isSecond ? "ship" : "charge"
                    try await eventually("\(what)") { services.books.withLock { $0.done.count { $0.hasPrefix(what) } == 20 } }
                }
            }
        }
    }
}
