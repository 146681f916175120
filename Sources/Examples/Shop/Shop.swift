import Coordinators

/// The shop: the example that the pattern's own documents use, as server software.
///
/// One executable holds all sections. This is the whole `main` of each process that runs it, the root's or a section's.
@main
struct Shop {
    private static let usage = """
        The shop: an example of coordinators in processes of their own. It has no arguments.
        Run alone it serves until SIGTERM or SIGINT; Deploy/shop.yaml runs it under coordinatord.
        """

    static func main() async throws {
        // A worker has no arguments.
        if CommandLine.arguments.count > 1 { return print(usage) }
        try await CoordinatorRuntime.main(
            ShopCoordinator.self,
            coordinators: [AccountCoordinator.self, CatalogCoordinator.self, CartCoordinator.self, PaymentCoordinator.self]
        )
    }
}
