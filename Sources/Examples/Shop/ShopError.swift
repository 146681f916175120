/// What a customer can do wrong.
///
/// It is `Codable`, so it crosses processes as what it is: a section catches `ShopError.emptyCart`, wherever it was thrown. To an
/// operator, whose program doesn't know the type, its description arrives.
enum ShopError: Error, Codable, Equatable {
    /// The name is unknown or the password isn't its password; which of the two, nobody is told.
    case wrongNameOrPassword
    /// Only a customer who has logged in can pay.
    case notLoggedIn
    /// The catalogue has no product with this sku.
    case noSuchProduct(sku: String)
    /// Nobody can put so many into the cart.
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
