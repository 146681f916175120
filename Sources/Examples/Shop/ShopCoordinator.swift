import Coordinators

/// The whole shop: it opens the four sections, each in a process of its own, and passes on what they ask of one another.
///
/// A section speaks to nobody but its parent. The catalogue lets `Cart.Add` climb without knowing who will answer, or that there is a
/// cart at all; the shop is the one place where that is known.
actor ShopCoordinator: Coordinator {
    typealias Configuration = ShopConfiguration
    enum ChildKey: String, CoordinatorKey { case account, catalog, cart, payment }

    let context: Context<ShopCoordinator>
    private let configuration: ShopConfiguration
    private var sections: Sections?

    init(_ context: Context<ShopCoordinator>, _ configuration: ShopConfiguration) {
        self.context = context
        self.configuration = configuration.resolved
    }

    /// A section that dies comes back alone.
    ///
    /// One that keeps dying is more than the shop can mend: the failure becomes the shop's own, and its parent restarts all of it.
    static let supervision = SupervisionPolicy(.oneForOne, intensity: 5, period: .seconds(60))

    static let responders: [Responder<ShopCoordinator>] = [
        .respond(to: Shop.Status.self) { me, _ in me.configuration },

        .passOn(Account.Login.self, to: \.account),
        .passOn(Account.Logout.self, to: \.account),
        .passOn(Account.Current.self, to: \.account),

        .passOn(Catalog.Products.self, to: \.catalog),
        .passOn(Catalog.Find.self, to: \.catalog),

        .passOn(Cart.Add.self, to: \.cart),
        .passOn(Cart.Contents.self, to: \.cart),
        .passOn(Cart.Clear.self, to: \.cart),
        .passOn(Cart.Settle.self, to: \.cart),

        .passOn(Payment.Checkout.self, to: \.payment),
    ]

    /// Prepares the database before anybody else opens it, then opens the sections one by one.
    func start() async throws {
        try await ShopDatabase(path: configuration.database).prepare()
        sections = Sections(
            account: try await context.start(as: .account, in: .worker, with: configuration),
            catalog: try await context.start(as: .catalog, in: .worker, with: configuration),
            cart: try await context.start(as: .cart, in: .worker, with: configuration),
            payment: try await context.start(as: .payment, in: .worker, with: configuration)
        )
    }

    /// The sections' handles; they follow the path, so one of them is good for all lives of its section.
    func openSections() throws(ShopError) -> Sections {
        guard let sections else { throw .notOpenYet }
        return sections
    }
}
