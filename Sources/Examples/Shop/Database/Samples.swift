import CoordinatorsSQLite

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
        (name: "ada", fullName: "Ada Lovelace", password: "lovelace"),
        (name: "grace", fullName: "Grace Hopper", password: "hopper"),
    ]

    static func insert(into connection: Database) throws {
        for product in products {
            try connection.execute(
                "INSERT OR IGNORE INTO product (sku, title, price) VALUES (\(product.sku), \(product.title), \(product.price))"
            )
        }
        for customer in customers {
            let hash = try PasswordHash(of: customer.password).rawValue
            try connection.execute(
                "INSERT OR IGNORE INTO account (name, fullName, passwordHash) VALUES (\(customer.name), \(customer.fullName), \(hash))"
            )
        }
    }
}
