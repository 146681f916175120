import Coordinators

extension DependencyKeys {
    /// The shop's database.
    ///
    /// The database's path crosses to the sections' processes, and each of them opens the file, once, when it is first needed.
    var database: DescribedDependencyKey<ShopDatabase, String> { .init { path in try ShopDatabase(path: path) } }
}

extension Dependencies {
    /// The manager of the customers; nil without a database.
    var accounts: AccountManager? { self.database.map(AccountManager.init(database:)) }
}
