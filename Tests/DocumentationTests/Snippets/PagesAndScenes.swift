import Coordinators

enum Checkout {
    struct Continue: ResponderMessage {}
}

enum Tabs {
    struct Select: ResponderMessage { var tab: StoreTabs.ChildKey }
}

// snippet: pages
actor CheckoutCoordinator: Coordinator {
    enum Page: Codable, Sendable, Equatable {
        case address
        case payment(total: Int)
        case receipt
    }

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws { context.show(.address) }

    static let responders: Responders = [
        .respond(to: Checkout.Continue.self) { me, _ in
            switch me.context.pages.last {
            case .address: me.context.show(.payment(total: 42))
            case .payment: me.context.replaceTop(.receipt)
            case .receipt, nil: me.context.finish()
            }
        }
    ]
}
// end

actor ShelfCoordinator: Coordinator {
    enum Page: Codable, Sendable, Equatable { case list, product(Int) }

    let context: Context
    private var isCovered = true

    init(_ context: Context) { self.context = context }

    func start() async throws { context.show(.list) }

    // snippet: popped
    func popped(to page: Page?) async {
        isCovered = false
    }
    // end

    // snippet: display
    func display(page: Page) async throws {
        if case .product(let number) = page, number < 0 {
            throw CoordinatorError(.unsupported, "there is no product \(number)")
        }
        context.show(page)
    }
    // end
}

actor MallCoordinator: NavigationCoordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    func open(section: String) async throws {
        guard section == "store" else { throw CoordinatorError(.noSuchChild, "there is no section '\(section)'") }
        try await context.start(StoreCoordinator.self, as: section)
    }
}

actor StoreCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case shelf, checkout }

    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: open
    func open(section: ChildKey) async throws {
        switch section {
        case .shelf: try await context.start(ShelfCoordinator.self, as: .shelf)
        case .checkout: try await context.start(CheckoutCoordinator.self, as: .checkout)
        }
    }
    // end

    // snippet: dismissed
    func buy() async throws -> Bool {
        do {
            _ = try await context.run(CheckoutCoordinator.self, as: .checkout)
            return true
        } catch let error as CoordinatorError where error.code == .dismissed {
            return false
        }
    }
    // end
}

func follow(_ runtime: CoordinatorRuntime) async throws {
    // snippet: route
    let route = Route("store").then("shelf", ShelfCoordinator.Page.product(7))
    try await runtime.open(route, timeout: .seconds(10))
    // end
}

final class Connection: Scene {
    private let end = AsyncStream.makeStream(of: Void.self)

    func close() async { end.continuation.finish() }
    func waitUntilClosed() async { for await _ in end.stream {} }
}

// snippet: scene
actor ConnectionCoordinator: SceneCoordinator {
    let context: Context
    let scene: Connection

    init(_ context: Context) {
        self.context = context
        scene = Connection()
    }
}
// end

actor StoreTabs: TabCoordinator {
    enum ChildKey: String, CoordinatorKey, Codable { case shelf, checkout }

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws { try await context.select(.shelf) }

    // snippet: tabs
    func open(section key: ChildKey) async throws {
        switch key {
        case .shelf: try await context.start(ShelfCoordinator.self, as: .shelf)
        case .checkout: try await context.start(CheckoutCoordinator.self, as: .checkout)
        }
    }

    static let responders: Responders = [
        .respond(to: Tabs.Select.self) { me, select in try await me.context.select(select.tab) }
    ]
    // end
}
