import Coordinators
import Glibc

/// The configuration that the shop gets before it starts.
///
/// Every field has a default, so a configuration file names only what differs: `configuration: { currency: CHF }`.
struct ShopConfiguration: CoordinatorConfiguration {
    /// The currency of all prices, as ISO 4217 writes it.
    var currency = "EUR"
    /// The path of the database; empty: `shop.sqlite` in the state directory.
    var database = ""

    /// The path of the orders, beside the database: one process has a store of flows open, and each section the database.
    var orders: String { database + "-orders" }

    /// The same configuration with the database's path resolved, so that the sections' processes don't each resolve it for themselves.
    var resolved: ShopConfiguration {
        var configuration = self
        if database.isEmpty { configuration.database = Self.stateDirectory + "/shop.sqlite" }
        return configuration
    }

    /// `COORDINATOR_STATE_DIR`, or the current directory.
    private static var stateDirectory: String {
        getenv("COORDINATOR_STATE_DIR").map { String(cString: $0) } ?? "."
    }
}
