import Coordinators
import Glibc

/// What the shop is given before it starts.
///
/// Every field has a default, so a configuration file names only what differs: `configuration: { currency: CHF }`.
struct ShopConfiguration: CoordinatorConfiguration {
    /// The currency of all prices, as ISO 4217 writes it.
    var currency = "EUR"
    /// Where the database is; empty: `shop.sqlite` in the state directory.
    var database = ""

    /// The same configuration with the database's place settled: the sections' processes must not each decide for themselves.
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
