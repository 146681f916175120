import Coordinators
import CoordinatorsTesting
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import HomeDetails

@Suite("Details that come and go", .timeLimit(minutes: 1))
struct DetailsTests {
    @Test("Home starts the details when they are opened, and nothing of them before", arguments: Where.allCases)
    func onDemand(_ place: Where) async throws {
        try await withRuntime(HomeCoordinator.self, options: Where.options) { home in
            #expect(try await home.snapshot().children.isEmpty)
            #expect(try await home.navigation().map(\.page) == [["home": [:]]])
            await #expect(throws: NoDetails.self) { try await home.ask(Details.Text()) }

            try await home.ask(Home.ShowDetails(item: 7, inWorker: place.isWorker), timeout: .seconds(30))
            let details = try await home.snapshot(of: "/details")
            #expect(details.host == (place.isWorker ? .worker : .inProcess))
            #expect(try await home.navigation().map(\.page) == [["home": [:]], ["details": ["item": 7]]])
            #expect(try await home.ask(Details.Text()) == "all about item 7")
        }
    }

    @Test("Pressing the button twice shows the details once", arguments: Where.allCases)
    func twice(_ place: Where) async throws {
        try await withRuntime(HomeCoordinator.self, options: Where.options) { home in
            for _ in 0..<2 { try await home.ask(Home.ShowDetails(item: 7, inWorker: place.isWorker), timeout: .seconds(30)) }
            #expect(try await home.ask(Home.ChildCount()) == 1)
            #expect(try await home.navigation().count == 2)
        }
    }

    @Test("The service is made from its description in each process that needs it", arguments: Where.allCases)
    func service(_ place: Where) async throws {
        try await withRuntime(HomeCoordinator.self, options: Where.options) {
            $0.language = "de"
        } _: { home in
            try await home.ask(Home.ShowDetails(item: 7, inWorker: place.isWorker), timeout: .seconds(30))
            #expect(try await home.ask(Details.Text()) == "alles über Artikel 7")
        }
    }

    @Test("A test's service wins over the one that home provides")
    func fake() async throws {
        struct Fake: DetailsService {
            func text(of item: Int) async throws -> String { "fake \(item)" }
        }
        try await withRuntime(HomeCoordinator.self, dependencies: { $0.detailsService = Fake() }) { home in
            try await home.ask(Home.ShowDetails(item: 7), timeout: .seconds(30))
            #expect(try await home.ask(Details.Text()) == "fake 7")
        }
    }

    @Test("Closed details leave nothing: no child, no page, no process, no counter", arguments: Where.allCases)
    func gone(_ place: Where) async throws {
        try await withRuntime(HomeCoordinator.self, options: Where.options) { home in
            // Once before, so that what is made when it's first needed is there.
            try await visit(7, home, place)
            try await eventually("only home is left") { home.counters.coordinators == 1 }
            let before = home.counters
            for item in 8...10 {
                let process = try await visit(item, home, place)
                if place.isWorker { await process.waitUntilGone() }
            }
            #expect(try await home.snapshot().children.isEmpty)
            try await eventually("their pages are gone") { try await home.navigation().map(\.path) == ["/"] }
            try await eventually("the counters are as they were") { home.counters == before }
        }
    }

    @Test("The coordinator's deinit runs each time")
    func released() async throws {
        let (farewells, farewell) = AsyncStream<Int>.makeStream()
        var options = Where.options
        options.dependencies.farewell = farewell
        try await withRuntime(HomeCoordinator.self, options: options) { home in
            var items = farewells.makeAsyncIterator()
            for item in 1...3 {
                try await visit(item, home, .inProcess)
                #expect(await items.next() == item)
            }
        }
    }

    /// Shows the details and goes back; returns the process in which they were.
    @discardableResult
    private func visit(_ item: Int, _ home: CoordinatorRuntime, _ place: Where) async throws -> ProcessIdentity {
        try await home.ask(Home.ShowDetails(item: item, inWorker: place.isWorker), timeout: .seconds(30))
        #expect(try await home.ask(Home.ChildCount()) == 1)
        let details = try await home.snapshot(of: "/details")
        try await home.ask(Details.GoBack())
        try await eventually("the details are gone") { try await home.ask(Home.ChildCount()) == 0 }
        return ProcessIdentity(processID: try #require(details.processID), startTime: try #require(details.processStartTime))
    }
}
