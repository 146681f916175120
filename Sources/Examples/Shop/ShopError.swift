/// A mistake of a customer.
///
/// The error is `Codable`, so it crosses processes unchanged: a section can catch `ShopError.emptyCart`, wherever it was thrown. An
/// operator, whose program doesn't have the type, gets its description.
enum ShopError: Error, Codable, Equatable {
    /// The name is unknown or the password isn't its password; the error doesn't reveal which of the two.
    case wrongNameOrPassword
    /// Only a customer who has logged in can pay.
    case notLoggedIn
    /// The catalogue has no product with this sku.
    case noSuchProduct(sku: String)
    /// The quantity isn't one that can be added at once.
    case invalidQuantity(Int)
    /// There is nothing to pay for.
    case emptyCart
    /// The sections are still being started.
    case notOpenYet
}

extension ShopError: CustomStringConvertible {
    var description: String {
        switch self {
        case .wrongNameOrPassword: "wrong name or password"
        case .notLoggedIn: "nobody is logged in: log in first"
        case .noSuchProduct(let sku): "there is no product '\(sku)': ask Catalog.Products for what there is"
        case .invalidQuantity(let quantity): "\(quantity) can't be added: give a quantity from 1 to \(Cart.Add.quantities.upperBound)"
        case .emptyCart: "the cart is empty"
        case .notOpenYet: "the shop isn't open yet"
        }
    }
}
