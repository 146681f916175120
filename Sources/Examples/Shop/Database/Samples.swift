import GRDB

/// The products and customers of the shop on its first day.
enum Samples {
    static let products = [
        Product(sku: "apple", title: "Apples, 1 kg", price: 349),
        Product(sku: "bread", title: "Rye bread", price: 420),
        Product(sku: "cheese", title: "Alpine cheese, 200 g", price: 595),
        Product(sku: "coffee", title: "Coffee beans, 500 g", price: 1_190),
        Product(sku: "milk", title: "Whole milk, 1 l", price: 139),
        Product(sku: "tea", title: "Darjeeling, 100 g", price: 780),
    ]

    private static let customers = [
        (user: User(name: "ada", fullName: "Ada Lovelace"), password: "lovelace"),
        (user: User(name: "grace", fullName: "Grace Hopper"), password: "hopper"),
    ]

    static func insert(into database: Database) throws {
        for product in products { try product.insert(database) }
        for customer in customers {
            try Credentials(customer.user, PasswordHash(of: customer.password)).insert(database)
        }
    }
}
