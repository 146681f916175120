import Coordinators

/// The shop's database.
///
/// The database's path crosses to the sections' processes, and each of them opens the file, once, when it is first needed.
enum DatabaseKey: DescribedDependencyKey {
    typealias Value = ShopDatabase
    typealias Descriptor = String

    static func make(from path: String) throws -> ShopDatabase { try ShopDatabase(path: path) }
}

extension Dependencies {
    /// The shop's database.
    var database: ShopDatabase? {
        get { self[DatabaseKey.self] }
        set { self[DatabaseKey.self] = newValue }
    }

    /// The manager of the customers; nil without a database.
    var accounts: AccountManager? { database.map(AccountManager.init(database:)) }
}
