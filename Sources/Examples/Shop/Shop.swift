import Coordinators

/// The shop: the example that the pattern's own documents use, as server software.
///
/// One executable holds all sections. Whichever process runs it, the root's or a section's, this is its whole `main`.
@main
struct Shop {
    static func main() async throws {
        try await CoordinatorRuntime.main(
            ShopCoordinator.self,
            workers: [AccountCoordinator.self, CatalogCoordinator.self, CartCoordinator.self, PaymentCoordinator.self]
        )
    }
}
